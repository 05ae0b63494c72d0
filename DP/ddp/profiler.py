"""torch.profiler, and what it leaves: a trace and a table for each rank."""

import os
from contextlib import nullcontext
from pathlib import Path

from torch.profiler import ProfilerActivity, profile, schedule

from helpers.files import write_whole

STEPS = {"wait": 1, "warmup": 1, "active": 2}  # without it, seen and forgotten, kept
OPTIONS = {
    "record_shapes": "the shapes that each operator was given",
    "profile_memory": "what each operator took of memory, and gave back",
    "with_stack": "the line of Python that called each operator (slow, and large)",
    "with_flops": "how many operations the products took (needs the shapes, and takes them)",
}


def add_profiler_flags(parser):
    add = parser.add_argument_group("profiler").add_argument
    add("--profile", action="store_true", help="leave a trace and a table of each rank")
    add("--trace-dir", "--trace_dir", default="./traces/", help="where (./traces/)")
    for name, what in OPTIONS.items():
        add(f"--{name.replace('_', '-')}", f"--{name}", action="store_true", help=what)


def make_profiler(options, place, device, steps):
    """Return the profiler of this rank, for a `with`; without one, what does nothing.

    steps: that the run will take; the profiler's step() is called after each. Raises ValueError if
    they are too few, and OSError if nothing can be written: now, and not after the training.
    """
    if not options.profile:
        return nullcontext()
    if steps < sum(STEPS.values()):
        raise ValueError(
            f"the profiler skips a step, warms up in one and keeps two, and the run has {steps}: "
            "raise --epochs, or lower --batch-size"
        )
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else torch prints when it starts and stops
    name = f"{device.type}-{options.input}-{place.rank}-of-{place.world_size}"
    stem = f"{options.trace_dir}/{name}"
    write_whole(f"{stem}.txt", "the run has not come so far\n")
    gpu = [ProfilerActivity.CUDA] * (device.type == "cuda")
    shapes = options.record_shapes or options.with_flops
    told = {name: getattr(options, name) for name in OPTIONS} | {"record_shapes": shapes}
    return profile(
        activities=[ProfilerActivity.CPU, *gpu],
        schedule=schedule(**STEPS, repeat=1),
        on_trace_ready=lambda found: write(stem, device.type, found),
        **told,
    )


def write(stem, kind, profiler):
    """Write STEM.json, the trace, and STEM.txt, the table."""
    by = "device_time_total" if kind == "cuda" else "cpu_time_total"
    table = profiler.key_averages().table(sort_by=by, row_limit=-1, max_name_column_width=60)
    write_whole(f"{stem}.txt", f"sorted by {by}, in which an operator's parts count too\n{table}")
    unfinished = Path(f"{stem}.json.part")  # a trace is whole, or not there
    profiler.export_chrome_trace(str(unfinished))
    unfinished.replace(f"{stem}.json")
