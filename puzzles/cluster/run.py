"""Run a step on a cluster of its own."""

from collections.abc import Callable

from cluster.dist import Dist
from cluster.driver import SECONDS, drive
from cluster.model import Model


def run(
    step: Callable,
    world_size: int,
    num_layers: int,
    global_batch_size: int,
    *arguments,
    profile: str | None = None,
    machine: str | None = None,
    keep_tape: bool = False,
    seconds: float | None = SECONDS,
) -> list:
    """Run `step(model, *arguments)` on every rank, and give what each rank returned.

    profile, machine, keep_tape: see Dist. seconds: of the real clock, after which the step is
    stopped. Raises PuzzleError for what no cluster would do, and what the step itself raises.
    Works where a loop of asyncio runs already, as in a notebook.
    """
    dist = Dist(world_size, profile, machine, keep_tape)
    models = [Model(rank, dist, num_layers, global_batch_size) for rank in range(world_size)]
    return drive(dist, [step(model, *arguments) for model in models], seconds)
