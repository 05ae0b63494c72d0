"""The main job, without a browser: one device, then three ranks, from the same weights.

    python demo.py          (or: make demo)

A small LLaMA trains on one device.  Then three ranks train it again by averaging their gradients,
from the same weights on the same stories.  The demo compares one step of SGD, in which both must
change every weight alike; it shows both curves, how fast they go, and what the model has learned.
"""

import argparse
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "primer"), str(HERE / "DP" / "gradient_aggr")]

import intro  # noqa: E402  primer/intro.py
import intro_DP_GA  # noqa: E402  DP/gradient_aggr/intro_DP_GA.py

from helpers import draw  # noqa: E402
from helpers.plain_errors import plain_errors  # noqa: E402
from helpers.ranks import RankFailed, find_place, launch  # noqa: E402
from helpers.ranks.connect import rank_device  # noqa: E402
from helpers.trace import with_waits  # noqa: E402
from simplellm.options import make_tokenizer, positive  # noqa: E402
from simplellm.stories import can_write, floor, sentences  # noqa: E402

RANKS = 3
STORIES = 10  # that the trained model writes
STEP_LR = 0.3  # of the step that is compared
SAME = 1e-3  # of the largest change: float32 rounds a sum of gradients by about 1e-6 of it


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=positive, default=400, help="training steps (400)")
    text = "sequences a step, over all ranks (6)"
    parser.add_argument("--batch", type=positive, default=6, help=text)
    parser.add_argument(
        "--optimizer", choices=("adam", "sgd"), default="adam", help="adam or sgd (adam)"
    )
    parser.add_argument("--out", type=Path, default=HERE / "build" / "demo", help="where to write")
    flags = parser.parse_args()
    begun = time.perf_counter()

    shared = ["--size", "story", "--lr-schedule", "decay", "--steps", str(flags.steps)]
    shared += ["--optimizer", flags.optimizer]
    shared += ["--lr", "0.3"] if flags.optimizer == "sgd" else []
    alone = intro.read_flags(
        [*shared, "--like-ranks", str(RANKS), "--batch-size", str(flags.batch), "--device", "cpu"]
    )
    ranks = intro_DP_GA.read_flags([*shared, "--batch-size", str(flags.batch // RANKS)])
    tokenizer = make_tokenizer(alone)
    least = floor(tokenizer, world=alone.world)

    print(f"One device, {flags.steps} steps of {flags.batch} sequences of {alone.seq_l} tokens:")
    losses, net, seconds = train_alone(alone)
    size = sum(p.numel() for p in net.parameters())
    print(f"\n{RANKS} ranks, {flags.batch // RANKS} sequences each, gradients averaged:")
    rank_losses, after_one, rank_seconds, trace = train_on_ranks(ranks)

    print_curves(losses, rank_losses, least.nats_per_token)
    tokens = flags.steps * flags.batch * alone.seq_l
    print(f"\nparameters                     {size:,}")
    print_one_step(*compare_one_step(alone, after_one))
    print(f"one device                     {tokens / seconds:,.0f} tokens/s")
    print(f"{RANKS} ranks                        {tokens / rank_seconds:,.0f} tokens/s")
    written = write_stories(net, tokenizer)
    print(f"\nA story by the trained model:\n\n{written[0]}\n")
    print_sentences(written, alone.world)

    trace_file, picture_file = flags.out / "trace.json", flags.out / "losses.png"
    trace.save(trace_file)
    draw.curves(
        {"one device": losses, f"{RANKS} ranks": rank_losses}, floor=least.nats_per_token
    ).save(picture_file)
    print(f"picture  {show_path(picture_file)}")
    print(f"trace    {show_path(trace_file)}   (open it in Perfetto: ui.perfetto.dev)")
    print(f"{time.perf_counter() - begun:.0f} s in all")


def train_alone(options):
    """Losses, model and seconds of the run on one device."""
    begun = time.perf_counter()
    losses, net, _ = intro.train(options, say=Progress(options.steps))
    return losses, net, time.perf_counter() - begun


def train_on_ranks(options):
    """Mean losses, weights after one step of SGD, seconds of the slowest rank, and the trace."""
    results = launch(train_rank, RANKS, args=(options,))
    losses = [sum(step) / RANKS for step in zip(*(r[0] for r in results), strict=True)]
    trace = results[0][2].merged(*(r[2] for r in results[1:]))
    return losses, results[0][1], max(r[3] for r in results), with_waits(trace)


def train_rank(options):
    """What each rank runs: the script's own training, after one step of SGD for the comparison."""
    place = find_place()
    _, net, _ = intro_DP_GA.train(one_step(options), place, rank_device(), Silence())
    after_one = {name: value.cpu() for name, value in net.state_dict().items()}
    say = Progress(options.steps) if place.rank == 0 else Silence()
    begun = time.perf_counter()
    losses, _, trace = intro_DP_GA.train(options, place, rank_device(), say)
    return losses, after_one, trace, time.perf_counter() - begun


def one_step(options, steps=1):
    """The same flags for one step of SGD: it moves a weight by the gradient times the rate, so a
    wrong factor in the gradient shows. Adam would divide it out."""
    changed = {"steps": steps, "optimizer": "sgd", "lr": STEP_LR}
    return argparse.Namespace(**(vars(options) | changed))


def compare_one_step(options, ranks):
    """After one step: the largest difference of a weight, and the largest change of one.

    options: those of one device. ranks: the weights of the ranks, by name.
    """
    before, after = (
        intro.train(one_step(options, steps), say=Silence())[1].state_dict() for steps in (0, 1)
    )
    difference = max((ranks[name] - after[name]).abs().max().item() for name in after)
    change = max((after[name] - before[name]).abs().max().item() for name in after)
    return difference, change


def print_one_step(difference, change):
    """Say whether one device and the ranks have taken the same step."""
    same = difference <= SAME * change
    verdict = "the same step, up to rounding" if same else "NOT the same step: look for a factor"
    print("one step of SGD from the same weights:")
    print(f"  largest change of a weight   {change:.1e}")
    print(f"  largest difference           {difference:.1e}  ({verdict})")


class Progress:
    """A line that replaces itself: how far the training is."""

    def __init__(self, steps):
        self.steps = steps

    def __call__(self, step, loss):
        if (step + 1) % max(1, self.steps // 20) == 0 or step + 1 == self.steps:
            end = "\n" if step + 1 == self.steps else "\r"
            done = 20 * (step + 1) // self.steps
            bar = "#" * done + "." * (20 - done)
            print(f"  [{bar}] step {step + 1:4}  loss {loss:6.3f}", end=end, flush=True)


class Silence:
    """For the ranks that need not say how far they are: rank 0 says it."""

    def __call__(self, step, loss):
        pass


def print_curves(alone, ranks, least):
    """Both curves side by side, as numbers and as bars, with the floor under them."""
    print(f"\n  step   one device      {RANKS} ranks        loss (nats per token)")
    top = max(alone)
    every = max(1, len(alone) // 10)
    for step in [*range(0, len(alone) - 1, every), len(alone) - 1]:
        bar = "=" * round(40 * alone[step] / top)
        print(f"  {step + 1:4}  {alone[step]:10.4f}  {ranks[step]:10.4f}       {bar}")
    bar = "=" * round(40 * least / top)
    print(f"  floor {least:10.4f}  {least:10.4f}       {bar}  no model can be better")


def write_stories(net, tokenizer):
    """Stories that the trained model writes, each from the end of the story before it."""
    texts = []
    for seed in range(1, STORIES + 1):
        ids = net.generate(
            [tokenizer.eos_id],
            max_new_tokens=net.max_seq - 1,
            temperature=0.6,
            eos_id=tokenizer.eos_id,
            seed=seed,
            cache=True,
        )
        texts.append(tokenizer.decode([i for i in ids if i != tokenizer.eos_id]))
    return texts


def print_sentences(texts, world):
    """Say how many of the model's sentences are sentences of the stories that it has read."""
    found = [sentence for text in texts for sentence in sentences(text)]
    right = sum(can_write(sentence, world) for sentence in found)
    print(f"{right} of {len(found)} complete sentences in {len(texts)} stories like this one could")
    print("stand in the stories that it was trained on.\n")


def show_path(path):
    """The path as a person in this folder would type it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    with plain_errors():
        try:
            main()
        except RankFailed as failed:
            sys.exit(f"\n{failed}")
