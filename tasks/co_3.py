"""CO-3: a layout that fits and is fast."""

import dataclasses

from helpers.cluster import Layout, preset
from helpers.cost import ModelConfig
from helpers.grade import Task

TASK = Task(
    id="CO-3",
    title="find a layout that fits and is fast",
    file="TP/choose_layout.py",
    function="choose_layout",
    notebook="17",
    points=20,
    minutes=45,
    hints=(
        "estimate(model, layout, machine) is so quick that you can try every layout. Which numbers "
        "can tp be, if dp x pp x tp must be the number of devices? What does Layout(...) do with "
        "numbers that can't be a layout?",
        "Nest loops: tp and pp over the divisors of `gpus`, dp = gpus // (tp * pp), micro_batch "
        "over 1, 2, 4, 8 ..., recompute over its three words. Make and estimate each layout "
        "inside `try`, and continue with the next one at a ValueError. Keep the fastest of those "
        "with .fits.",
        "layout = Layout(batch, model.positions, dp, pp, tp, 1, micro_batch, recompute, "
        "sequence_parallel=tp > 1, zero=int(dp > 1)); done = estimate(model, layout, machine). If "
        "done.fits and done.seconds is the smallest so far, remember done.layout.",
    ),
)


def run(module, case):
    """The fields of the Layout that the work chooses, None, or what came in its place.

    case: {"model": the fields of a ModelConfig, "machine": its name, "gpus", "batch"}.
    """
    model, machine = ModelConfig(**case["model"]), preset(case["machine"])
    found = module.choose_layout(model, machine, case["gpus"], case["batch"])
    if isinstance(found, Layout):
        return dataclasses.asdict(found)
    return None if found is None else repr(found)[:200]
