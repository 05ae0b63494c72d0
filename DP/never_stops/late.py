"""What it costs not to wait: DiLoCo of lesson 04, with a quorum and learners that are late.

    python late.py              three seeds of each row; writes late.json, which the lesson reads

Three learners begin where those of lesson 04's `local_steps` do and read the same stories. In each
round one of them, in turn, is late: its change reaches the merge after. With a quorum of three
every merge waits for all. With fragments a merge is about one part of the model, and their turns
are spread over the interval.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
from rules import merge
from syncer import cut
from work import load, vector

from simplellm.losses import causalLLMLoss

sys.path[:0] = [str(Path(__file__).parents[1] / "weight_aggr")]
import local_steps  # noqa: E402
from local_steps import RANKS, STEPS, three_replicas  # noqa: E402

RECORDED = Path(__file__).with_name("late.json")
RATE = 4e-3  # the best for DiLoCo, every 16 steps: local_steps.json


def train(start, seed, quorum, fragments=1, every=16, steps=STEPS):
    """Return the loss on new text, and how many versions behind the deliveries were.

    start: what `local_steps.warmed_up` returns.
    """
    _, tokenizer, held_out = start
    nets, optimizers, stories = three_replicas(start, seed, RATE)
    weights = vector(nets[0].parameters())
    parts = [Turn(weights, where, quorum) for where in cut(weights, fragments)]
    for step in range(1, steps + 1):
        for net, optimizer, ids in zip(nets, optimizers, next(stories).split(1), strict=True):
            local_steps.backward(net, ids, tokenizer)
            optimizer.step()
        for p, part in enumerate(parts):
            if (step + p * every // fragments) % every == 0 or step == steps:
                part.merge(nets, step, last=step == steps)
    with torch.no_grad():
        load(nets[0], np.concatenate([part.weights for part in parts]))
        loss = causalLLMLoss(nets[0](held_out), held_out, tokenizer.vocab_size).item()
    return loss, [late for part in parts for late in part.behind]


class Turn:
    """The merges of one fragment, of which every learner knows since which version it computes."""

    def __init__(self, weights, where, quorum):
        self.where, self.quorum, self.weights = where, quorum, weights[where].copy()
        self.velocity, self.version, self.behind, self.held_back = 0 * self.weights, 0, [], {}
        self.anchors, self.begun = [(self.weights, 0)] * RANKS, 0

    def merge(self, nets, step, last):
        arrived, self.held_back = self.held_back, {}
        for r, net in enumerate(nets):
            anchor, base = self.anchors[r]
            delta = vector(net.parameters())[self.where] - anchor
            delivery = {"base": base, "tokens": step - self.begun, "delta": delta}
            late = self.quorum < RANKS and r == self.version % RANKS and not last
            (self.held_back if late else arrived)[(r, step)] = delivery
        self.behind += [self.version - one["base"] for one in arrived.values()]
        self.weights, self.velocity = merge(
            self.weights, self.velocity, arrived, self.version, self.quorum, oldest=2
        )
        self.version, self.begun = self.version + 1, step
        for r, net in enumerate(nets):
            whole = vector(net.parameters())
            if (r, step) in self.held_back:  # it goes on from where it is, which it handed over
                self.anchors[r] = (whole[self.where].copy(), self.version - 1)
            else:
                whole[self.where] = self.weights
                load(net, whole)
                self.anchors[r] = (self.weights, self.version)


def recorded():
    """Return what `main` measured, the losses of the seeds for each row: a quorum of "3", of "2",
    and of 3 in "4 fragments".
    """
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def main():
    starts = [local_steps.warmed_up(seed) for seed in range(local_steps.SEEDS)]
    losses = {
        name: [round(train(start, seed, *how)[0], 4) for seed, start in enumerate(starts)]
        for name, how in {"3": (3,), "2": (2,), "4 fragments": (3, 4)}.items()
    }
    RECORDED.write_text(json.dumps(losses, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
