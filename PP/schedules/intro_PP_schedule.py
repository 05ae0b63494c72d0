"""Any schedule, for real: interleaved 1F1B, zero bubble, or one of your own.

    python intro_PP_schedule.py 0       one process for each rank: 0, 1 and 2
    ./run.sh --schedule ZB-V            all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_PP_schedule.py --schedule my_plan.txt

Schedules: interleaved and mine (from orders.py), searched, each that `python -m helpers.schedules`
lists, such as 1F1B; or a file with a line for each rank: "rank 0: 0F0 0F1 0B0 0B1". The last
stage's rank prints the loss.
"""

from functools import partial
from pathlib import Path

import orders

from helpers.pipeline import Pipeline
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.schedules import SCHEDULES, load_csv, parse
from helpers.search import search
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, positive, prepare
from simplellm.slicing import layer_counts, slice_stage


def read_flags(arguments=None):
    flags = add_run_flags(TrainingFlags(__doc__, batch_size=6, micro_batches=6), ranks=3)
    flags.add_argument("--schedule", default="interleaved", help="a name, or a file (interleaved)")
    flags.add_argument("--chunks", type=positive, default=2, help="stages of a rank (2)")
    return flags.parse_args(arguments)


def make_schedule(name, ranks, micro_batches, chunks):
    """Return the schedule of a name, or of a file."""
    if name in SCHEDULES:
        return SCHEDULES[name].made(ranks, micro_batches, chunks)
    if name == "interleaved":
        if micro_batches % ranks:
            raise ValueError(
                f"interleaved 1F1B takes rounds of {ranks} micro-batches, and there are "
                f"{micro_batches}: choose --micro-batches {ranks}, {2 * ranks}, {3 * ranks}, ..."
            )
        return to_schedule(orders.interleaved(ranks, micro_batches, chunks))
    if name == "mine":
        return to_schedule(orders.within_memory(ranks, micro_batches, room=ranks))
    if name == "searched":
        return search(ranks, micro_batches).schedule
    if not Path(name).is_file():
        known = ", ".join([*SCHEDULES, "interleaved", "mine", "searched"])
        raise ValueError(f"--schedule {name}: there is no such file; the names are {known}")
    if name.endswith(".csv"):
        return load_csv(name)
    return parse(Path(name).read_text("utf-8", "replace"))


def plan(options, ranks):
    """Return the schedule of the flags; raise ValueError if it has more stages than the model."""
    schedule = make_schedule(options.schedule, ranks, options.micro_batches, options.chunks)
    layer_counts(options.layers, schedule.stages)
    return schedule


def to_schedule(rows):
    """Return the orders of all ranks, which are lists, as a schedule."""
    return parse("\n".join(f"rank {r}: {' '.join(row)}" for r, row in enumerate(rows)))


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its stages and the trace.

    say(step, loss): called after each step on the rank of the last stage. Others have no losses.
    """
    schedule = plan(options, place.world_size)
    # Drawn from one seed on every rank: the same whole model, cut alike.
    tokenizer, whole = prepare(options, "cpu")
    mine = schedule.stages_of(place.rank)
    stages = {s: slice_stage(whole, s, schedule.stages, device) for s in mine}
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
    optimizer = make_optimizer(options, stages.values())
    losses, recorder = [], Recorder(rank=place.rank)
    loss_of = partial(causalLLMLoss, vocab_size=tokenizer.vocab_size)
    pipeline = Pipeline(schedule, stages, loss=loss_of, recorder=recorder)
    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        outcome = pipeline.step(ids, ids)
        with recorder.span("update"):
            optimizer.step()
        if (loss := outcome.loss) is not None:
            losses.append(check_finite(loss, step))
            say(step, losses[-1])
    return losses, stages, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=plan)
