"""Every script that trains on ranks is one device: its losses, its weights, and what it sends.

With SGD and in float64, so that only the order of additions differs: nothing by more than 1e-11.
All runs of one number of ranks share a launch; where that fails each is run alone, to be named.
"""

import functools
import re

import pytest
import torch

from helpers.check.task import ROOT, load_module
from helpers.ranks import RankFailed, launch
from helpers.schedules import gpipe, interleaved, one_f_one_b
from simplellm.blocks import attend
from simplellm.moe import Experts, give_experts
from simplellm.options import make_model, make_tokenizer
from tests.orders import planned, recorded
from tests.scripts import be_silent, on_rank

pytestmark = pytest.mark.ranks

FLAGS = "--dmodel 24 --heads 6 --layers 4 --seq-l 16 --steps 3 --optimizer sgd --lr 0.5"
GRADIENTS, WEIGHTS = "DP/gradient_aggr/intro_DP_GA.py", "DP/weight_aggr/intro_DP_WA.py"
DDP, ZERO, EP = "DP/ddp/intro_DDP.py", "DP/zero/intro_ZeRO.py", "EP/experts/intro_EP.py"
NAIVE, GPIPE = "PP/naive/intro_PP_naive.py", "PP/microbatches/intro_PP_microbatches.py"
ONE_F_ONE_B, SCHEDULE = "PP/1F1B/intro_PP_1F1B.py", "PP/schedules/intro_PP_schedule.py"
DP_PP, SURVIVAL = "DP_PP/intro_DP_PP.py", "DP_PP/survival/intro_survival.py"
TP = "TP/llama/intro_TP.py"
RING, ULYSSES = "CP/ring/intro_CP_ring.py", "CP/ulysses/intro_CP_ulysses.py"
# A script, its ranks, how many of them read stories of their own, the batch of one device, flags.
RUNS = {
    "gradients": (GRADIENTS, 3, 3, 3, ""),
    "weights": (WEIGHTS, 3, 3, 3, ""),
    "DDP, flat": (DDP, 2, 2, 2, "--average flat"),
    "DDP, hooks": (DDP, 2, 2, 2, "--average hooks"),
    "DDP, buckets": (DDP, 2, 2, 2, "--average buckets --bucket-mb 0.01"),
    "DDP, torch's": (DDP, 2, 2, 2, "--average ddp --bucket-mb 0.01"),
    "ZeRO 0": (ZERO, 2, 2, 2, "--stage 0"),
    "ZeRO 1": (ZERO, 2, 2, 2, "--stage 1"),
    "ZeRO 2": (ZERO, 2, 2, 2, "--stage 2"),
    "ZeRO 3": (ZERO, 2, 2, 2, "--stage 3"),
    "naive": (NAIVE, 4, 1, 3, "--batch-size 3"),
    "GPipe": (GPIPE, 3, 1, 6, "--batch-size 6 --micro-batches 3"),
    "GPipe, few": (GPIPE, 4, 1, 2, "--batch-size 2 --micro-batches 2"),
    "GPipe, waves": (GPIPE, 2, 1, 6, "--batch-size 3 --waves 2"),
    "1F1B, alone": (ONE_F_ONE_B, 1, 1, 2, "--batch-size 2 --micro-batches 2"),
    "1F1B": (ONE_F_ONE_B, 3, 1, 6, "--batch-size 6 --micro-batches 6"),
    "1F1B, few": (ONE_F_ONE_B, 4, 1, 2, "--batch-size 2 --micro-batches 2"),
    "1F1B, waves": (ONE_F_ONE_B, 2, 1, 6, "--batch-size 3 --waves 2"),
    "DP x PP": (DP_PP, 4, 2, 12, "--batch-size 6 --stages 2 --micro-batches 3"),
    "DP x PP, no PP": (DP_PP, 2, 2, 12, "--batch-size 6 --stages 1 --micro-batches 2"),
    "DP x PP, no DP": (DP_PP, 3, 1, 6, "--batch-size 6 --stages 3 --micro-batches 2"),
    "survival": (SURVIVAL, 4, 1, 6, "--batch-size 6 --stages 2 --checkpoints build/none --every 9"),
    "interleaved": (SCHEDULE, 2, 1, 6, "--layers 6 --schedule interleaved"),
    "mine": (SCHEDULE, 2, 1, 6, "--layers 6 --schedule mine"),
    "breadth-first": (SCHEDULE, 2, 1, 6, "--layers 6 --schedule breadth-first"),
    "ZB-V": (SCHEDULE, 2, 1, 6, "--layers 6 --schedule ZB-V"),
    "searched": (SCHEDULE, 2, 1, 6, "--layers 6 --schedule searched"),
    "TP of 1": (TP, 1, 1, 3, ""),
    "TP of 3": (TP, 3, 1, 3, ""),
    "ring of 4": (RING, 4, 1, 2, "--batch-size 2"),
    "ring of 4, contiguous": (RING, 4, 1, 2, "--batch-size 2 --layout contiguous"),
    "ring x DP": (RING, 4, 2, 2, "--cp 2"),
    "ring, apart": (RING, 4, 2, 2, "--cp 2 --seq-l 256 --apart"),
    "Ulysses": (ULYSSES, 3, 1, 2, "--batch-size 2 --seq-l 18"),
    "Ulysses x DP": (ULYSSES, 4, 2, 2, "--cp 2"),
    "Ulysses, apart": (ULYSSES, 4, 2, 2, "--cp 2 --seq-l 256 --apart"),
    "gather": (ULYSSES, 4, 1, 2, "--batch-size 2 --way gather"),
    "gather, apart": (ULYSSES, 4, 2, 2, "--cp 2 --way gather --seq-l 256 --apart"),
    "EP of 4": (EP, 4, 4, 4, "--layers 2 --experts 4"),
    "EP of 2 x DP": (EP, 4, 4, 4, "--layers 2 --experts 4 --ep 2"),
    "EP of 1 x DP": (EP, 4, 4, 4, "--layers 2 --experts 4 --ep 1 --shared 1"),
}  # fmt: skip
MOST = 1e-11  # float64, so that only the order of additions differs
OF_ONE_DEVICE = r"--(?:layers|seq-l) \d+"  # what it takes of a run's flags


def train(runs):
    torch.set_default_dtype(torch.float64)
    return {name: on_rank(run[0], [*FLAGS.split(), *run[4].split()]) for name, run in runs.items()}


@functools.cache
def trained(ranks, only=None):
    """Of all runs on so many ranks, or of one: what each rank found, or what went wrong."""
    runs = {name: run for name, run in RUNS.items() if run[1] == ranks and only in (None, name)}
    try:
        found = launch(train, ranks, (runs,), quiet=True, timeout=400)
    except RankFailed as failed:
        return {only: failed} if only else {name: trained(ranks, name)[name] for name in runs}
    return {name: [rank[name] for rank in found] for name in runs}


def of_ranks(name):
    found = trained(RUNS[name][1])[name]
    if isinstance(found, RankFailed):
        pytest.fail(f"{RUNS[name][0]}: {found}", pytrace=False)
    return found


@functools.cache
def one_device(replicas, batch, sizes, experts=None, apart=False):
    """The losses and weights of primer/intro.py, which reads what the replicas read."""
    flags = f"{FLAGS} --batch-size {batch} --like-ranks {replicas} {sizes} --device cpu"
    intro = load_module(ROOT / "primer/intro.py", "intro")
    torch.set_default_dtype(torch.float64)
    try:
        options = intro.read_flags(flags.split())
        torch.manual_seed(options.seed)
        tokenizer = make_tokenizer(options)
        net = make_model(options, tokenizer, "cpu")
        if experts:
            give_experts(net, experts)
        if apart:
            net.model.register_forward_pre_hook(functools.partial(look_apart, tokenizer.eos_id))
        losses, net, _ = intro.train(options, be_silent, net)
    finally:
        torch.set_default_dtype(torch.float32)
    return losses, net.state_dict()


def look_apart(end, model, inputs):
    """Let no story look at an earlier one in its window: a mask written out."""
    ids = inputs[0]
    story = (ids == end).cumsum(1) - (ids == end).long()
    mask = (story[:, :, None] == story[:, None, :]).tril()[:, None]
    for block in model.layers:
        block.self_attn.mix = lambda q, k, v, **_: attend(q, k, v, mask=mask)


def right_of(name):
    script, _, replicas, batch, flags = RUNS[name]
    sizes = " ".join(re.findall(OF_ONE_DEVICE, flags))
    experts = Experts(4, 2, shared="--shared" in flags) if script == EP else None
    return one_device(replicas, batch, sizes, experts, "--apart" in flags)


def copies_of(name, weight):
    """How many ranks have a weight, or a part of it."""
    script, ranks, replicas, _, flags = RUNS[name]
    if ".experts." in weight:
        return ranks // int(([4] + re.findall(r"--ep (\d)", flags))[-1])
    return ranks if script in (TP, RING, ULYSSES) else replicas


@pytest.mark.parametrize("name", RUNS)
def test_a_script_is_one_device(name):
    found, (losses, right) = of_ranks(name), right_of(name)
    if "--waves" not in RUNS[name][4]:  # of several waves, the last one's loss is said
        said = [each for each, _, _ in found if each]
        means = [sum(step) / len(said) for step in zip(*said, strict=True)]
        assert means == pytest.approx(losses, abs=MOST)
    if RUNS[name][0] in (ZERO, SURVIVAL):
        return
    assert set().union(*(weights for _, weights, _ in found)) == set(right)
    for key, weight in right.items():
        parts = [weights[key] for _, weights, _ in found if key in weights]
        assert len(parts) == copies_of(name, key), key
        if parts[0].shape != weight.shape:  # tensor parallel
            cut = [a != b for a, b in zip(parts[0].shape, weight.shape, strict=True)].index(True)
            parts = [torch.cat(parts, cut)]
        for part in parts:
            assert (part - weight).abs().max() <= MOST, key


def test_stories_that_do_not_look_at_each_other_are_another_model():
    apart, whole = (one_device(2, 2, "--seq-l 256", None, a) for a in (True, False))
    assert abs(apart[0][0] - whole[0][0]) > 1e-6


IN_A_ROW = [name for name, run in RUNS.items() if run[0] in (NAIVE, GPIPE, ONE_F_ONE_B, DP_PP)]


@pytest.mark.parametrize("name", IN_A_ROW)  # rank r holds stage r
def test_every_message_is_recorded_by_who_sends_it_and_by_who_receives_it(name):
    _, ranks, replicas, *_ = RUNS[name]
    stages = ranks // replicas
    events = [(n, e) for n, (_, _, trace) in enumerate(of_ranks(name)) for e in trace.events]
    sent = sorted((rank, e.info["peer"]) for rank, e in events if e.kind == "send")
    assert sent == sorted((e.info["peer"], rank) for rank, e in events if e.kind == "recv")
    links = [(n, n + 1) for n in range(ranks - 1) if (n + 1) % stages]
    assert set(sent) == {pair for a, b in links for pair in ((a, b), (b, a))}


@pytest.mark.parametrize(
    ("name", "right"),
    [("GPipe", gpipe(3, 3)), ("1F1B", one_f_one_b(3, 6)), ("interleaved", interleaved(2, 6))],
)
def test_the_order_of_actions_is_the_schedule(name, right):
    first, *others = (trace for _, _, trace in of_ranks(name))
    assert recorded(first.merged(*others)) == [3 * actions for actions in planned(right)]


@pytest.mark.parametrize("name", ["DDP, buckets", "DDP, torch's"])
def test_gradients_leave_while_backward_goes_on(name):
    for _, _, trace in of_ranks(name):
        backward = [e for e in trace.events if e.kind == "B"][-1]
        sent = [e for e in trace.events if e.kind == "all-reduce"]
        assert len({e.name for e in sent}) > 1
        assert any(backward.start < e.start < backward.end for e in sent)
