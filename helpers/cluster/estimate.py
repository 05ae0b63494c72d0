"""Model, layout, machine -> seconds, utilisation, memory, and the step on a clock."""

from dataclasses import dataclass
from functools import cached_property

from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.memory import Memory, kept_activations, memory
from helpers.cluster.parts import Parts, parts
from helpers.cost import ModelConfig, Utilisation, flops, utilisation
from helpers.schedules import Schedule, interleaved, one_f_one_b
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

    @cached_property
    def utilisation(self) -> Utilisation:
        """MFU and HFU. All attention scores count, as in the papers on Megatron."""
        step = flops(self.model, self.layout.batch, self.layout.sequence)
        how, peak = self.layout.recompute, self.machine.peak
        return utilisation(step, self.seconds, self.layout.gpus, peak, how)

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

    @cached_property
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
    def schedule(self) -> Schedule:
        """1F1B, plain or interleaved. Raises ValueError for a DualPipe."""
        layout = self.layout
        if layout.dualpipe:
            raise ValueError(
                "a DualPipe has a closed form only: each of its stages is on two ranks, and a "
                "schedule has it on one; helpers.schedules.dualpipe_v, its half, can be simulated"
            )
        if layout.chunks > 1:
            return interleaved(layout.pp, layout.micro_batches, layout.chunks)
        return one_f_one_b(layout.pp, layout.micro_batches)

    @cached_property
    def simulated(self) -> Simulated:
        """The step on a clock, one pipeline: time, bubble, memory of activations, trace.

        A rank computes nothing while it sends: messages are part of the F or B before them.
        """
        layout, message = self.layout, self.parts.message
        backward = [w.total + message for w in self.parts.backward]
        each = kept_activations(self.model, layout)
        return simulate(
            self.schedule,
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
    model: ModelConfig,
    layout: Layout,
    machine: Machine,
    gpus: int | None = None,
    held: Memory | None = None,
) -> Estimate:
    """One step in closed form, in well below a millisecond; uneven stages take some ten.

    gpus: how many there are; left out, as many as the layout takes. held: `memory`, if it is known.
    Raises ValueError, one sentence, for a layout that the model or the devices cannot be cut into.
    One that does not fit into memory is no error here: see `Estimate.require_room`.
    """
    layout.for_model(model, gpus)
    pieces = parts(model, layout, machine)
    held = held or memory(model, layout)
    return Estimate(model, layout, machine, pieces, held, pieces.seconds(layout))
