"""What code written for the five courses calls: names, signatures, flags, files and digits.

A fact is a line of Python that must be true in the folder which that code is run from; each folder
is an import root of its own, so each is asked in a process of its own. `python
tests/frozen/test_contracts.py puzzles` prints which facts of one folder don't hold.

What takes ranks or minutes is not here, but in the tests that each table names.
"""

import ast
import contextlib
import inspect
import io
import json
import os
import re
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS, SET_UP = {}, {}  # of each folder

# --- simplellm and the scripts ---
# Not here: what an old script does (tests/DP/test_scripts.py, tests/PP/test_scripts.py, tests/
# primer/test_intro.py), Hugging Face's logits, loss and gradients (tests/simplellm/
# test_transformers.py), gradients by torch.distributed.pipelining (tests/PP/test_torchs_words.py).

SET_UP["."] = """
import math
from itertools import islice
import torch
from simplellm.llama import CausalLLama, LLama, LLamaFirstStage, LLamaLastStage, LLamaStage
from simplellm.losses import causalLLMLoss, perplexityLoss
from simplellm.tokenizers import SPTokenizer
from simplellm.dataloaders import TinyStories
from helpers.ranks import find_place

def small(**more):
    torch.manual_seed(0)
    sizes = dict(dmodel=32, num_heads=4, n_layers=6, ctx_size=64, device="cpu") | more
    return LLama(CausalLLama, 100, **sizes)

def stages_of(net):
    # Three stages of two layers each, with the weights of the whole model, by the names of both.
    sizes = dict(dmodel=32, num_heads=4, n_layers=2, ctx_size=64, device="cpu")
    stages = [LLamaFirstStage(100, **sizes), LLamaStage(**sizes), LLamaLastStage(100, **sizes)]
    weights = net.state_dict()
    for number, stage in enumerate(stages):
        named = {"_embedding.weight": "model.embed_tokens.weight"}
        named |= {"norm.weight": "model.norm.weight", "lm_head.weight": "lm_head.weight"}
        for name in stage.state_dict():
            if name.startswith("layers."):
                _, layer, rest = name.split(".", 2)
                named[name] = f"model.layers.{int(layer) + 2 * number}.{rest}"
        stage.load_state_dict({name: weights[named[name]] for name in stage.state_dict()})
    return stages

def through(stages, ids):
    first, middle, last = stages
    return last(middle(first.embed(ids)))

net, ids = small(), torch.arange(3 * 16).view(3, 16) % 100
stages = stages_of(net)
names = set(net.state_dict())
first = LLamaFirstStage(100, 32, 4, n_layers=0, ctx_size=64, device="cpu")
handouts = LLama(CausalLLama, 32000, dmodel=288, num_heads=6, n_layers=6, device="meta")
tokenizer, x = SPTokenizer(), torch.randn(2, 5, 32)
text = "Once upon a time there was a cat."
data = TinyStories(tokenizer, batch_size=2, seq_l=32)
tokens = [t for batch in islice(iter(data), 40) for t in batch.flatten().tolist()]
logits, target = torch.randn(2, 8, 100).half(), torch.randint(100, (2, 8))
target[0, 5:] = -100
by_hand = torch.nn.functional.cross_entropy(
    logits[:, :-1].float().flatten(0, 1), target[:, 1:].flatten(), ignore_index=-100)
"""
FACTS["."] = """
takes(LLama, 'mdl_type, vocab_size, dmodel=4096, num_heads=32, hidden_dim=None, norm_eps=1e-6, '
      'dropout_prob=0, head_dim=None, ctx_size=2048, num_kv_heads=None, padding_idx=None, '
      'device="auto", n_layers=32, shared=False, rope_parameters=None')
takes(CausalLLama, 'vocab_size, dmodel, num_heads, hidden_dim, norm_eps, dropout_prob, head_dim, '
      'ctx_size, num_kv_heads, padding_idx, device, n_layers, theta=10000.0, rope_parameters=...')
takes(LLamaFirstStage, 'vocab_size, dmodel, num_heads, n_layers=4, hidden_dim=None, '
      'norm_eps=1e-6, dropout_prob=0, ctx_size=2048, num_kv_heads=None, head_dim=None, '
      'padding_idx=None, device="auto", *, share_weights=False, theta=10000.0, de_embed=True, '
      'rope_parameters=None')
takes(LLamaStage, 'dmodel=4096, num_heads=32, *, n_layers=4')
takes(LLamaLastStage, 'vocab_size, dmodel=4096, num_heads=32, *, n_layers=4')
takes(LLamaFirstStage.embed, 'ids')
takes(LLamaFirstStage.forward_end, 'x')
callable(LLama.generate)
isinstance(net.model, CausalLLama) and isinstance(net.lm_head, torch.nn.Linear)
net.max_seq == 64 and net.device == torch.device("cpu")
net(ids).shape == (3, 16, 100)
net.model(ids).shape == (3, 16, 32)
torch.equal(net(ids), net.lm_head(net.model(ids)))
(tied := small(shared=True)).lm_head.weight is tied.model.embed_tokens.weight
first.embed(ids).shape == (3, 16, 32)
torch.equal(first.embed(ids), first.state_dict()["_embedding.weight"][ids])
stages[0].embed(ids).shape == (3, 16, 32)
torch.equal(stages[0].forward_end(x), stages[0].lm_head(stages[0].norm(x)))
stages[0].forward_end(x).shape == (2, 5, 100)
stages[1](x).shape == (2, 5, 32)
stages[2](x).shape == (2, 5, 100)
torch.equal(net(ids), through(stages, ids))
takes(causalLLMLoss, 'logits, target, vocab_size, pad_idx=-100')
takes(perplexityLoss, 'logits, target, attention_mask=None')
causalLLMLoss(logits, target, 100).dtype == torch.float32
abs(causalLLMLoss(logits, target, 100) - by_hand) < 1e-5
perplexityLoss(logits.float(), target.clamp(0)) > 1
takes(SPTokenizer, 'tokenizer_path=None')
all(isinstance(getattr(tokenizer, n), int) for n in "vocab_size bos_id eos_id pad_id".split())
all(type(i) is int for i in tokenizer.encode(text))
not {tokenizer.bos_id, tokenizer.eos_id} & set(tokenizer.encode(text))
tokenizer.decode(tokenizer.encode(text)) == text
takes(TinyStories, 'tokenizer, streaming=True, batch_size=..., seq_l=2048, split="train", '
      'num_workers=0, skip=0')
next(iter(data)).shape == (2, 32) and next(iter(data)).dtype == torch.int64
tokenizer.eos_id in tokens
(whole := tokenizer.decode(tokens[:tokens.index(tokenizer.eos_id)])) and '.' in whole
tokens[tokens.index(tokenizer.eos_id) + 1:][:90] == next(iter(TinyStories(tokenizer, batch_size=1,
    seq_l=90, skip=1)))[0].tolist()
{"model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"} < names
{f"model.layers.0.self_attn.{p}_proj.weight" for p in "qkvo"} < names
{f"model.layers.5.mlp.{p}_proj.weight" for p in ("gate", "up", "down")} < names
{f"model.layers.0.{p}_layernorm.weight" for p in ("input", "post_attention")} < names
len(names) == 3 + 6 * 9
not any(name.endswith("bias") for name in names)
{"_embedding.weight", "norm.weight", "lm_head.weight"} < set(stages[0].state_dict())
"layers.0.self_attn.q_proj.weight" in stages[1].state_dict()
{"norm.weight", "lm_head.weight"} < set(stages[2].state_dict())
net.state_dict()["model.layers.0.mlp.up_proj.weight"].shape == (4 * 32, 32)
small(num_kv_heads=2).state_dict()["model.layers.0.self_attn.k_proj.weight"].shape == (16, 32)
all(abs(w.std() - 0.02) < 2e-3 and abs(w.mean()) < 2e-3 for w in net.parameters() if w.dim() == 2)
sum(p.numel() for p in handouts.parameters()) == 26_398_368
len(list(handouts.parameters())) == 57
abs(math.log(32000) - 10.37) < 5e-3
abs(causalLLMLoss(net(ids), ids, 100) - math.log(100)) < 0.1
"error" not in said(lambda: LLama(CausalLLama, 10, 32, 4, n_layers=1, device="cuda"))
len(said(lambda: LLama(CausalLLama, 10, 32, 4, n_layers=1, device="cuda")).splitlines()) <= 1
number("primer/intro.py", "batch-size") == 3
number("DP/gradient_aggr/intro_DP_GA.py", "batch-size") == 1
number("DP/weight_aggr/intro_DP_WA.py", "batch-size") == 1
number("PP/naive/intro_PP_naive.py", "batch-size") == 3
help_of("PP/microbatches/intro_PP_microbatches.py", "--waves WAVES")
all(number(f"{name}.py", "micro-batches") == 3 == number(f"{name}.py", "batch-size") for name in
    ("PP/microbatches/intro_PP_microbatches", "PP/1F1B/intro_PP_1F1B", "DP_PP/intro_DP_PP"))
all(help_of(f"{name}.py", "[rank]", "--backend {auto,gloo,nccl}") and
    number(f"{name}.py", "world-size") == 3 for name in ("DP/gradient_aggr/intro_DP_GA",
    "DP/weight_aggr/intro_DP_WA", "PP/naive/intro_PP_naive",
    "PP/microbatches/intro_PP_microbatches", "PP/1F1B/intro_PP_1F1B"))
help_of("DP_PP/intro_DP_PP.py", "[rank]", "--backend {auto,gloo,nccl}")
number("DP_PP/intro_DP_PP.py", "world-size") == 6
[line.split()[0] for line in run("primer/intro.py", None, "--dmodel", "12", "--heads", "2",
    "--layers", "1", "--seq-l", "16", "--steps", "2").splitlines() if line[0] != "["] == ["0", "1"]
(place := find_place("2", 3, {})) and (place.rank, place.address, place.port) == (2, "localhost",
    29500)
find_place(None, None, {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "29511"}).rank == 1
all(is_file(f"{folder}/run.{end}") for end in ("sh", "bat") for folder in ("primer", "DP_PP",
    "DP/gradient_aggr", "DP/weight_aggr", "PP/naive", "PP/microbatches", "PP/1F1B"))
all("intro_" in read(f"{f}/run.{end}") and "-n 3" in read(f"{f}/run.{end}")
    for end in ("sh", "bat") for f in ("DP/gradient_aggr", "DP/weight_aggr", "PP/naive",
    "PP/microbatches", "PP/1F1B"))
"-n 6" in read("DP_PP/run.sh") and "-n 6" in read("DP_PP/run.bat")
all((ROOT / f"{folder}/run.sh").stat().st_mode & 0o100 for folder in ("primer", "DP_PP",
    "DP/gradient_aggr", "DP/weight_aggr", "PP/naive", "PP/microbatches", "PP/1F1B"))
all((ROOT / folder).is_dir() for folder in "simplellm primer DP PP DP_PP puzzles TP gpt2".split())
"""

# --- the puzzles ---
# Not here: the whole tables of cheats (tests/puzzles/test_cheats.py), every world size (tests/
# puzzles/test_wrong_input.py), what ZeRO-3 sends (tests/puzzles/test_honest_profile.py).

SET_UP["puzzles"] = r"""
import asyncio
import functools
import lib, utils, eight, part0, part1, part2, part3, part4
from lib import Activation, ActivationGrad, Dist, Event, Model, OptState, Weight, WeightGrad

def driven(step, ranks, layers, batch, *more, profile=None):
    # The handout's own driver: asyncio alone.
    async def main():
        dist = Dist(ranks, profile) if profile else Dist(ranks)
        models = [Model(rank=r, dist=dist, num_layers=layers, global_batch_size=batch)
                  for r in range(ranks)]
        return await asyncio.gather(*(step(model, *more) for model in models))
    return asyncio.run(main())

def error(step, *case, **more):
    try:
        utils.check(driven(step, *case, **more))
    except Exception as found:
        return str(found)
    return ""

def taken(models):
    # MFU too: a share of the time.
    with contextlib.redirect_stdout(io.StringIO()):
        time, memory, rank = utils.get_training_stats(models)
    return time, memory, rank, utils.get_model_theoretical_best_time(models[0]) / time

def one_sample(m, number, weights):
    # With everything in storage, as the handout's profile wants it.
    _, _, A, E, G = m.storage()
    A[0] = m.get_input_activation([number])
    for layer in range(m.num_layers):
        A[layer + 1] = m.forward(layer, A[layer], weights[layer])
    E[m.num_layers - 1] = m.loss(A[m.num_layers])
    for layer in reversed(range(m.num_layers)):
        G[layer], E[layer - 1] = m.backward(layer, A[layer], E[layer], weights[layer])
    return G

def step_of(kind):
    # A step on two ranks, one sample each, with a mistake.
    async def step(m):
        W, S, _, _, G = m.storage()
        for layer in range(m.num_layers):
            W[layer], S[layer] = m.load_weights(layer)
        if kind == "early" and m.rank:
            return m
        if kind == "receives":
            await m.receive(1 - m.rank)
        one_sample(m, m.rank, W)
        for layer in range(m.num_layers):
            if kind == "forged":
                G[layer] = WeightGrad(layer, m.num_layers, range(2), 2)
            elif kind == "stale" and m.rank:
                await m.all_reduce(G[layer], layer)
                continue
            elif kind == "doubled":
                G["sum"] = await m.all_reduce(G[layer], layer)
                G[layer] = G[layer] + G["sum"]
            elif kind == "other":
                G[layer] = await (m.all_gather if m.rank else m.all_reduce)(G[layer], layer)
            elif kind == "sharded":
                G[layer] = await m.reduce_scatter(G[layer], layer)
                W[layer], S[layer] = W[layer].shard(m.rank, 2), S[layer].shard(m.rank, 2)
            elif kind != "missing":
                G[layer] = await m.all_reduce(G[layer], layer)
            W[layer], S[layer] = m.update(layer, G[layer], W[layer], S[layer])
            m.set_final_weight(layer, W[layer])
        return m
    return step

def told(kind):
    # By the usual profile and by the handout's.
    return tuple(error(step_of(kind), 2, 2, 2, profile=profile) for profile in (None, "classic"))

def scored(*case):
    # Part 4 as a program: its score, and what it should be.
    text = run("part4.py", temporary(), *case)
    points = float(re.search(r"score ([\d.]+)", text)[1])
    mfu = float(re.search(r"MFU ([\d.]+) %", text)[1])
    memory = float(re.search(r"memory ([\d,]+)", text)[1].replace(",", ""))
    speed = sum(mfu >= least for least in (40, 50, 60, 70, 80))
    room = 5 if memory <= 60e9 else 4 if memory <= 69e9 else 3 if memory <= 80e9 else 0
    return points, 0.75 * speed + 0.25 * room

async def names(m):
    # On two ranks: every awaitable of the lower level and of the model.
    if m.rank == 0:
        await m.dist.send(0, 1, (m.get_input_activation([0]), m.time))
    else:
        found, when = await m.dist.receive(0, 1)
        assert found.samples == {0} and when == m.time
    await m.send(dest=1 - m.rank, v=m.load_weights(0, shard=1, num_shards=2)[0])
    assert (await (m.recv if m.rank else m.receive)(source=1 - m.rank)).shards == {1}
    weights = {layer: m.load_weights(layer)[0] for layer in range(2)}
    grads = one_sample(m, m.rank, weights)
    grad, when = await m.dist.all_reduce(m.rank, grads[0], m.time)
    assert when == m.time > 0 and grad.samples == {0, 1}
    part, _ = await m.dist.reduce_scatter(m.rank, grads[1], m.time)
    assert part.shards == {m.rank} and part.num_shards == 2 and not part.is_complete()
    whole, _ = await m.dist.all_gather(m.rank, part, m.time)
    assert whole.is_complete()
    assert (await m.all_gather(await m.reduce_scatter(grads[1], 1), 1)).is_complete()
    with contextlib.redirect_stdout(io.StringIO()):
        assert m.status() is None
    assert m.memory() >= 0
    return m

from helpers.cluster import Layout, estimate, preset
from helpers.cost import gpt, layer_activations

def kept(t=1, *how):
    # Of Megatron's table 2: bytes of a layer, in multiples of s b h.
    return layer_activations(gpt(12288, 4, 96), 1, 2048, t, *how) / (2048 * 12288)

def megatron(**how):
    # GPT-3 175B of its table 5: seconds of an iteration.
    layout = Layout(64, 2048, 1, 8, 8, 3, 1, overlap_tp=True, **how)
    return estimate(gpt(12288, 96, 96), layout, preset("A100")).seconds

model = Model()
weight, state = model.load_weights(1)
x = [model.get_input_activation([0])]
x += [model.forward(0, x[0], model.load_weights(0)[0])]
x += [model.forward(1, x[1], weight)]
e = model.loss(x[2])
g, before = model.backward(1, x[1], e, weight)
new, new_state = model.update(1, g, weight, state)
by_hand = WeightGrad(0, 4, [1], 4, frozenset({0}), 1)
H, BLOCK = 4096, 1024

def forward(n):
    # The handout's sum, by hand.
    flops, moved = 2 * H * H * n * BLOCK, 2 * (H * H + 2 * n * BLOCK * H)
    share = 0.95 if flops >= 128e9 else 0.9 if flops >= 16e9 else 0.6 if flops >= 1e9 else 0.1
    room = 0.9 if moved >= 100e6 else 0.75 if moved >= 10e6 else 0.6 if moved >= 1e6 else 0.3
    return max(flops / (1e15 * share), moved / (3072e9 * room))

def took(what, ranks=1, n=1, profile="classic"):
    # Seconds of one thing, in the handout's own profile unless told.
    seen = {}
    async def step(m):
        # What lies in storage counts, and is there.
        W, S, A, E, G = m.storage()
        begun = m.time
        W[0], S[0] = m.load_weights(0)
        seen["load"] = m.time - begun
        A[0], begun = m.get_input_activation(range(n * m.rank, n * (m.rank + 1))), m.time
        A[1] = m.forward(0, A[0], W[0])
        seen["forward"], E[0], begun = m.time - begun, m.loss(A[1]), m.time
        G[0], E[-1] = m.backward(0, A[0], E[0], W[0])
        seen["backward"], begun = m.time - begun, m.time
        if what == "send":
            if m.rank == 0:
                await m.send(1, A[0])
                seen["send"] = m.time - begun
            elif m.rank == 1:
                A["got"] = await m.receive(0)
            return m
        whole = await m.all_reduce(G[0], 0)
        seen["all_reduce"], begun = m.time - begun, m.time
        G["part"] = await m.reduce_scatter(G[0], 0)
        seen["reduce_scatter"], begun = m.time - begun, m.time
        await m.all_gather(G["part"], 0)
        seen["all_gather"], begun, G[0] = m.time - begun, m.time, whole
        m.update(0, G[0], W[0], S[0])
        seen["update"] = m.time - begun
        return m
    driven(step, ranks, 1, n * ranks, profile=profile)
    return f"{seen[what]:.6e}"

@functools.cache
def solved(name):
    ranks, layers, samples, _, _ = eight.CASES[name]
    models = driven(getattr(eight, name), ranks, layers, samples, profile="steps")
    start = max(event.time for model in models for event in model.log)
    return round(start, 6), *(round(v, 6) for v in taken(models)[:2])

def lists(*a):
    return list(utils.get_next_microbatch(*a))

def traced(part):
    # Run as a program, in an empty folder.
    said = run(f"part{part}.py", folder := temporary())
    return said and json.loads((folder / f"debug_traces/part{part}.json").read_text())
"""
FACTS["puzzles"] = """
(lib.HIDDEN_SIZE, lib.BLOCK_SIZE, lib.DATATYPE, lib.BYTES_PER_ELEMENT) == (4096, 1024, "float16", 2)
takes(lib.Dist, 'world_size')
Dist(3).world_size == 3
all(inspect.iscoroutinefunction(getattr(Dist, n)) for n in ("all_reduce", "all_gather",
    "reduce_scatter", "send", "receive"))
takes(Dist.all_reduce, 'rank, value, time')
takes(Dist.all_gather, 'rank, value, time')
takes(Dist.reduce_scatter, 'rank, value, time')
arguments(Dist.send) == 3
arguments(Dist.receive) == 2
takes(Weight, 'layer, layers, step, shards=frozenset({0}), num_shards=1')
takes(OptState, 'layer, layers, step, shards=frozenset({0}), num_shards=1')
takes(WeightGrad, 'layer, layers, samples, total_samples, shards=..., num_shards=...')
takes(Activation, 'layer, layers, samples, total_samples')
takes(ActivationGrad, 'layer, layers, samples, total_samples')
all(callable(getattr(kind, n)) for kind in (Weight, OptState, WeightGrad)
    for n in ("combine", "shard", "is_complete", "memory"))
takes(Weight.shard, 'shard, num_shards')
(by_hand + WeightGrad(0, 4, [2], 4, frozenset({0}), 1)).samples == {1, 2}
Weight(3, 8, 0).is_complete() and not Weight(3, 8, 0).shard(0, 2).is_complete()
Weight(3, 8, 0).shard(0, 2).combine(Weight(3, 8, 0).shard(1, 2)).is_complete()
(w := Weight(3, 8, 1)).layer == 3 and w.step == 1 and w.shards == {0} and w.num_shards == 1
(Activation(2, 8, [5], 8).layer, Activation(2, 8, [5], 8).samples) == (2, {5})
list(Event._fields) == "typ layer rank time duration memory samples".split()
takes(Model, 'rank=0, dist=None, num_layers=2, global_batch_size=1')
(model.rank, model.world_size, model.num_layers, model.global_batch_size) == (0, 1, 2, 1)
model.time > 0 and isinstance(model.log[0], Event) and len(model.final_weights) == 0
len(model.storage()) == 5 and all(isinstance(each, dict) for each in model.storage())
all(a is b for a, b in zip(model.storage(), (model.weights, model.opt_states, model.activations,
    model.grad_activations, model.grad_weights)))
takes(Model.memory, '') and takes(Model.status, '') and takes(Model.storage, '')
takes(Model.load_weights, 'layer, shard=0, num_shards=1')
takes(Model.set_final_weight, 'layer, weight')
takes(Model.get_input_activation, 'samples')
takes(Model.forward, 'layer, inp, weight')
takes(Model.backward, 'layer, inp, grad, weight')
takes(Model.loss, 'inp')
takes(Model.update, 'layer, weight_grad, weight, opt_state')
takes(Model.all_reduce, 'v, layer=...')
takes(Model.reduce_scatter, 'v, layer=...')
takes(Model.all_gather, 'v, layer=...')
takes(Model.send, 'dest, v')
takes(Model.receive, 'source') and takes(Model.recv, 'source')
type(weight) is Weight and type(state) is OptState
[type(each) for each in x] == [Activation] * 3 and [each.layer for each in x] == [0, 1, 2]
type(e) is ActivationGrad and e.layer == model.num_layers - 1
type(g) is WeightGrad and g.layer == 1 and type(before) is ActivationGrad and before.layer == 0
type(new) is Weight and type(new_state) is OptState and new.step == 1
len(driven(names, 2, 2, 2)) == 2
takes(utils.get_next_microbatch, 'global_batch_size, world_size, batch_size, rank')
inspect.isgenerator(utils.get_next_microbatch(8, 2, 2, 1))
lists(8, 2, 2, 1) == [[4, 5], [6, 7]]
takes(utils.get_global_batch_list, 'global_batch_size, batch_size')
utils.get_global_batch_list(4, 2) == [[0, 1], [2, 3]]
takes(utils.check, 'models')
takes(utils.get_training_stats, 'models')
takes(utils.get_model_theoretical_best_time, 'model')
takes(utils.to_chrome_trace, 'models, global_batch_list=None')
takes(utils.write_chrome_trace, 'models, path, global_batch_list=None')
inspect.iscoroutinefunction(part0.train_ddp) and takes(part0.train_ddp, 'model, batch_size')
takes(part1.part1_training_loop, 'model, batch_size')
takes(part2.part2_training_loop, 'model')
takes(part3.part3_training_loop, 'model, batch_size')
takes(part4.part4_training_loop, 'model, batch_size')
all(inspect.iscoroutinefunction(f) for f in (part1.part1_training_loop,
    part2.part2_training_loop, part3.part3_training_loop, part4.part4_training_loop))
(models := driven(part0.train_ddp, 2, 3, 8, 2)) and all(type(m) is Model for m in models)
[m.rank for m in models] == [0, 1]
utils.check(models) is None and len(taken(models)) == 4
"traceEvents" in utils.to_chrome_trace(models) or isinstance(utils.to_chrome_trace(models), list)
utils.write_chrome_trace(models, str(path := temporary() / "t.json")) is None and
    json.loads(path.read_text())
all(error(step, ranks, 2, 4, *more, profile="classic") == "" for ranks in (1, 2, 4) for step,
    *more in
    ((part0.train_ddp, 1), (part1.part1_training_loop, 1), (part2.part2_training_loop,),
    (part3.part3_training_loop, 1), (part4.part4_training_loop, 1)))
traced(0)
traced(1)
[number("part2.py", n) for n in ("ranks", "layers", "batch")] == [4, 16, 2048]
"--micro-batch" not in help_of("part2.py")
"score" not in run("part2.py", temporary(), "--profile", "classic")
traced(3)
traced(4)
all([number(f"part{n}.py", f) for f in ("ranks", "layers", "batch", "micro-batch")] == case
    for n, case in {0: [8, 36, 32, 4], 1: [32, 64, 256, 8], 3: [16, 32, 2048, 128],
    4: [32, 64, 2048, 64]}.items())
scored() == (5, 5)
[scored(*case.split()) for case in ("--ranks 2 --layers 4 --batch 4 --micro-batch 1",
    "--ranks 8 --layers 16 --batch 64 --micro-batch 1")] == [(1.25, 1.25), (4.25, 4.25)]
[scored(*f"--ranks 1 --layers {n} --batch {n * 4} --micro-batch {n * 4}".split(), "--profile",
    "classic") for n in (60, 64, 80)] == [(4.75, 4.75), (4.5, 4.5), (3.75, 3.75)]
solved("basic")[:2] == (16.5, 17.0) and solved("basic")[2] == 2621440
solved("accumulation")[:2] == (16.5, 17.0) and solved("accumulation")[2] == 1966080
solved("ddp")[:2] == (5.1, 5.6) and solved("ddp")[2] <= 1835008
solved("weight_sharded")[:2] == (19.9, 20.4) and solved("weight_sharded")[2] <= 2752512
solved("fully_sharded")[:2] == (19.9, 20.4) and solved("fully_sharded")[2] <= 2359296
solved("pipeline")[:2] == (66.9, 67.4) and solved("pipeline")[2] <= 3145728
solved("gpipe")[:2] == (33.3, 33.8) and solved("gpipe")[2] <= 4194304
solved("pipeline_sharded")[:2] == (15.5, 16.0) and solved("pipeline_sharded")[2] <= 966656
[case[:3] for case in eight.CASES.values()] == [(1, 2, 4), (1, 2, 4), (4, 2, 4), (4, 6, 4), (4, 6,
    4), (4, 8, 4), (4, 8, 4), (16, 4, 4)]
[case[3:] for case in eight.CASES.values()] == [(17, 2621440), (17, 1966080), (5.6, 1835008),
    (20.4, 2752512), (20.4, 2359296), (67.4, 3145728), (33.8, 4194304), (16, 966656)]
told("right") == ("", "")
told("sharded") == ("", "")
all("by hand" in words and "layer 0" in words for words in told("forged"))
all("sample 1" in words for words in told("missing"))
all("sample" in words and "twice" in words for words in told("doubled"))
all("stale" in words and "rank 1" in words for words in told("stale"))
all("all_gather" in words and "all_reduce" in words for words in told("other"))
all("rank 0" in words and "rank 1" in words for words in told("early"))
all("rank 0 waits for rank 1" in words for words in told("receives"))
model.memory() > 0 and len(model.storage()[0]) == 0
took("forward", profile=None) != took("backward", profile=None)
abs(float(took("backward", profile=None)) / float(took("forward", profile=None)) - 2) < 1e-5
took("forward") == "3.817749e-05" and took("backward") == "3.817749e-05"
took("forward", n=64) == "2.314761e-03" and took("backward", n=64) == "2.314761e-03"
all(took("forward", n=n) == f"{forward(n):.6e}" for n in (1, 2, 3, 4, 8, 64, 256))
took("update") == "3.640889e-05"
took("load") == "8.285045e-05"
took("all_reduce", ranks=16) == took("all_reduce", ranks=32) == "7.656540e-04"
took("reduce_scatter", ranks=16) == took("all_gather", ranks=16) == "7.656540e-04"
took("send", ranks=16) == took("send", ranks=32) == "2.064135e-04"
took("send", ranks=8) == f"{2 * H * BLOCK / (450e9 * 0.65) + 1e-5:.6e}"
took("all_reduce", ranks=8) == f"{2 * H * H / (450e9 * 0.65) + 1e-5:.6e}"
(found := taken(driven(part2.part2_training_loop, 4, 16, 2048, profile="classic"))) and
    f"{found[0]:.6f} {100 * found[3]:.2f}" == "2.723224 20.67"
(found := taken(driven(part1.part1_training_loop, 32, 64, 256, 8, profile="classic"))) and
    f"{found[0]:.6f} {100 * found[3]:.2f}" == "0.184362 19.08"
(found := taken(driven(part4.part4_training_loop, 32, 64, 2048, 64, profile="classic"))) and
    found[3] >= 0.8 and found[1] <= 60e9
abs(kept(8) - (10 + 24 / 8 + 5 * 96 * 2048 / (12288 * 8))) < 1e-9
abs(kept(8, True) - (34 + 5 * 96 * 2048 / 12288) / 8) < 1e-9
kept(8, True, "selective") == 34 / 8
kept(8, False, "full") == 2
abs(megatron(recompute="full") / 18.13 - 1) < 0.15
abs(megatron(recompute="selective", sequence_parallel=True) / 13.75 - 1) < 0.15
"""

# --- GPT-2 ---
# Not here: gradients of ranks and of the pipeline beside one device (gpt2/tests, tests/gpt2), the
# files that a training writes (tests/gpt2/test_scripts.py), the joined threads (gpt2/tests).

SET_UP["gpt2"] = """
import torch
from torch import nn
from data_parallel import dataset
from pipeline import model_parallel, partition, pipe, worker
from project import plot, run_data_parallel, run_pipeline, utils
from data_parallel.dataset import DataPartitioner, Partition, partition_dataset

cpu = [torch.device(f"cpu:{n}") for n in (0, 1)]
one, two, three = (nn.Linear(2, 2) for _ in range(3))
marked = nn.Sequential(partition.WithDevice(one, "cpu:0"), partition.WithDevice(nn.Dropout(0.0),
                       "cpu:0"), partition.WithDevice(two, "cpu:1"),
                       partition.WithDevice(three, "cpu:0"))
parts, devices = partition._split_module(marked)
the_pipe = pipe.Pipe(marked, split_size=2)
x = torch.randn(5, 2)
halves = DataPartitioner(list(range(49)), [1 / 49] * 49)
rows = [{"de": "Guten Tag.", "en": "I wish you a very good day."},
        {"de": "Danke sehr.", "en": "Many thanks to all of you."}] * 3
tokenizer = utils.get_tokenizer(rows, 300, "de", "en")
batch = utils.collate_batch(rows, "de", "en", tokenizer, 64)
from transformers import GPT2Config, GPT2LMHeadModel
config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=16, n_layer=4, n_head=2,
                    bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
torch.manual_seed(0)
parallel = model_parallel.GPT2LMHeadModelParallel(config).eval()
plain = GPT2LMHeadModel(config).eval()
plain.load_state_dict(parallel.state_dict())
asked = dict(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])

def logits(how):
    with torch.no_grad():
        if how != "plain":
            parallel.parallelize()
        if how == "pipeline":
            parallel._prepare_pipeline_parallel(2)
        found = (plain if how == "plain" else parallel)(**asked).logits
        if how == "pipeline":
            parallel._finalize_pipeline_parallel()
        if how != "plain":
            parallel.deparallelize()
        return found

def trained():
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    collate = lambda some: utils.collate_batch(some, "de", "en", tokenizer, 64)
    found = utils.train(model, optimizer, rows, 2, collate, "test")
    (folder := temporary()).mkdir(exist_ok=True)
    utils.save_grad_weights(model, 0, folder)
    return model, collate, found, torch.load(folder / "model0_gradients.pth")
model, collate, (rate, counts), kept = trained()
"""
FACTS["gpt2"] = """
takes(Partition, 'data, index')
takes(DataPartitioner, 'data, sizes=[0.7, 0.2, 0.1], seed=1234')
len(DataPartitioner(range(10)).partitions) == 3
isinstance(DataPartitioner(range(10)).use(0), Partition) and takes(DataPartitioner.use, 'partition')
sorted(DataPartitioner(range(10)).use(0)[i] for i in range(7)) ==
    sorted(DataPartitioner(range(10)).partitions[0])
sorted(i for part in halves.partitions for i in part) == list(range(49))
takes(partition_dataset, 'rank, world_size, dataset, batch_size=128, collate_fn=None')
isinstance(partition_dataset(0, 2, range(64), 8), torch.utils.data.DataLoader)
partition_dataset(0, 2, range(64), 8).batch_size == 4
takes(run_data_parallel.setup, 'rank, world_size, backend')
all(words in read("project/run_data_parallel.py") for words in ("11868", "localhost"))
takes(run_data_parallel.average_gradients, 'model')
takes(run_data_parallel.run_dp, 'rank, world_size, backend, dataset_name=..., '
      'model_max_length=128, n_epochs=10, batch_size=128, learning_rate=1e-4')
help_of("project/run_data_parallel.py", "--pytest PYTEST", "--dataset DATASET",
    "--model_max_length MODEL_MAX_LENGTH", "--n_epochs N_EPOCHS", "--batch_size BATCH_SIZE",
    "--learning_rate LEARNING_RATE", "--world_size WORLD_SIZE")
help_of("project/run_pipeline.py", "--dataset DATASET", "--model_max_length MODEL_MAX_LENGTH",
    "--n_epochs N_EPOCHS", "--n_chunk N_CHUNK", "--batch_size BATCH_SIZE",
    "--learning_rate LEARNING_RATE", "--model_parallel_mode {model_parallel,pipeline_parallel}")
help_of("project/plot.py") and "submit_figures" in read("project/plot.py")
"_results_epoch" in read("project/results.py") + read("project/run_data_parallel.py")
all(name in read("project/results.py") + read("project/run_data_parallel.py") for name in
    ("validation_loss", "bleu", "training_time", "tokens_per_sec"))
all(callable(getattr(utils, n)) for n in ("get_tokenizer", "collate_batch", "loss_fn",
    "evaluate_loss", "evaluate_bleu", "generate", "train", "save_grad_weights"))
takes(utils.train, 'model, optimizer, examples, batch_size, collate_fn, desc, rank=0, '
      'average_gradients_fn=None')
{"input_ids", "labels", "label_token_weights"} <= batch.keys()
batch["input_ids"].shape == batch["labels"].shape == batch["label_token_weights"].shape
torch.equal(batch["input_ids"][:, 1:], batch["labels"][:, :-1])
utils.loss_fn(batch, model).shape == ()
utils.evaluate_loss(model, rows, 2, collate, "test") > 0
utils.evaluate_bleu(rows, [row["en"] for row in rows], "en")["bleu"] > 99
isinstance(rate, float) and len(counts) == 3 and all(isinstance(c, int) for c in counts)
sum(counts) == sum(int(collate(rows[i:i + 2])["attention_mask"].sum()) for i in (0, 2, 4))
kept.keys() == {name for name, _ in model.named_parameters()} and all(v.device.type == "cpu" for
    v in kept.values())
takes(partition.WithDevice, 'module, device')
partition.WithDevice(one, "cpu:1").device == cpu[1] and partition.WithDevice(one,
    "cpu:1").module is one
partition._retrieve_device(one).type == "cpu" and partition._retrieve_device(marked[2]) == cpu[1]
isinstance(partition._assemble_partition([one, two]), nn.Sequential)
isinstance(parts, nn.ModuleList) and all(isinstance(part, nn.Sequential) for part in parts)
[len(part) for part in parts] == [2, 1, 1] and devices == [cpu[0], cpu[1], cpu[0]]
takes(pipe._clock_cycles, 'num_batches, num_partitions')
[sorted(each) for each in pipe._clock_cycles(3, 2)] == [[(0, 0)], [(0, 1), (1, 0)], [(1, 1), (2,
    0)], [(2, 1)]]
takes(pipe.Pipe, 'module, split_size=1')
takes(pipe.Pipe.forward, 'x') and takes(pipe.Pipe.compute, 'batches, schedule')
len(the_pipe.partitions) == len(the_pipe.devices) == len(the_pipe.in_queues) ==
    len(the_pipe.out_queues) == 3
torch.allclose(the_pipe(x), three(two(one(x)))) and the_pipe.split_size == 2
takes(worker.Task.compute, '') and worker.Task(lambda: 7).compute() == 7
arguments(worker.worker) == 3 and takes(worker.create_workers, 'devices')
(queues := worker.create_workers([cpu[0]])) and len(queues) == 2 and
    queues[0][0].put(worker.Task(lambda: 8)) is None and queues[1][0].get()[1][1] == 8
queues[0][0].put(None) is None
takes(model_parallel.GPT2ModelParallel._prepare_pipeline_parallel, 'split_size=1')
takes(model_parallel.GPT2LMHeadModelParallel, 'config')
takes(model_parallel.GPT2LMHeadModelParallel._prepare_pipeline_parallel, 'split_size=1')
all(callable(getattr(parallel, n)) for n in ("parallelize", "deparallelize",
    "_prepare_pipeline_parallel", "_finalize_pipeline_parallel"))
torch.allclose(logits("plain"), logits("model parallel"), atol=1e-6)
torch.allclose(logits("plain"), logits("pipeline"), atol=1e-6)
all(f"def test_{name}" in read("tests/test_data_parallel.py") for name in ("a4_1_1", "a4_1_2"))
all(f"def test_{name}" in read("tests/test_pipeline.py") for name in ("a4_2_1", "a4_2_2"))
all(is_file(f"gpt2/{n}") for n in ("data_parallel/dataset.py", "project/run_data_parallel.py",
    "project/utils.py", "pipeline/partition.py", "pipeline/pipe.py", "pipeline/worker.py",
    "pipeline/model_parallel.py", "project/run_pipeline.py", "project/plot.py"))
"""

# --- tensor parallelism over MPI, and the cost ---
# Not here: collectives, groups and training on several ranks, the handout's commands with mpirun
# (tests/TP/test_mpi_lab.py, TP/tests).

SET_UP["TP"] = """
import numpy as np
from mpi4py import MPI
from data import data_parallel_preprocess
from data.data_parallel_preprocess import split_data, split_train
from model import func_impl
from mpi_wrapper.comm import Communicator
import model_training_cost_analysis as cost

class Raw:
    # As mpi4py's communicator is called by graders: keywords for Split.
    def __init__(self, size=8):
        self.size, self.asked = size, []
    def Get_size(self):
        return self.size
    def Get_rank(self):
        return 5
    def Split(self, color, key):
        self.asked.append((color, key))
        return ("group", color, key)
    def Allgather(self, src, dst):
        assert src.flags.c_contiguous and dst.flags.c_contiguous
        dst.reshape(2, -1)[:] = src.ravel(), src.ravel() + 100
    def Allreduce(self, src, dst, **op):
        assert src.flags.c_contiguous and dst.flags.c_contiguous
        np.copyto(dst, 2 * src)
    def Reduce_scatter(self, src, dst, **op):
        assert src.flags.c_contiguous and dst.flags.c_contiguous
        np.copyto(dst.ravel(), 2 * src.ravel()[: dst.size])

def info(rank=5, fc1=True, megatron=False):
    return func_impl.get_info(comm=Raw(), rank=rank, mp_size=2, dp_size=4, is_fc1=fc1,
                              is_megatron_mp=megatron, in_dim=768, out_dim=256)

x = np.arange(12, dtype=np.float32).reshape(3, 4)
rows, labels = np.arange(16).reshape(8, 2), np.arange(8)
alone = Communicator(MPI.COMM_WORLD)
got = np.empty_like(x)
law = lambda n, d: 406.4 / n**0.34 + 410.7 / d**0.29 + 1.69
N, D = cost.get_optimal_N_D(1.23e22)
count, tflops, gigabytes = cost.model_training_cost_analysis("llama_7b_config.json")
config = json.loads(read("llama_7b_config.json"))
told = run("model_training_cost_analysis.py", None, "--model_config", "llama_7b_config.json")
lines = told.splitlines()
optimum = run("model_training_cost_analysis.py", None, "--training_budget", "1.23e22").splitlines()
"""
FACTS["TP"] = """
takes(split_data, 'x_train, y_train, mp_size, dp_size, rank')
split_train is split_data or takes(split_train, 'x_train, y_train, mp_size, dp_size, rank')
all(np.array_equal(split_data(rows, labels, 2, 4, rank)[1], [2 * (rank // 2),
    2 * (rank // 2) + 1]) for rank in range(8))
np.array_equal(split_train(rows, labels, 2, 4, 5)[0], rows[4:6])
takes(func_impl.get_info, 'comm, rank, mp_size, dp_size, is_fc1, is_megatron_mp, in_dim, out_dim')
info() == (1, 2, ("group", 2, 1), ("group", 1, 2), 768, 128)
info(fc1=False)[4:] == (768, 128)
info(fc1=True, megatron=True)[4:] == (768, 128)
info(fc1=False, megatron=True)[4:] == (384, 256)
[info(rank)[:2] for rank in range(8)] == [(rank % 2, rank // 2) for rank in range(8)]
takes(func_impl.naive_collect_forward_input, 'x, mp_comm, mp_size')
takes(func_impl.naive_collect_forward_output, 'out, mp_comm, mp_size')
takes(func_impl.megatron_collect_forward_input, 'x, mp_comm, mp_size')
takes(func_impl.megatron_collect_forward_output, 'out, mp_comm, mp_size')
takes(func_impl.naive_collect_backward_output, 'output_grad, mp_group_idx, mp_size')
takes(func_impl.naive_collect_backward_x, 'grad_x, mp_comm, mp_size')
takes(func_impl.megatron_collect_backward_output, 'output_grad, mp_group_idx, mp_size')
takes(func_impl.megatron_collect_backward_x, 'grad_x, mp_comm, mp_size')
takes(func_impl.collect_weight_grad, 'grad_w, grad_b, dp_comm')
np.array_equal(func_impl.naive_collect_forward_input(x, Raw(), 2), np.concatenate([x, x + 100], -1))
np.array_equal(func_impl.naive_collect_forward_output(x, Raw(), 2), np.concatenate([x, x + 100],
    -1))
func_impl.megatron_collect_forward_input(x, Raw(), 2) is x
np.array_equal(func_impl.megatron_collect_forward_output(x, Raw(), 2), 2 * x)
np.array_equal(func_impl.naive_collect_backward_output(x, 1, 2), x[:, 2:])
np.array_equal(func_impl.naive_collect_backward_x(x, Raw(), 2), 2 * x[:, :2])
func_impl.megatron_collect_backward_output(x, 1, 2) is x
func_impl.megatron_collect_backward_x(x, Raw(), 2) is x
all(np.array_equal(a, 2 * b) for a, b in zip(func_impl.collect_weight_grad(x, x[0], Raw()), (x,
    x[0])))
all(f(x.astype(t), Raw(), 2).dtype == t for t in ("float32", "float64") for f in
    (func_impl.naive_collect_forward_input, func_impl.naive_collect_forward_output,
    func_impl.megatron_collect_forward_output, func_impl.naive_collect_backward_x))
takes(Communicator, 'comm')
takes(Communicator.Get_size, '') and takes(Communicator.Get_rank, '')
takes(Communicator.Barrier, '')
takes(Communicator.Allreduce, 'src, dst, op=...')
takes(Communicator.Allgather, 'src, dst')
takes(Communicator.Reduce_scatter, 'src, dst, op=...')
takes(Communicator.Split, 'key, color')
takes(Communicator.Alltoall, 'src, dst')
takes(Communicator.myAllreduce, 'src, dst, op=...')
takes(Communicator.myAlltoall, 'src, dst')
all(default(getattr(Communicator, n), "op") == MPI.SUM for n in ("Allreduce", "Reduce_scatter"))
(alone.Get_size(), alone.Get_rank(), alone.total_bytes_transferred) == (1, 0, 0)
alone.Allreduce(x, got) is None and np.array_equal(x, got)
alone.Split(key=0, color=0).Get_size() == 1
set("allreduce allgather reduce_scatter split".split()) <= set(re.search(
    r"--test_case {([a-z_,]+)}", help_of("mpi-test.py"))[1].split(","))
help_of("unified_train.py", "--mp_size MP_SIZE", "--dp_size DP_SIZE", "--megatron-mp",
    "MNISTdata.hdf5")
all(name in help_of("unified_train.py") for name in ("x_train", "y_train", "x_test", "y_test"))
number("unified_train.py", "hidden") == 256
help_of("model_training_cost_analysis.py", "--model_config PATH", "--training_budget FLOPS")
arguments(cost.model_training_cost_analysis) == 1 and takes(cost.get_optimal_N_D, 'budget')
count == 6738415616
(count - 2 * 32000 * 4096 - 4096) / 32 == 202383360
f"{tflops:.4f}" == "0.8976"
abs(gigabytes - (202383360 * 2 + 5 * 2048 * 4096 * 2 + 2 * 32 * 2048**2 * 2) / 1e9) < 1e-9
lines[0] == "Number of parameters: 6738415616"
lines[1] == "Number of TFLOPs: 0.8976"
lines[2].startswith("Peak memory cost: ") and lines[2].endswith(" GBs")
float(lines[2].split()[3]) == round(gigabytes, 4)
all(words in told for words in ("rotary", "batch 1", "sequence 2048"))
"405 MB" in told or "404.8 MB" in told or "0.4048 GB" in told
f"{N:.2e}" == "8.18e+09" and f"{D:.2e}" == "2.51e+11" and f"{law(N, D):.3f}" == "2.066"
abs(6 * N * D / 1.23e22 - 1) < 1e-9
optimum[0].startswith("Optimal N: 8.1") and optimum[1].startswith("Optimal D: 2.5")
"2.066" in " ".join(optimum)
(config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]) == (4096,
    11008, 32)
(config["num_hidden_layers"], config["vocab_size"], config["max_position_embeddings"]) == (32,
    32000, 2048)
config["tie_word_embeddings"] is False
"handin.tar" in read("Makefile")
all(is_file(f"TP/tests/{n}") for n in ("test_data_split.py", "test_get_info.py"))
"--with-mpi" in read("tests/conftest.py")
"""

# --- DDP, profiling, input, compile ---
# Not here: traces, tables and files of runs (tests/DP/test_profiling.py, test_profiling_inputs.py,
# test_ddp.py), launchers (tests/jobs/test_jobs.py).

SET_UP["DP/ddp"] = """
import torch
import transformer
from torch import nn
told = help_of("profile_ddp.py", "usage")
with torch.device("meta"):
    reference = sum(p.numel() for p in nn.Transformer(batch_first=True).parameters())
    net = transformer.Forecaster(transformer.SIZES["lab"])
ours = sum(p.numel() for p in net.parameters())
inner = [m for m in net.modules() if isinstance(m, nn.Transformer)]
import profile_flags
lab = profile_flags.read_flags("", ["--size", "lab"])
"""
FACTS["DP/ddp"] = """
"--hdf5" in told and "--compile" in told and "--profile" in told.split()
"--epochs EPOCHS" in told
re.search("--batch-size( BATCH_SIZE)?, --batch_size BATCH_SIZE", told)
"--trace-dir TRACE_DIR" in told and "(./traces/)" in told
"--src-shape SRC_SHAPE" in told and "--tgt-shape TGT_SHAPE" in told
"--dtype {" in told and "float32" in told
"--input {memory,hdf5,pt,safetensors,memmap}" in told
"--rank-source {auto,env,mpi,pals,slurm}" in told
all(f"--{n}" in told for n in ("record-shapes", "profile-memory", "with-stack", "with-flops"))
"record_function" in read("profile_ddp.py")
profile_flags.read_flags("", []).shapes.src[2] < 512
lab.shapes.src == (2048, 1, 512) and lab.shapes.tgt == (2048, 20, 512) and lab.shapes.dtype ==
    "float32"
ours == reference == 44_140_544 and len(inner) == 1
f"{4 * ours / 1e6:.1f}" == "176.6"
inner[0].batch_first is True
"-of-" in read("profiler.py") and ".json" in read("profiler.py") and ".txt" in read("profiler.py")
"device_time_total" in read("profiler.py")
any("PALS_LOCAL_RANKID" in p.read_text() for p in (ROOT / "helpers/ranks").glob("*.py"))
all(list((ROOT / "jobs").glob(f"*{n}*")) for n in ("torchrun", "mpi", "slurm", "pbs_pals"))
"""


# --- asked in the folder's own process ---


def in_order(function) -> list[inspect.Parameter]:
    """The parameters, without `self`."""
    found = list(inspect.signature(function).parameters.values())
    return found[1:] if found and found[0].name == "self" else found


def takes(function, wanted: str) -> bool:
    """Whether a call by these names, in this order and with these defaults, means what it meant.

    `x=...` has a default, whatever it is; `x` may have one. What follows `*` may come later. More
    parameters are all right where they have defaults.
    """
    tree = ast.parse(f"def f({wanted}): pass").body[0].args
    first = [a.arg for a in tree.args]
    defaults = [None] * (len(first) - len(tree.defaults)) + tree.defaults
    wanted = dict(zip(first, defaults, strict=True))
    wanted |= dict(zip((a.arg for a in tree.kwonlyargs), tree.kw_defaults, strict=True))
    there = in_order(function)
    by_name = {p.name: p for p in there}
    if [p.name for p in there][: len(first)] != first or not wanted.keys() <= by_name.keys():
        return False
    for name, default in wanted.items():
        has = by_name[name].default
        if default is None:
            continue
        if has is inspect.Parameter.empty:
            return False
        elif not isinstance(default, ast.Constant) or default.value is not ...:
            value = eval(ast.unparse(default))
            if (list(has) if isinstance(value, list) else has) != value:
                return False
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    more = [p for p in there if p.name not in wanted and p.kind not in kinds]
    return all(p.default is not inspect.Parameter.empty for p in more)


def arguments(function) -> int:
    """How many a call must give."""
    return sum(p.default is inspect.Parameter.empty for p in in_order(function))


def default(function, name: str):
    return inspect.signature(function).parameters[name].default


def is_file(name: str) -> bool:
    return (ROOT / name).is_file()


def read(name: str) -> str:
    """A file of the folder."""
    return Path(name).read_text(encoding="utf-8")


def temporary() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(dir=os.environ["TMPDIR"]))


def said(call) -> str:
    """What a call prints, on both channels."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        call()
    return text.getvalue()


def run(script: str, folder: Path | None, *arguments: str) -> str:
    """What a script prints: run as a program, here or in another folder, in this process."""
    here, path, argv, before = os.getcwd(), list(sys.path), sys.argv, set(sys.modules)
    place = (Path(here) / script).resolve()
    text, sys.argv = io.StringIO(), [str(place), *arguments]
    sys.path.insert(0, str(place.parent))
    try:
        os.chdir(folder or here)
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            runpy.run_path(str(place), run_name="__main__")
    finally:
        os.chdir(here)
        sys.path[:], sys.argv = path, argv
        for name in set(sys.modules) - before:  # what lies beside it: the next one has its own
            file = getattr(sys.modules[name], "__file__", None) or ""
            if Path(here) == ROOT and file.startswith(str(place.parent)):
                del sys.modules[name]
    return text.getvalue()


def number(script: str, flag: str) -> int:
    """What a flag is unless it is given: the number in parentheses behind its words."""
    behind = help_of(script).split(f"--{flag} ")[-1].split(" --")[0]
    return int(re.search(r"\((\d+)\)", behind)[1])


def help_of(script: str, *words: str) -> str:
    """Its --help, if all of these words are in it; else nothing."""
    text = run(script, None, "--help")
    flat = " ".join(text.split())
    return text if text and all(" ".join(w.split()) in flat for w in words) else ""


def facts_of(folder: str) -> list[str]:
    """The lines of a table; a line that begins with a space goes on with the one before."""
    lines = FACTS[folder].strip().split("\n")
    found: list[str] = []
    for line in lines:
        if line.startswith(" "):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def broken(folder: str) -> list[str]:
    """Which facts of a folder aren't true, and why."""
    scope = dict(globals())
    exec(textwrap.dedent(SET_UP[folder]), scope)
    wrong = []
    for fact in facts_of(folder):
        try:
            true = eval(f"({fact})", scope)
        except Exception as error:
            wrong.append(f"{fact}\n    {type(error).__name__}: {error}")
        else:
            if not true:
                wrong.append(fact)
    return wrong


@pytest.mark.parametrize("folder", FACTS)
def test_a_contract_holds(folder, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    environment |= {"MPLBACKEND": "Agg", "COLUMNS": "200", "PYTHONUTF8": "1"}
    program = [sys.executable, __file__, folder]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    wrong = json.loads(done.stdout.splitlines()[-1])
    assert wrong == [], "\n".join(wrong)


if __name__ == "__main__":
    os.environ.setdefault("TMPDIR", "/tmp")
    os.environ["COLUMNS"] = "200"
    asked = sys.argv[1]
    os.chdir(ROOT / asked)
    sys.path[0] = str(ROOT / asked)
    found = broken(asked)
    if sys.stdout.isatty():
        print("\n".join(found))
    print(json.dumps(found))
