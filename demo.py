"""The main job, without a browser: one device, then three ranks, from the same weights.

    python demo.py          (or: make demo)

A small LLaMA trains on one device. Then three ranks train it again by averaging their gradients,
from the same weights on the same stories. The demo compares one step of SGD, in which both must
change every weight alike, prints a story, cuts the model into a pipeline of two stages, and leaves
a page, build/demo/step.html: a real step of the pipeline beside its simulation.
"""

import argparse
import os
import shutil
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / folder) for folder in ("primer", "DP/gradient_aggr", "PP/schedules")]

import intro  # noqa: E402  primer/intro.py
import intro_DP_GA  # noqa: E402  DP/gradient_aggr/intro_DP_GA.py
import intro_PP_schedule  # noqa: E402  PP/schedules/intro_PP_schedule.py

from helpers.plain_errors import plain_errors  # noqa: E402
from helpers.ranks import RankFailed, find_place, launch  # noqa: E402
from helpers.ranks.connect import rank_device  # noqa: E402
from helpers.simulate import measured, simulate  # noqa: E402
from helpers.timeline import timeline  # noqa: E402
from helpers.trace import last_steps  # noqa: E402
from simplellm.generation import write_story  # noqa: E402
from simplellm.options import positive, prepare  # noqa: E402
from simplellm.stories import floor, right_sentences  # noqa: E402

RANKS = 3
STORIES = 10  # that the trained model writes
STEP_LR = 0.3  # of the step that is compared
SAME = 1e-3  # of the largest change: float32 rounds a sum of gradients by about 1e-6 of it
PIPELINE = ["--batch-size", "24", "--micro-batches", "6", "--schedule", "1F1B", "--steps", "12"]


def read_flags():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=positive, default=400, help="training steps (400)")
    parser.add_argument("--batch", type=positive, default=6, help="sequences a step (6)")
    parser.add_argument("--out", type=Path, default=HERE / "build" / "demo", help="where to write")
    flags = parser.parse_args()
    if flags.batch % RANKS:
        parser.error(f"--batch {flags.batch}: choose a multiple of {RANKS}, for {RANKS} ranks")
    return flags


def main():
    flags = read_flags()
    os.environ.setdefault("SIMPLELLM_QUIET", "1")  # the ranks read what one device has read
    shared = ["--size", "story", "--lr-schedule", "decay", "--steps", str(flags.steps)]
    alone = ["--like-ranks", str(RANKS), "--batch-size", str(flags.batch), "--device", "cpu"]
    alone = intro.read_flags([*shared, *alone])
    ranks = intro_DP_GA.read_flags([*shared, "--batch-size", str(flags.batch // RANKS)])
    tokenizer, net = prepare(alone, "cpu")
    say("A small LLaMA learns to tell stories: on one device, and then on ranks that average "
        "their gradients, each a process of its own.\n\none device")  # fmt: skip

    begun = time.perf_counter()
    losses, _, _ = intro.train(alone, partial(now_and_then, flags.steps), net)
    seconds = time.perf_counter() - begun
    print(f"\n{RANKS} ranks")
    results = launch(train_rank, RANKS, args=(ranks,), timeout=3600, checked=False)
    of_ranks = [sum(step) / RANKS for step in zip(*(each[0] for each in results), strict=True)]
    print()
    tokens = flags.steps * alone.batch_size * alone.seq_l
    longest = max(each[2] for each in results)
    for name, run, took in ("one device", losses, seconds), (f"{RANKS} ranks", of_ranks, longest):
        print(f"{name:11} loss {run[-1]:.2f} {tokens / took:9,.0f} tokens/s")
    least = floor(tokenizer, world=alone.world).nats_per_token
    say(f"\nThe entropy of the stories is {least:.2f} nats per token: no model can do better.")
    say(compare_one_step(alone, results[0][1]))

    texts = [write_story(net, tokenizer, seed) for seed in range(1, STORIES + 1)]
    right, found = right_sentences(texts, alone.world)
    say(f"\nA story by the trained model:\n\n{texts[0]}\n\nOf the {found} complete sentences in "
        f"{STORIES} stories like this one, {right} are sentences that the stories it was trained "
        "on can hold.")  # fmt: skip

    plan, trace = run_pipeline(shared)
    say("\nThe model can also be cut into two stages, each on a rank of its own. This is the order "
        "of its work (F3 is the forward of micro-batch 3, B3 its backward):\n")  # fmt: skip
    print(plan)
    step = last_steps(trace).from_zero()
    both = {"predicted": simulate(plan, measured(trace)).trace, "measured": step}
    say("\nThe same plan, simulated from what each action took here, beside what the two did:")
    print(timeline(both).save(flags.out / "step.html"))


def train_rank(options):
    """On a rank: run the script's own training, after one step of SGD for the comparison."""
    place = find_place()
    _, net, _ = intro_DP_GA.train(one_step(options), place, rank_device(), silent)
    after_one = net.cpu().state_dict()
    tell = partial(now_and_then, options.steps) if place.rank == 0 else silent
    begun = time.perf_counter()
    losses, _, _ = intro_DP_GA.train(options, place, rank_device(), tell)
    return losses, after_one, time.perf_counter() - begun


def run_pipeline(shared):
    """Return the plan of a pipeline of two stages, and what two ranks did in some steps of it."""
    options = intro_PP_schedule.read_flags([*shared, *PIPELINE])
    first, second = launch(pipeline_rank, 2, (options,), timeout=3600, quiet=True, checked=False)
    return intro_PP_schedule.plan(options, 2), first.merged(second)


def pipeline_rank(options):
    return intro_PP_schedule.train(options, find_place(), rank_device(), silent)[2]


def one_step(options, steps=1):
    """The same flags for one step of SGD: it moves a weight by the gradient times the rate, so a
    wrong factor in the gradient shows. Adam would divide it out."""
    return argparse.Namespace(**vars(options) | {"steps": steps, "optimizer": "sgd", "lr": STEP_LR})


def compare_one_step(options, ranks):
    """Say whether one device and the ranks have taken the same step.

    options: those of one device. ranks: the weights of the ranks after one step, by name.
    """
    both = (intro.train(one_step(options, steps), silent)[1].state_dict() for steps in (0, 1))
    before, after = both
    difference = max((ranks[name] - after[name]).abs().max().item() for name in after)
    moved = max((after[name] - before[name]).abs().max().item() for name in after)
    same = difference <= SAME * moved
    verdict = "the same step, up to rounding" if same else "NOT the same step: look for a factor"
    return (
        f"One step of SGD changes a weight by up to {moved:.1e}; between one device and {RANKS} "
        f"ranks the largest difference is {difference:.1e}: {verdict}."
    )


def now_and_then(steps, step, loss):
    """Say how far it is, ten times on the way."""
    if (step + 1) % max(1, steps // 10) == 0:
        print(f"  step {step + 1:4}  loss {loss:.2f}", flush=True)


def silent(step, loss):
    """For what need not say how far it is."""


def say(text):
    """Print text in lines as long as the terminal is wide, 100 characters at most."""
    width = min(shutil.get_terminal_size().columns, 100)
    for line in text.split("\n"):
        print(textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    with plain_errors():
        try:
            main()
        except RankFailed as failed:
            sys.exit(f"\n{failed}")
        except KeyboardInterrupt:
            print("\nstopped: no rank is left running", file=sys.stderr)
            sys.exit(130)
