"""The page docs/rooflines.md: each bound for known models and links, and what known runs used."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench.cluster_model.published import LLAMA_8B, LLAMA_70B, LLAMA_405B
from helpers.cluster.presets import H100
from helpers.cost import parameters, read_config
from helpers.cost.rooflines import (
    data_parallel_tokens,
    expert_width,
    fsdp_tokens,
    layer_weights,
    pipeline_layers,
    ring_attention_tokens,
    tensor_parallel_ranks,
)
from helpers.files import write_whole
from helpers.plain_errors import plain_errors

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rooflines.md"
MODELS = {
    "Llama 3 8B": LLAMA_8B,
    "Llama 3 70B": LLAMA_70B,
    "Llama 3 405B": LLAMA_405B,
    "Mixtral 8x7B": read_config(ROOT / "EP/configs/mixtral_8x7b.json"),
    "DeepSeek-V3": read_config(ROOT / "EP/configs/deepseek_v3.json"),
}
LLAMA, MIXTRAL, DEEPSEEK = (MODELS[n] for n in ("Llama 3 405B", "Mixtral 8x7B", "DeepSeek-V3"))
PEAK, REACHED = H100.peak, 400e12  # FLOP/s; the H800 computes as fast as the H100
CARD = H100.between.bandwidth
CARDS = min(H100.node * CARD, H100.inside.bandwidth)
LINKS = {  # bytes/s that one device sends
    "H100, in the node": H100.inside.bandwidth,
    "400 Gbit/s, one card": CARD,
    "400 Gbit/s, a node's eight cards": CARDS,
    "H800, in the node": 200e9,  # NVLink of 400 GB/s, both directions together
}
ALONE = [link for link in LINKS if "eight" not in link]  # where each device sends for itself
EP = {"Mixtral 8x7B": 8, "DeepSeek-V3": 64}  # ranks that share the experts
BATCH = 2048 * 8192  # tokens of a step of Llama 3 405B

# What runs used; the numbers in brackets are the page's sources.
DATA = {
    "Llama 3 405B": "131,072: dp 128, tp 8, pp 16, 16,384 H100 [1]",
    "Mixtral 8x7B": "65,536: dp 16, ep 8, pp 4, 64 H100 [3]",
    "DeepSeek-V3": "491,520: dp 128, ep 64, pp 16, 2,048 H800 [4]",
}
SHARDED = {
    "Llama 3 8B": "16,384: 8 H100, and 128 [2]",
    "Llama 3 70B": "131,072: tp 8, so one card; 256 H100 [2]",
    "Llama 3 405B": "kept after forward, not gathered again [1]",
    "DeepSeek-V3": "ZeRO-1, gathered once a step [4]",
}
CUT = {
    "Llama 3 8B": "1 [2]",
    "Llama 3 70B": "8, in the node [2]",
    "Llama 3 405B": "8, in the node [1]",
    "Mixtral 8x7B": "1 [3]",
    "DeepSeek-V3": "1 [4]",
}
RING = {
    "Llama 3 8B": "32,768: cp 8, in the node [2]",
    "Llama 3 405B": "8,192: cp 16, between nodes, gathered [1]",
}
EXPERTS = (  # model, what a token sends, the options that say so, what a run used
    ("Mixtral 8x7B", "2 copies, 2 bytes", {}, "14,336: ep 8, in the node [3]"),
    ("DeepSeek-V3", "8 copies, 2 bytes", {}, ""),
    ("DeepSeek-V3", "4 copies, 2 bytes", {"copies": 4}, ""),
    (
        *("DeepSeek-V3", "4 copies, dispatch of 1 byte", {"copies": 4, "dispatch": 1}),
        "2,048: ep 64, on 8 nodes [4]",
    ),
)
STAGES = {
    "Llama 3 405B": "about 8: 126 on 16 stages [1]",
    "Mixtral 8x7B": "8, in chunks of 1 [3]",
    "DeepSeek-V3": "about 4: 61 on 16 stages [4]",
}
TEXT = """\
# When sending takes as long as computing

Made by `python -m helpers.cost.rooflines`. Do not edit.

**Llama 3 405B had too few tokens for data parallelism alone, and DeepSeek-V3's experts are too
narrow for its network unless their messages are cut.** Llama's batch of 2,048 sequences leaves each
of 16,384 GPUs {alone:,.0f} tokens, an eighth of a sequence. If all of them shared the weights
(FSDP, with gradients of 4 bytes, as this run sums them), hiding the messages would take
{fsdp4[0]:,.0f} tokens at peak, and {fsdp4[1]:,.0f} at the rate that the run reached. With tensor
parallelism of 8 and 16 stages, a replica has 131,072 tokens, and data parallelism needs {dp4:,.0f}.

DeepSeek's experts are 2,048 wide. If a token is sent to each of its eight experts in 2 bytes,
sending takes as long as the experts compute at a width of {wide:,.0f}, at the rate that the run
reached. Sent to at most four nodes, and there in 1 byte (results come back in 2), {narrow:,.0f} are
enough.

Each number below makes bytes / B equal to FLOPs / F. Where it is a lower bound (for tokens, widths
and layers), messages can hide behind computing above it; below it they can't, however well they
overlap. Tensor parallelism and experts wait for their messages, so nothing hides by itself there,
and at the bound a layer takes twice as long. `helpers/cost/rooflines.py` derives each bound and
computes it for a model, a device and a link of your own. Tests hold them against counted bytes and
FLOPs, those of four ranks that really send among them.

## F and B

F is the FLOP/s of one device. At peak it is {peak:g} TFLOP/s in 16 bits, by the data sheet of H100
and H800 alike; reached are {reached:g} in a whole step, about what Llama 3 405B [1] and DeepSeek-V3
[5] did. B is the bytes/s that a device sends while it receives as many, by the data sheet in both
cases. Collectives reach 70 to 80 % of it ([cluster_model.md](cluster_model.md)), which raises every
lower bound by a fifth to two fifths. Each cell says: at peak / reached.

{intensity}
Each GPU has a network card of its own. A ring over several nodes with all GPUs of each can use all
eight cards, because each byte has to reach a node only once, so it is as fast as eight cards. A
group with one GPU on each node has one card, and such are the replicas beside tensor parallelism of
8. All-to-alls and rings of attention send other bytes from each GPU, so they too have one card
each. Between nodes an H800 is an H100: the same card, the same peak.

## Data parallel: tokens of a replica and step

Tokens >= F/B for gradients of 2 bytes. For 4 bytes it is twice that, but F/B again if the optimizer
is sharded (ZeRO-1): gradients are then only scattered, and the new weights, of 2 bytes, travel
beside the next forward pass. All micro-batches of the step count, because gradients are sent once.
They are sent when the last one goes backward, so hiding all of them takes that many tokens in the
last one alone; with that many in the step, sending takes as long as the step's backward passes.
Every dense model has the same bound. Of experts, a rank averages all that it holds, so they have to
be shared: ep 8 and ep 64 here. With all eight on each rank, Mixtral would need {spread:.1f} times
as many tokens.

{data}
## FSDP: tokens of a rank and micro-batch

The same F/B, but for each micro-batch, because each gathers the weights again; 1.5 times that for
gradients of 4 bytes. With tensor parallelism, the tokens are those that its ranks work on together.

{fsdp}
## Tensor parallel with sequence parallel: ranks

Ranks <= 1 + (3/8) ((2 + 2g/h) d + 3f) B/F, for hidden d, intermediate f and g key heads for h query
heads. The length of the sequence cancels. Experts are taken to be cut as well, and those count that
a token chooses.

{tensor}
Below the bound, messages take (ranks - 1) / (bound - 1) of the time of the products: for 405B and 8
ranks in the node {tensor8[0]:.0%} at peak and {tensor8[1]:.0%} reached.

## Ring attention: tokens of a rank

s/P >= 2 (g/h) F/B with a causal mask, forward, and half of that without. Backward needs 0.8 of it.
The batch and the number of ranks cancel.

{ring}
The 8,192 tokens of Llama 3 405B would have hidden a ring's messages. It gathered keys and values
before the attention instead, which is simpler with masks that keep documents apart [1]. By the same
count that adds {gather[0]:.0%} to the time of the scores at peak, and {gather[1]:.0%} reached.
DeepSeek-V3 has as many key heads as query heads; its latent has {latent:.1%} of their size.

## Experts: their width

f >= (8/18) F/B, from which d, the tokens and the number of chosen experts cancel. The dispatch may
have fewer bytes than what comes back, and a token may be sent once to a node instead of once to an
expert.

{experts}
Only the routed experts are counted here. Attention and the shared expert compute too, and can hide
the messages of another micro-batch, as in DualPipe. With them, eight copies of 2 bytes between
nodes take {ratio:.2f} times as long as computing at the reached rate; the report says
"approximately 1:1", not for which rates [4].

## Pipelines: layers of a stage

Layers >= F/B over ((2 + 2g/h) d + 3f), forward. A single layer is enough for each of these models:
what a pipeline loses is its bubble.

{pipeline}
## Left out

The latency of a message, recomputation, embedding and logits, and the attention scores except for
rings. Scores and recomputation add computing, which lowers the bounds for tokens; latency
raises all lower bounds, most of all for small messages. Products in 8 bits double F and with it
every lower bound. How fast a run is, all together, is [another page](cluster_model.md).

## Sources

1. Llama 3: arXiv 2407.21783, sections 3.3.1 and 3.3.2, and table 4: 2,048 sequences of 8,192 on
   16,384 H100 at 400 TFLOP/s; 128 of 131,072 with context parallelism; 400 Gbit/s for each GPU;
   gradients reduced in 4 bytes; weights kept after the forward pass.
2. torchtitan, `benchmarks/llama3_h100_202412_torchtitan.md`: 2 sequences of 8,192 a GPU (8B);
   16 for each 8 GPUs (70B); a sequence of 262,144 on 8 GPUs.
3. Megatron-LM, `megatron/core/transformer/moe/README.md`, its reference layout: 256 sequences of
   4,096. It advises keeping experts and tensor parallelism inside the node.
4. DeepSeek-V3: arXiv 2412.19437, sections 3.2, 3.3.3 and 4.2: 15,360 sequences of 4,096; at most 4
   nodes for a token; dispatch in FP8, combine in BF16. It counts on 160 of the 200 GB/s of NVLink.
5. DeepSeek-AI, "Insights into DeepSeek-V3", arXiv 2505.09343.
"""


def page() -> str:
    """Return the whole page, in Markdown."""
    latent = DEEPSEEK.latent
    keys = DEEPSEEK.heads * (latent.nope + latent.rope + latent.value)
    routed = DEEPSEEK.moe.chosen * parameters(DEEPSEEK).expert
    wide = expert_width(DEEPSEEK, REACHED, CARD)
    apart = [data_parallel_tokens(MIXTRAL, PEAK, CARD, ep=ep) for ep in (1, 8)]
    sharded, tensor, gathered = [], [], []
    for rate in (PEAK, REACHED):
        sharded.append(fsdp_tokens(LLAMA, rate, CARDS, gradient=4))
        tensor.append(7 / (tensor_parallel_ranks(LLAMA, rate, H100.inside.bandwidth) - 1))
        gathered.append(ring_attention_tokens(LLAMA, rate, CARD, ranks=16) / 8192)
    return TEXT.format(
        peak=PEAK / 1e12,
        reached=REACHED / 1e12,
        alone=BATCH / 16384,
        fsdp4=sharded,
        dp4=data_parallel_tokens(LLAMA, PEAK, CARD, gradient=4, sharded=True),
        wide=wide,
        narrow=expert_width(DEEPSEEK, REACHED, CARD, copies=4, dispatch=1),
        ratio=wide / DEEPSEEK.moe.intermediate * routed / layer_weights(DEEPSEEK),
        intensity=_intensity(),
        spread=apart[0] / apart[1],
        data=_table(data_parallel_tokens, DATA, LINKS, shared=True),
        fsdp=_table(fsdp_tokens, SHARDED, LINKS, shared=True),
        tensor=_table(tensor_parallel_ranks, CUT, ALONE, digits=1),
        tensor8=tensor,
        ring=_table(ring_attention_tokens, RING, ALONE),
        gather=gathered,
        latent=(latent.kv_rank + latent.rope) / keys,
        experts=_experts(),
        pipeline=_table(pipeline_layers, STAGES, ALONE, digits=2),
    )


def _intensity() -> str:
    rows = [
        (link, f"{speed / 1e9:g} GB/s", f"{PEAK / speed:,.0f} / {REACHED / speed:,.0f}")
        for link, speed in LINKS.items()
    ]
    return _rows(("link", "B", "F/B, FLOPs a byte"), rows)


def _table(
    bound: Callable,
    used: dict[str, str],
    links: Iterable[str],
    digits: int = 0,
    shared: bool = False,
) -> str:
    """Return the bound of each model on each link, and what a run used.

    shared: whether the bound depends on how many ranks share the experts.
    """
    rows = []
    for name in MODELS:
        ep = EP.get(name, 1)
        options = {"ep": ep} if shared else {}
        cells = [_cell(bound, name, link, digits, **options) for link in links]
        rows.append(
            (name if ep == 1 or not shared else f"{name}, ep {ep}", *cells, used.get(name, ""))
        )
    return _rows(("model", *links, "a run used"), rows)


def _experts() -> str:
    rows = []
    for name, sends, options, run in EXPERTS:
        cells = [_cell(expert_width, name, link, 0, **options) for link in ALONE]
        rows.append((name, sends, *cells, run))
    return _rows(("model", "a token sends", *ALONE, "a run used"), rows)


def _cell(bound: Callable, name: str, link: str, digits: int, **options) -> str:
    both = (bound(MODELS[name], rate, LINKS[link], **options) for rate in (PEAK, REACHED))
    return " / ".join(f"{value:,.{digits}f}" for value in both)


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(arguments: Sequence[str]) -> None:
    about = "Write docs/rooflines.md: where sending takes as long as computing."
    parser = argparse.ArgumentParser(prog="python -m helpers.cost.rooflines", description=about)
    parser.parse_args(arguments)
    write_whole(PAGE, page())
    print(f"{PAGE.name}: {len(MODELS)} models on {len(LINKS)} links")


if __name__ == "__main__":
    with plain_errors():
        main(sys.argv[1:])
