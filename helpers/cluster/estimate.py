"""A step in closed form: seconds, utilization, memory; simulated; in bars; and the fastest.

Layers are taken to be alike: where the first ones have no experts, each has the mean of them all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

from helpers import draw
from helpers.cluster import parts
from helpers.cluster.layer import layer_seconds, loss_seconds
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.parts import Memory
from helpers.cost import ModelConfig, flops, layer_activations
from helpers.cost.model import is_size
from helpers.schedules import interleaved, one_f_one_b
from helpers.simulate import Costs, OutOfMemory, Simulated, simulate
from helpers.words import bytes_text, percent, time_text

MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CHUNKS = (1, 2, 3, 4, 6, 8)
TRIED = {
    "recompute": ("none", "selective", "full"),
    "zero": (0, 1),
    "sequence_parallel": (False, True),
}
CURES = {
    "weights": "cut the model further: a larger tp or pp, or ZeRO 3",
    "gradients": "cut the model further, or choose ZeRO 2",
    "optimizer": "choose ZeRO 1, or cut the model further",
    "activations": "recompute more, or choose a smaller micro-batch or a larger tp",
    "working": "choose a smaller micro-batch or a larger tp",
}


class Utilisation(NamedTuple):
    """Shares of the peak, 0 to 1 (arXiv 2205.05198, section 6.3)."""

    mfu: float  # of the FLOPs that the model needs
    hfu: float  # of those that the devices computed, recomputation included


@dataclass(frozen=True, repr=False)
class Estimate:
    """One training step of a model on a machine; what isn't asked for isn't computed."""

    model: ModelConfig
    layout: Layout
    machine: Machine

    def __repr__(self) -> str:
        return (
            f"<{self.layout} on {self.machine.name}: {time_text(self.seconds)}, MFU "
            f"{percent(self.utilisation.mfu)}, {bytes_text(self.memory.total)} a device>"
        )

    @cached_property
    def work(self) -> tuple[list, list]:
        """Seconds of one micro-batch, forward and backward, of each of the pp x chunks stages."""
        of = self.model, self.layout, self.machine
        ways, counts = [], self.layout.stage_layers(self.model.layers)
        for one, end in zip(layer_seconds(*of), loss_seconds(*of), strict=True):
            stages = [one * count for count in counts]
            stages[-1] += end
            if self.layout.dualpipe:  # half of the micro-batches of each of its two stages
                stages = [(a + b) * 0.5 for a, b in zip(stages, reversed(stages), strict=True)]
            ways.append(stages)
        return ways[0], ways[1]

    @cached_property
    def message(self) -> float:
        """Seconds of one message between two stages, which nothing hides but a DualPipe."""
        return parts.pipeline_seconds(self.model, self.layout, self.machine)

    @cached_property
    def stages(self) -> list[float]:
        """Seconds that each stage needs for one micro-batch, messages among it."""
        return [f.total + b.total + 2 * self.message for f, b in zip(*self.work, strict=True)]

    @cached_property
    def ranks(self) -> list[float]:
        """Seconds that each rank of a pipeline needs for one micro-batch, in all its stages."""
        return [sum(self.stages[rank :: self.layout.pp]) for rank in range(self.layout.pp)]

    @cached_property
    def fill(self) -> float:
        """The bubble of the slowest rank: what the step takes longer than its own work.

        One micro-batch passes the first stage of every other rank before the slowest rank begins,
        and after it has ended; if one of these stages is longer, the others of its round come at
        its pace. With fewer micro-batches than ranks a round is over before it comes back to the
        next chunk: all stages then follow each other, as if each had a rank of its own.

        DualPipe: (p/2 - 1)(F&B + B - 3W) (arXiv 2412.19437, table 2), where F&B is a forward pass
        beside a backward pass B, and W, the gradients of weights, half of B's products.
        """
        p, m, stages = self.layout.pp, self.layout.micro_batches, self.stages
        if self.layout.dualpipe:
            pair, back = max(zip(stages, self.work[1], strict=True), key=lambda one: one[0])
            return (p / 2 - 1) * (pair + back.total - 1.5 * back.matmul)
        longest, first = max(self.ranks), stages[:p]
        own = first[self.ranks.index(longest)]
        begin = sum(first) - own + (self.layout.longest_round - 1) * (max(first) - own)
        return max(begin, sum(stages) + (m - 1) * max(stages) - m * longest)

    @cached_property
    def reduce(self) -> float:
        """Seconds of averaging the gradients, after the last micro-batch, where most are."""
        ranks = parts.rank_shares(self.model, self.layout)
        share = max(ranks, key=lambda each: each.weights)
        if self.layout.zero == 3:
            ways = layer_seconds(self.model, self.layout, self.machine)
            return parts.fsdp_seconds(self.layout, self.machine, share, *(w.total for w in ways))
        backward = sum(one.total for one in self.work[1][ranks.index(share) :: self.layout.pp])
        return parts.replicas_seconds(self.layout, self.machine, share, backward)

    @cached_property
    def causes(self) -> dict[str, float]:
        """{what for: seconds} on the slowest device; they add up to `seconds`. The all-to-alls of
        experts are among the tensor-parallel messages."""
        p, m = self.layout.pp, self.layout.micro_batches
        slowest = self.ranks.index(max(self.ranks))
        work = [one for way in self.work for one in way[slowest::p]]
        return {
            "matrix products": m * sum(w.matmul for w in work),
            "other kernels": m * sum(w.memory for w in work),
            "tensor-parallel messages": m * sum(w.network for w in work),
            "waiting for the host": m * sum(w.total - w.device for w in work),
            "pipeline messages": m * len(work) * self.message,
            "bubble": self.fill,
            "averaging gradients": self.reduce,
            "update": parts.update_seconds(self.model, self.layout, self.machine),
            "rest": self.machine.step,
        }

    @property
    def seconds(self) -> float:
        """Of a step: the slowest rank computes all micro-batches, and the bubble."""
        return sum(self.causes.values())

    @property
    def tokens_per_second(self) -> float:
        return self.layout.batch * self.layout.sequence / self.seconds

    @property
    def utilisation(self) -> Utilisation:
        """MFU and HFU. All attention scores count, as in the papers on Megatron."""
        step = flops(self.model, self.layout.batch, self.layout.sequence)
        room = self.seconds * self.layout.gpus * self.machine.peak
        return Utilisation(step.model / room, step.hardware(self.layout.recompute) / room)

    @cached_property
    def memory(self) -> Memory:
        return parts.memory(self.model, self.layout)

    @property
    def fits(self) -> bool:
        return self.memory.total <= self.machine.memory

    def require_room(self) -> "Estimate":
        """Return the estimate itself if it fits; raise OutOfMemory, one sentence, if not."""
        if self.fits:
            return self
        part, size = max(vars(self.memory).items(), key=lambda item: item[1])
        shared = self.layout.replicas > 1 or part == "activations"  # else ZeRO shares nothing out
        cure = CURES[part] if shared else "cut the model further, over more devices"
        raise OutOfMemory(
            f"{self.layout} needs {bytes_text(self.memory.total)} a device, and the "
            f"{self.machine.name} has {bytes_text(self.machine.memory)}: {bytes_text(size)} of it "
            f"is {part}; {cure}"
        )

    @cached_property
    def simulated(self) -> Simulated:
        """One pipeline of 1F1B in the simulator: time, bubble, memory of activations, trace. A rank
        computes nothing while it sends: messages are part of the F or B before them."""
        model, layout = self.model, self.layout
        if layout.dualpipe:
            raise ValueError(
                "a DualPipe has a closed form only: each of its stages is on two ranks, and a "
                "schedule has it on one; helpers.schedules.dualpipe_v, its half, can be simulated"
            )
        sizes = layout.pp, layout.micro_batches
        forward, backward = ([w.total + self.message for w in way] for way in self.work)
        each = layer_activations(model, *layout.kept)
        update = self.causes["update"] + self.causes["rest"]
        return simulate(
            interleaved(*sizes, layout.chunks) if layout.chunks > 1 else one_f_one_b(*sizes),
            Costs(
                forward=forward,
                input_grad=[seconds / 2 for seconds in backward],
                weight_grad=[seconds / 2 for seconds in backward],
                message_bytes=2.0 * layout.tokens * model.hidden / layout.tp,
                activation_bytes=[each * n for n in layout.stage_layers(model.layers)],
                all_reduce=self.reduce / layout.chunks,
                update=update / layout.chunks,
            ),
        )


def estimate(
    model: ModelConfig, layout: Layout, machine: Machine, gpus: int | None = None
) -> Estimate:
    """Return one step in closed form, in well below a millisecond; gpus: how many there are.

    Raises ValueError, one sentence, for a layout that the model or the devices cannot be cut into.
    One that does not fit into memory is no error here: see `Estimate.require_room`.
    """
    return Estimate(model, layout.for_model(model, gpus), machine)


def layouts(
    model: ModelConfig, machine: Machine, gpus: int, batch: int, sequence: int | None = None, **same
) -> Iterator[Layout]:
    """Yield all layouts that the model and the devices can be cut into.

    Tensor parallelism stays inside a node, and chunks come with a number of micro-batches that the
    stages divide, as Megatron-LM demands (`Layout` itself takes any number). Of ZeRO: 0 and 1.
    same: fields that all of them have, as ``flash=True``, ``zero=3``, ``cp=2`` or ``ep=8``.
    """
    free = {name: choices for name, choices in TRIED.items() if name not in same}
    divisors, cp = [d for d in range(1, gpus + 1) if gpus % d == 0], same.get("cp", 1)
    for tp, pp, micro in product(divisors, divisors, MICRO_BATCHES):
        dp = gpus // (tp * pp * cp)
        if tp > machine.node or dp * tp * pp * cp != gpus or batch % (dp * micro):
            continue
        for chunks, *chosen in product(CHUNKS, *free.values()):
            fields = dict(zip(free, chosen, strict=True))
            alone = fields.get("zero") and dp * cp == 1
            whole = fields.get("sequence_parallel") and tp == 1
            if alone or whole or (chunks > 1 and batch // (dp * micro) % pp):
                continue
            sizes = batch, sequence or model.positions, dp, pp, tp, chunks, micro
            try:
                yield Layout(*sizes, **fields, **same).for_model(model)
            except ValueError:
                continue


def search(
    model: ModelConfig, machine: Machine, gpus: int, batch: int, sequence: int | None = None, **same
) -> list[Estimate]:
    """Return all layouts that fit into memory, the fastest first; same: see `layouts`. Raises
    ValueError, one sentence, where there is no layout, or none fits."""
    if not is_size(gpus):
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    every = layouts(model, machine, gpus, batch, sequence, **same)
    every = [Estimate(model, layout, machine) for layout in every]
    if not every:
        words = f"no layout cuts {model.layers} layers, {model.heads} heads and the batch evenly"
        cure = "choose a batch or devices with more divisors"
        raise ValueError(f"a batch of {batch} on {gpus} devices: {words}; {cure}")
    found = [each for each in every if each.fits]
    if not found:
        min(every, key=lambda each: each.memory.total).require_room()
    return sorted(found, key=lambda each: each.seconds)


def memory_bars(estimates: Mapping[str, Estimate], title: str = ""):
    """Draw the memory of each estimate; the line is what the first one's device has."""
    rows = {name: vars(e.memory) for name, e in estimates.items()}
    machine = next(iter(estimates.values())).machine
    return draw.bars(rows, title, limit=machine.memory, limit_name=f"{machine.name}:")


def time_bars(estimates: Mapping[str, Estimate], title: str = ""):
    """Draw the time of each estimate's step; what is below 1 % in every row joins "rest"."""
    large = {c for e in estimates.values() for c, s in e.causes.items() if s >= 0.01 * e.seconds}
    rows = {}
    for name, e in estimates.items():
        rows[name] = {cause: s for cause, s in e.causes.items() if cause in large | {"rest"}}
        rows[name]["rest"] += e.seconds - sum(rows[name].values())
    return draw.bars(rows, title, text=time_text)
