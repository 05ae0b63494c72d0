"""Model, layout, machine -> seconds, utilisation, memory, the step on a clock, and its bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.parts import Memory, Parts, layer_kept, memory, parts
from helpers.cost import ModelConfig, Utilisation, flops, utilisation
from helpers.schedules import interleaved, one_f_one_b
from helpers.simulate import Costs, OutOfMemory, Simulated, simulate
from helpers.words import bytes_text, percent, time_text


@dataclass(frozen=True, repr=False)
class Estimate:
    """One training step of a model on a machine. seconds: by the closed form of 1F1B."""

    model: ModelConfig
    layout: Layout
    machine: Machine
    parts: Parts
    memory: Memory
    seconds: float

    def __repr__(self) -> str:
        return (
            f"<{self.layout} on {self.machine.name}: {time_text(self.seconds)}, MFU "
            f"{percent(self.utilisation.mfu)}, {bytes_text(self.memory.total)} a device>"
        )

    @property
    def tokens_per_second(self) -> float:
        """Of all devices together."""
        return self.layout.batch * self.layout.sequence / self.seconds

    @property
    def utilisation(self) -> Utilisation:
        """MFU and HFU. All attention scores count, as in the papers on Megatron."""
        layout, peak = self.layout, self.machine.peak
        step = flops(self.model, layout.batch, layout.sequence)
        return utilisation(step, self.seconds, layout.gpus, peak, layout.recompute)

    @property
    def fits(self) -> bool:
        """Whether the device has this much memory."""
        return self.memory.total <= self.machine.memory

    def require_room(self) -> "Estimate":
        """The estimate itself if it fits; else OutOfMemory, one sentence."""
        if self.fits:
            return self
        part, size = max(self.memory.named().items(), key=lambda item: item[1])
        raise OutOfMemory(
            f"{self.layout} needs {bytes_text(self.memory.total)} a device, and the "
            f"{self.machine.name} has {bytes_text(self.machine.memory)}: {bytes_text(size)} of it "
            f"is {part}; {CURES[part]}"
        )

    @property
    def causes(self) -> dict[str, float]:
        """{what for: seconds} on the slowest device; they add up to `seconds`.

        The all-to-alls of experts are among the tensor-parallel messages.
        """
        p, m = self.layout.pp, self.layout.micro_batches
        ranks = self.parts.rank_seconds(p)
        slowest = ranks.index(max(ranks))
        work = [*self.parts.forward[slowest::p], *self.parts.backward[slowest::p]]
        fill = self.parts.fill(self.layout)
        return {
            "matrix products": m * sum(w.matmul for w in work),
            "other kernels": m * sum(w.memory for w in work),
            "tensor-parallel messages": m * sum(w.network for w in work),
            "waiting for the host": m * sum(w.total - w.device for w in work),
            "pipeline messages": m * len(work) * self.parts.message,
            "bubble": fill,
            "averaging gradients": self.parts.reduce,
            "update": self.parts.update,
            "rest": self.parts.step,
        }

    @cached_property
    def simulated(self) -> Simulated:
        """The step on a clock, one pipeline of 1F1B: time, bubble, memory of activations, trace.

        A rank computes nothing while it sends: messages are part of the F or B before them.
        Raises ValueError for a DualPipe.
        """
        layout, message = self.layout, self.parts.message
        if layout.dualpipe:
            raise ValueError(
                "a DualPipe has a closed form only: each of its stages is on two ranks, and a "
                "schedule has it on one; helpers.schedules.dualpipe_v, its half, can be simulated"
            )
        sizes = layout.pp, layout.micro_batches
        backward = [w.total + message for w in self.parts.backward]
        each = layer_kept(self.model, layout, layout.recompute)
        return simulate(
            interleaved(*sizes, layout.chunks) if layout.chunks > 1 else one_f_one_b(*sizes),
            Costs(
                forward=[w.total + message for w in self.parts.forward],
                input_grad=[seconds / 2 for seconds in backward],
                weight_grad=[seconds / 2 for seconds in backward],
                message_bytes=2.0 * layout.tokens * self.model.hidden / layout.tp,
                activation_bytes=[each * n for n in layout.stage_layers(self.model.layers)],
                all_reduce=self.parts.reduce / layout.chunks,
                update=(self.parts.update + self.parts.step) / layout.chunks,
            ),
        )


CURES = {
    "weights": "cut the model further: a larger tp or pp, or ZeRO 3",
    "gradients": "cut the model further, or choose ZeRO 2",
    "optimizer": "choose ZeRO 1, or cut the model further",
    "activations": "recompute more, or choose a smaller micro-batch or a larger tp",
    "working": "choose a smaller micro-batch or a larger tp",
}


def estimate(
    model: ModelConfig, layout: Layout, machine: Machine, gpus: int | None = None
) -> Estimate:
    """One step in closed form, in well below a millisecond.

    gpus: how many there are; left out, as many as the layout takes.
    Raises ValueError, one sentence, for a layout that the model or the devices cannot be cut into.
    One that does not fit into memory is no error here: see `Estimate.require_room`.
    """
    layout.for_model(model, gpus)
    pieces = parts(model, layout, machine)
    return Estimate(model, layout, machine, pieces, memory(model, layout), pieces.seconds(layout))


def memory_bars(estimates: Mapping[str, Estimate], title: str = ""):
    """Draw the memory of each estimate; the line is what the first one's device has."""
    from helpers.draw import bars  # matplotlib, where it is needed

    rows = {name: e.memory.named() for name, e in estimates.items()}
    machine = next(iter(estimates.values())).machine
    return bars(rows, title, limit=machine.memory, limit_name=f"{machine.name}:")


def time_bars(estimates: Mapping[str, Estimate], title: str = ""):
    """Draw the time of each estimate's step; what is below 1 % in every row joins "rest"."""
    from helpers.draw import bars

    rows = {name: dict(e.causes) for name, e in estimates.items()}
    for cause in next(iter(rows.values())).copy():
        if cause != "rest" and all(r.get(cause, 0) < 0.01 * sum(r.values()) for r in rows.values()):
            for row in rows.values():
                row["rest"] = row.get("rest", 0.0) + row.pop(cause, 0.0)
    return bars(rows, title, text=time_text)
