# %% [markdown]
# # What training costs
#
# *Reading 25 minutes, tasks 40*
#
# *With twenty minutes: "Parameters and FLOPs", then the two kinds of memory.*
#
# Before you rent a thousand GPUs you want to know three things: whether the training fits, how many
# days it takes, and whether the GPUs will compute or wait for their network. You can count most of
# that on paper, from the sizes of the model and a data sheet. What you have to measure is how much
# of its peak a GPU really reaches. This lesson counts what one device computes, keeps and sends;
# the next one asks when sending it is free.
#
# **Question.** How many FLOPs, how many bytes to keep, and how many to send?

# %%
import time
from functools import partial

import torch
import torch.nn.functional
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from helpers.check import check, solve
from helpers.cost import bytes_on_the_wire, flops, kept_by_layer, parameters, read_config
from helpers.cost.rates import H100
from helpers.lesson import answer, claim, predict, reveal
from helpers.words import bytes_text
from simplellm.llama import CausalLLama, LLama

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Parameters and FLOPs
#
# **Training takes six FLOPs for each parameter and token, and the attention scores on top.**
#
# A model on the Hugging Face hub comes with a `config.json` that holds its sizes. Here are
# LLaMA-7B's parameters, counted from its config. There are none for positions, because a LLaMA
# rotates its queries and keys instead:

# %%
llama = read_config("../TP/llama_7b_config.json")
count = parameters(llama)
print(count)

# %% [markdown]
# The product of an $(m, k)$ matrix and a $(k, n)$ matrix takes $2mnk$ FLOPs: each pair of numbers
# is multiplied and added. Norms, rotations and additions take so few FLOPs that nobody counts them
# (their time is another matter: they wait for memory). What people count differently is the
# **attention scores**, the $s \times s$ numbers that say how much each token looks at every other.

# %% jupyter={"source_hidden": true}
predict(
    "what_training_costs-1",
    "One layer of LLaMA-7B goes forward with a sequence of 2,048 tokens. What share of its FLOPs "
    "is spent on the scores and on their product with the values?",
    "about 8 %",
    "about half",
    "about 90 %: they grow with the square of the sequence",
)

# %%
for attention in ("full", "causal", "weights"):
    forward = flops(llama, attention=attention)
    print(f"{forward.layer / 1e12:.4f} TFLOP: {forward.convention}")
reveal("what_training_costs-1")

# %% [markdown]
# (Scores equal the matrices at about 25,000 tokens.) So always say which convention you use. The
# papers on Megatron and PaLM count all scores, although a causal kernel computes only half.
#
# Backward should take twice as many FLOPs as forward, since each product of the forward pass needs
# two in backward, one for the gradient of its input and one for the gradient of its weights. Torch
# can count while a small LLaMA runs:

# %%
net = LLama(CausalLLama, 1000, dmodel=64, num_heads=4, n_layers=3, ctx_size=32, device="cpu")
ids = torch.zeros(2, 32, dtype=torch.long)
small = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "vocab_size": 1000}
small |= {"num_attention_heads": 4, "num_hidden_layers": 3}
ours = flops(read_config(small), batch=2, sequence=32, attention="weights")
with FlopCounterMode(display=False) as counter:
    logits = net(ids)
print(f"forward: torch counts {counter.get_total_flops():,} FLOPs, we {ours.forward:,.0f}")
with FlopCounterMode(display=False) as counter:
    logits.sum().backward()
print(f"backward: torch counts {counter.get_total_flops() / ours.forward:g} times as many")
assert counter.get_total_flops() == 2 * ours.forward

# %% [markdown]
# (Torch's counter has no formula for the scores in the CPU's fused kernel.) For quick estimates,
# forget the architecture. Each weight of a matrix is multiplied and added once per token in forward
# and twice in backward, so $P$ parameters take about $6P$ FLOPs per token. (An embedding only looks
# up rows, in LLaMA-7B 2 % of them.) Scaling laws write $N$ for the parameters and $D$ for the
# tokens of a whole run, which then takes
#
# $$C \approx 6\,N D \quad \text{FLOPs}.$$
#
# For Llama 3 405B and its 15.6 trillion tokens that's $3.8 \times 10^{25}$ FLOPs. Its H100s reached
# about 400 TFLOP/s each, so how long did 16,384 of them compute?

# %%
hours = 6 * 405e9 * 15.6e12 / H100.reached / 3600
print(f"{hours / 1e6:.1f} million GPU hours, {hours / 24 / 16_384:.0f} days on 16,384 GPUs")

# %% [markdown]
# Meta counts 30.84 million GPU hours for this model (lesson 00), 17 % more. The attention scores,
# which $6ND$ leaves out, are 4 of these 17 % if a causal kernel computes half of them, and 8 if all
# are counted. The rest leaves room for restarts and for phases that ran more slowly.
#
# ### Your turn: CO-1 · 40 minutes · 20 points
#
# Write `model_training_cost_analysis()` in `TP/model_training_cost_analysis.py`: from a
# `config.json` alone, the parameters of a LLaMA, the TFLOPs of one layer's forward pass, and the
# memory of that pass. Its docstring says how each of the three is counted.

# %%
check("CO-1")

# %% [markdown]
# ## Memory: weights, gradients, optimizer
#
# Most models are trained in **mixed precision**: products in 16 bits, the update in 32. With Adam,
# each parameter then needs its weight (2 bytes), its gradient (2), and in 32 bits a copy of the
# weight, a mean and a variance (12).

# %% jupyter={"source_hidden": true}
predict(
    "what_training_costs-2",
    "LLaMA-7B in mixed precision with Adam. Do weights, gradients and the optimizer's state fit on "
    "one GPU with 80 GB?",
    "yes: 7 billion parameters of 2 bytes are 14 GB",
    "yes, easily: 4 bytes a parameter are 27 GB",
    "no",
)

# %%
mixed = {"weight": 2, "gradient": 2, "fp32 weight": 4, "Adam's mean": 4, "Adam's variance": 4}
for name, size in {**mixed, "in all": sum(mixed.values())}.items():
    print(f"{name:18}{size:3} bytes a parameter{size * count.total / 1e9:7.1f} GB")
reveal("what_training_costs-2")

# %% [markdown]
# The ZeRO paper counts these 16 bytes. Megatron-LM counts 18, because it adds gradients up in 32
# bits, which is safer when many micro-batches are accumulated. [Lesson 13](13_sharding.ipynb) shows
# how data-parallel ranks can share all of this, a stage of ZeRO at a time.
#
# ## Memory: activations
#
# Backward needs what forward computed: the **activations**. They grow with the batch, and one part
# of them grows with the square of the sequence. For a GPT, one layer keeps
#
# $$s\,b\,d\,\Bigl(34 + 5\,\frac{h\,s}{d}\Bigr)\ \text{bytes}$$
#
# for $b$ sequences of $s$ tokens, width $d$ and $h$ heads
# ([2205.05198](https://arxiv.org/abs/2205.05198), equation 1, which writes $h$ for the width and
# $a$ for the heads). The second term comes from the scores. A LLaMA's layer is a little different;
# here's what one layer of LLaMA-7B keeps for one sequence of 2,048 tokens:

# %%
rows = kept_by_layer(llama, batch=1, sequence=2048)
for kept in rows:
    print(f"{kept.name:<34}{bytes_text(kept.size):>8}{'   s x s' if kept.scores else ''}")
flash = sum(kept.size for kept in rows if not kept.scores)
print(f"{'in all, and without s x s':<34}{bytes_text(sum(kept.size for kept in rows)):>8}"
      f"{bytes_text(flash):>10}")  # fmt: skip

# %% [markdown]
# The last number is close to what models keep today. **FlashAttention**
# ([2205.14135](https://arxiv.org/abs/2205.14135)) is one kernel that walks through the scores in
# tiles, which stay in the GPU's fast memory. It never writes the $s \times s$ numbers out, and
# computes each tile again in backward. That takes less memory and, because reading and writing was
# the slow part, less time as well.
#
# ## Recomputation, by policy
#
# **Throw activations away after forward, and compute them again when backward needs them.** What
# FlashAttention does to the scores, `torch.utils.checkpoint` does to any function: it keeps the
# function's inputs and nothing from inside. The question is what to wrap, so let's compare four
# policies on six blocks of a small LLaMA. (In Megatron's paper *selective* means the attention
# scores, which FlashAttention recomputes anyway.) Here *full* recomputation wraps whole blocks, and
# the two *selective* policies wrap the MLP, where most of the bytes are, or only its end:

# %% jupyter={"source_hidden": true}
predict(
    "what_training_costs-4",
    "Backward has twice the FLOPs of forward. If every block goes forward a second time, how many "
    "more FLOPs does a step take?",
    "no more: backward needs them anyway",
    "up to a third more",
    "twice as many",
)


# %%
def again(function, *given):
    return checkpoint(function, *given, use_reentrant=False)


def wrap(block, policy):
    mlp, whole = block.mlp, block.mlp.forward
    if policy == "the product in the MLP":
        end = lambda gate, up: mlp.down_proj(torch.nn.functional.silu(gate) * up)  # noqa: E731
        mlp.forward = lambda x: again(end, mlp.gate_proj(x), mlp.up_proj(x))
    if policy == "the MLP":
        mlp.forward = partial(again, whole)
    if policy == "the block":
        block.forward = partial(again, block.forward)


# %%
POLICIES = ("nothing", "the product in the MLP", "the MLP", "the block")
LAYERS, d, s, b = 6, 192, 128, 8
x = torch.randn(b, s, d)


def body(policy):
    torch.manual_seed(0)
    shape = {"dmodel": d, "num_heads": 4, "n_layers": LAYERS, "ctx_size": s}
    net = LLama(CausalLLama, 8, **shape, device="cpu").model
    for block in net.layers:
        wrap(block, policy)
    return net


def step(net):
    """Forward and backward through the blocks; return the processor's seconds."""
    clock = time.process_time()  # what other programs do meanwhile doesn't count
    net.run_layers(x.clone().requires_grad_()).square().mean().backward()
    return time.process_time() - clock


# %%
def kept_for_backward(net, x):
    """Bytes that forward keeps for backward, without the weights."""
    sizes = {}

    def keep(tensor):  # autograd calls it with each tensor that it keeps
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        net.run_layers(x)
    weights = {p.untyped_storage().data_ptr() for p in net.parameters()}
    return sum(size for place, size in sizes.items() if place not in weights)


# %% tags=["time"]
bodies, kept, computed, best, grads = {p: body(p) for p in POLICIES}, {}, {}, {}, {}
for policy, net in bodies.items():
    fresh = x.clone().requires_grad_()
    kept[policy] = kept_for_backward(net, fresh)
    with FlopCounterMode(display=False) as counter:
        step(net)
    computed[policy] = counter.get_total_flops()
    grads[policy] = torch.cat([p.grad.flatten() for p in net.layers.parameters()])
for _ in range(quick(5, 1)):  # in turn, so that all meet the same machine
    for policy, net in bodies.items():
        best[policy] = min(best.get(policy, 9.0), step(net))

# %% tags=["time"]
for policy in POLICIES:
    print(f"again: {policy:23} {kept[policy] / (s * b * d * LAYERS):5.1f} bytes a token, layer and "
          f"unit of width, {computed[policy] / computed['nothing']:.3f} of the FLOPs, "
          f"{1e3 * best[policy]:.0f} ms")  # fmt: skip
for policy in POLICIES[1:]:
    more, slower = (found[policy] / found["nothing"] for found in (computed, best))
    words = f"again: {policy}, seconds over those of nothing"
    claim(words, slower, more, within=0.25, because="not all work is products")
apart = max((grads[p] - grads["nothing"]).abs().max().item() for p in POLICIES)
print(f"largest difference of a gradient: {apart:.1e}")
assert apart < 1e-6
claim("bytes that full recomputation keeps", kept["the block"], 4 * s * b * d * LAYERS)
reveal("what_training_costs-4")

# %% [markdown]
# No gradient changes, and the last claim says how far memory can fall. With full recomputation a
# layer keeps its input and nothing else: 4 bytes for each token and unit of width here, and
# $2\,sbd$ bytes in 16 bits, instead of a GPT's $34\,sbd$. (Only the layer that backward is in has
# all of its activations back: $34\,sbd$ once, not once per layer.)
#
# The price is at most a second forward, so a step takes at most $4/3$ of the FLOPs. Here it's
# $5/4$, because torch stops a second forward as soon as it has the last tensor that backward needs:
# the block's last matrix, a quarter of its products, is never multiplied again. The first selective
# policy repeats no matrix product, so it costs next to nothing here, and saves nearly a third of
# the bytes. So wrap what is large and cheap first, and whole blocks only if you must.
#
# ## MFU, against a real peak
#
# **MFU**, model FLOPs utilization, counts the FLOPs that the model *needs*, three times forward.
# **HFU**, hardware FLOPs utilization, counts those that the device *computes*, including everything
# that's recomputed:
#
# $$\text{MFU} = \frac{\text{model FLOPs}}{\text{seconds} \times \text{devices} \times
# \text{peak}}, \qquad \text{HFU} \le \tfrac{4}{3}\,\text{MFU}.$$
#
# (The $4/3$ counts the products with weights, each repeated at most once.) For a GPU the peak
# stands on a data sheet. For a core we can measure one: the rate of a large matrix product.

# %% tags=["time"]
square, found = torch.randn(1024, 1024), []
for _ in range(quick(8, 2)):
    clock = time.process_time()
    square @ square
    found.append(2 * 1024**3 / (time.process_time() - clock))
peak = max(found)
print(f"peak of one core: {peak / 1e9:.0f} GFLOP/s")
for policy in POLICIES:
    mfu, hfu = (f / best[policy] / peak for f in (computed["nothing"], computed[policy]))
    print(f"again: {policy:23} MFU {mfu:.0%}, HFU {hfu:.0%}")

# %% [markdown]
# With full recomputation MFU falls and HFU hardly changes, because it counts the second forward: a
# high HFU says little about how fast the model trains. Compare MFU, against the same kind of peak:
# a product here reached ours, and on an H100 one reaches two thirds of what the data sheet says.
#
# **A GPT with hidden size 6,144, 48 layers and 64 heads, on 8 A100s (312 TFLOP/s each), takes 1.42
# s for a step of four sequences of 2,048 tokens. What is its MFU, in percent?** Count all attention
# scores and the logits of a vocabulary of 51,200. (Replace `None` with your number, to 1 %.)

# %%
mine = None
answer("what_training_costs-5", mine)

# %% [markdown]
# ## Bytes on the wire
#
# **There are as many gradients as weights, while activations grow with the tokens.** So what each
# kind of parallelism sends depends on the batch in its own way. Data parallelism sends gradients,
# once per step. Tensor parallelism sends activations four times in every layer, for each
# micro-batch. A pipeline sends activations too, but only from one stage to the next, and their
# gradients back.

# %%
volumes, plan = {}, {"micro_batch": 1, "micro_batches": 32, "sequence": 2048}
for name, how in {"DP 8": {"dp": 8}, "TP 8": {"tp": 8}, "PP 8": {"pp": 8}}.items():
    part = 1 if "dp" in how else 8
    volumes[name] = bytes_on_the_wire(llama, count.total / part, **plan, **how).total
    print(f"{name}: {bytes_text(volumes[name]):>8} sent by a GPU in a step of 32 x 2,048 tokens")
equal = 2048 * 32 * volumes["DP 8"] / volumes["TP 8"] / 8
print(f"TP 8 and DP 8 send the same number of bytes in a step of 8 x {equal:,.0f} tokens")

# %% [markdown]
# Real steps have more tokens than that, so in practice tensor parallelism sends more, and it sends
# on the critical path. But bytes alone don't say whether a layout is slow. What counts is what can
# be computed in the meantime, and that's the subject of lesson 10.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A number of FLOPs says little without its convention: which scores, which pass, which batch.
#   Training takes about $6ND$.
# - Mixed precision with Adam takes 16 bytes a parameter, or 18 with gradients in 32 bits.
# - A layer of a GPT keeps $34\,sbd$ bytes of activations without the scores, and $2\,sbd$ if it's
#   recomputed, for at most a third more FLOPs. Recompute first what is large and cheap.
# - MFU counts the FLOPs that the model needs, HFU those that the devices compute.
# - Data parallelism sends gradients once per step, tensor parallelism activations in every layer, a
#   pipeline activations between stages.
#
# ## In the wild
#
# - PaLM 540B reached 46.2 % MFU on 6,144 TPU v4 chips, and introduced the term
#   ([2204.02311](https://arxiv.org/abs/2204.02311), section 4.1).
# - Llama 3 405B took 3.8 × 10²⁵ FLOPs for 15.6 trillion tokens, at 38 to 43 % MFU on 8,192 to
#   16,384 H100s ([2407.21783](https://arxiv.org/abs/2407.21783), sections 3.2 and 3.3.2).
#
# To read in Megatron-LM: `megatron/training/theoretical_memory_usage.py`, whose functions
# `compute_weight_and_optimizer_memory` and `compute_activation_memory` are this lesson in code.
# Find the 18 bytes a parameter, and see how the 34 comes about.
#
# ## Where next
#
# You can count FLOPs and bytes. [Lesson 10](10_rooflines.ipynb) divides one by the other, and finds
# out which messages a layout can hide.
