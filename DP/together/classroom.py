"""What a class trains together: a model by its name, endless stories, and what to show of it.

    python classroom.py --record      how far one laptop gets alone; writes classroom.json

`python -m helpers.together` trains it on many laptops. There the weights are one vector; this file
alone knows that they're a LLaMA.
"""

import argparse
import copy
import functools
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save

sys.path[:0] = [str(Path(__file__).parents[1] / "never_stops")]
from rules import State  # noqa: E402
from work import TINY, Work, load  # noqa: E402

from simplellm.checkpoint import load_model, own_tensors  # noqa: E402
from simplellm.dataloaders import TinyStories  # noqa: E402
from simplellm.generation import write_story  # noqa: E402
from simplellm.options import TrainingFlags, make_stories, prepare  # noqa: E402

MODELS = {"tiny": TINY, "story": ["--size", "story"], "laptop": ["--size", "laptop"]}
BATCH, HELD_OUT = 4, 16  # sequences of a step, and of the text that no learner reads
RECORDED = Path(__file__).with_name("classroom.json")
STEPS = {"tiny": 2000, "story": 4000, "laptop": 1500}  # that one laptop is recorded for


class Stories(Work):
    """A model of `MODELS` in float32, and a text of its own for each seed."""

    def __init__(self, model, seed=0):
        torch.set_num_threads(1)
        self.options = TrainingFlags("", batch_size=BATCH).parse_args(MODELS[model])
        self.tokenizer, net = prepare(self.options, "cpu")
        self.net = net.float()
        read = copy.copy(self.options)
        read.seed = seed
        self.stream = iter(make_stories(read, self.tokenizer, quiet=True))

    def batch(self, learner, place):
        """Return the next four sequences, whoever asks."""
        return next(self.stream)

    @functools.cached_property
    def unread(self):
        size, world = self.options.seq_l, self.options.world
        common = {"batch_size": HELD_OUT, "seq_l": size, "split": "validation", "quiet": True}
        return next(iter(TinyStories(self.tokenizer, world=world, **common)))

    def judge(self, weights):
        """Return the loss on stories that no learner reads, in nats per token."""
        return self.loss(weights, self.unread)

    def story(self, weights, seed):
        """Return what a model with these weights writes."""
        load(self.net, weights)
        return write_story(self.net, self.tokenizer, seed).strip()

    def told(self, path, seed=1):
        """Return a story by the model in a checkpoint; ValueError if it's another model's."""
        return write_story(load_model(self.net, path), self.tokenizer, seed).strip()

    def checkpoint(self, weights):
        """Return the bytes of a file that `simplellm.checkpoint.load_model` reads."""
        load(self.net, weights)
        tensors = {name: t.detach().contiguous() for name, t in own_tensors(self.net).items()}
        return save(tensors, metadata={"format": "pt"})


def alone(model, steps, looks=40):
    """Return [[tokens, loss]] of one laptop, with the optimizer that every learner has."""
    work = Stories(model)
    state, read, found = State.new(work.start()), 0, []
    when = {round(steps * (look / looks) ** 2) for look in range(looks + 1)}  # denser at the start
    for step in range(steps + 1):
        if step in when:
            found.append([read, round(work.judge(state.weights), 4)])
        _, tokens, gradient = work.gradient(state.weights, 0, step)
        state.apply(gradient, ())
        read += tokens
    return found


def recorded(model):
    """Return what `--record` has measured for a model: [[tokens, loss]]."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))[model]


def main():
    flags = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    flags.add_argument("--record", action="store_true", required=True, help="write classroom.json")
    flags.parse_args()
    found = {model: alone(model, steps) for model, steps in STEPS.items()}
    RECORDED.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
