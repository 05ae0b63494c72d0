"""The main job, without a browser: one device, then three ranks, from the same weights.

    python demo.py          (or: make demo)

A small LLaMA trains on one device.  Then three ranks train it again by averaging their gradients,
from the same weights on the same stories.  The demo compares one step of SGD, in which both must
change every weight alike, cuts the model into a pipeline of two stages, and leaves a page:
build/demo/index.html has the curves, a real step beside its simulation, and stories on the way.
"""

import argparse
import os
import shutil
import sys
import textwrap
import time
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / folder) for folder in ("primer", "DP/gradient_aggr", "PP/schedules")]

import intro  # noqa: E402  primer/intro.py
import intro_DP_GA  # noqa: E402  DP/gradient_aggr/intro_DP_GA.py
import intro_PP_schedule  # noqa: E402  PP/schedules/intro_PP_schedule.py

from helpers.demo import Bar, as_page  # noqa: E402
from helpers.files import write_whole  # noqa: E402
from helpers.plain_errors import plain_errors  # noqa: E402
from helpers.ranks import RankFailed, find_place, launch  # noqa: E402
from helpers.ranks.connect import rank_device  # noqa: E402
from helpers.ranks.script import say_as_rank  # noqa: E402
from helpers.simulate import measured, simulate  # noqa: E402
from helpers.timeline import timeline  # noqa: E402
from helpers.trace import last_steps  # noqa: E402
from simplellm.generation import write_story  # noqa: E402
from simplellm.options import positive, prepare  # noqa: E402
from simplellm.stories import floor, right_sentences  # noqa: E402

RANKS = 3
STORIES = 10  # that the trained model writes
ON_THE_WAY = (1, 25, 50, 100, 200)  # steps after which it writes one, too
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
        "their gradients, each a process of its own.\n")  # fmt: skip

    one, stories = train_alone(alone, tokenizer, net)
    few = change(ranks, steps=max(1, flags.steps // 10), batch_size=max(1, flags.batch // 2))
    two, _ = train_on_ranks(2, few)
    three, after_one = train_on_ranks(RANKS, ranks)
    plan, trace = run_pipeline(shared)
    step = last_steps(trace).from_zero()
    predicted = simulate(plan, measured(trace))

    same = compare_one_step(alone, after_one)
    least = floor(tokenizer, world=alone.world).nats_per_token
    print()
    for phase in (one, two, three):
        print(f"{phase.name:11}{phase.speed:9,.0f} tokens/s")
    say(f"\nThe entropy of the stories is {least:.2f} nats per token: no model can do better.")
    say(same)
    texts = [write_story(net, tokenizer, seed) for seed in range(1, STORIES + 1)]
    right, found = right_sentences(texts, alone.world)
    share = (f"Of the {found} complete sentences in {STORIES} stories like this one, {right} are "
             "sentences that the stories it was trained on can hold.")  # fmt: skip
    say(f"\nA story by the trained model:\n\n{texts[0]}\n\n{share}")

    speeds = ", ".join(f"{phase.name} {phase.speed:,.0f}" for phase in (one, two, three))
    size = f"A LLaMA of {sum(p.numel() for p in net.parameters()):,} parameters."
    page = as_page(
        phases=[one, three],
        floor=least,
        facts=[size, same, f"Tokens a second: {speeds}."],
        plan=str(plan),
        steps=timeline({"predicted": predicted.trace, "measured": step}),
        stories=[*stories, (len(one.losses), one.losses[-1], texts[0])],
        share=share,
    )
    file = write_whole(flags.out / "index.html", page)
    say("\nThe curves, a real step beside its simulation, and its stories on the way:")
    print(file)


def train_alone(options, tokenizer, net):
    """The run on one device, and the stories that `net` wrote on the way."""
    stories, bar = [], Bar("one device", options.steps)

    def look(step, loss):
        bar(step, loss)
        if step + 1 in ON_THE_WAY and step + 1 < options.steps:
            begun = time.perf_counter()
            stories.append((step + 1, loss, write_story(net, tokenizer, seed=1)))
            bar.paused += time.perf_counter() - begun

    losses, _, _ = intro.train(options, look, net)
    return bar.end(losses, options.batch_size * options.seq_l), stories


def train_on_ranks(count, options):
    """The run on some ranks, and the weights of their model after one step of SGD."""
    bar = Bar(f"{count} ranks", options.steps)
    with redirect_stdout(bar):
        results = launch(train_rank, count, args=(options,), timeout=3600, checked=False)
    losses = [sum(step) / count for step in zip(*(r[0] for r in results), strict=True)]
    bar.seconds = max(r[2] for r in results)
    return bar.end(losses, count * options.batch_size * options.seq_l), results[0][1]


def train_rank(options):
    """What each rank runs: the script's own training, after one step of SGD for the comparison."""
    place = find_place()
    _, net, _ = intro_DP_GA.train(one_step(options), place, rank_device(), silent)
    after_one = net.cpu().state_dict()
    tell = partial(say_as_rank, 0) if place.rank == 0 else silent
    begun = time.perf_counter()
    losses, _, _ = intro_DP_GA.train(options, place, rank_device(), tell)
    return losses, after_one, time.perf_counter() - begun


def run_pipeline(shared):
    """The plan of a pipeline of two stages, and what two ranks did in some steps of it."""
    options = intro_PP_schedule.read_flags([*shared, *PIPELINE])
    bar = Bar("2 stages", options.steps)
    with redirect_stdout(bar):
        first, second = launch(pipeline_rank, 2, args=(options,), timeout=3600, checked=False)
    bar.end(second[0])
    return intro_PP_schedule.plan(options, 2), first[1].merged(second[1])


def pipeline_rank(options):
    place = find_place()
    tell = partial(say_as_rank, place.rank)
    losses, _, trace = intro_PP_schedule.train(options, place, rank_device(), tell)
    return losses, trace


def one_step(options, steps=1):
    """The same flags for one step of SGD: it moves a weight by the gradient times the rate, so a
    wrong factor in the gradient shows. Adam would divide it out."""
    return change(options, steps=steps, optimizer="sgd", lr=STEP_LR)


def change(options, **changed):
    return argparse.Namespace(**(vars(options) | changed))


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
