"""Train the three models that ship with simplellm: one run, saved early, in the middle, at its end.

    python train_models.py                   6,000 steps on one core: 41 minutes on a busy machine
    python train_models.py --steps 400       shorter, and worse
    python train_models.py --out FOLDER      leave the package's own models alone

It writes three .safetensors files in half precision, and models.json with what was measured:
loss, bits per byte, and how many of the sentences that a model writes are sentences of the stories.
"""

import copy
import json
import time
from itertools import islice
from math import log
from pathlib import Path

import torch

from helpers.plain_errors import plain_errors
from simplellm import models
from simplellm.checkpoint import load_model, save_model, write_whole
from simplellm.dataloaders import TinyStories
from simplellm.generation import write_story
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_model, make_optimizer, make_stories, prepare
from simplellm.stories import right_sentences

EARLY, MIDDLE = 0.012, 0.12  # of the steps


def read_flags(arguments=None):
    how = {"steps": 6000, "seq_l": 256, "lr": 3e-3, "lr_schedule": "decay"}
    flags = TrainingFlags(__doc__, batch_size=4, **how)
    flags.add_argument("--out", type=Path, default=models.FOLDER, help="where to write")
    return flags.parse_args(arguments)


def train(options, say=print):
    """Train, save the models on the way, and return the facts of each by its name."""
    torch.set_num_threads(1)
    tokenizer, net = prepare(options, "cpu")
    optimizer = make_optimizer(options, net)
    stories = iter(make_stories(options, tokenizer))
    early, middle = max(1, round(EARLY * options.steps)), max(2, round(MIDDLE * options.steps))
    ends = {early: "early", middle: "middle", options.steps: "best"}
    sizes = "tokenizer dmodel heads layers seq_l world seed".split()
    table = {"model": {name: getattr(options, name) for name in sizes}}
    seconds = -time.perf_counter()

    for step in range(1, options.steps + 1):
        optimizer.zero_grad()
        ids = next(stories)
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            say(f"step {step}  loss {check_finite(loss, step):.3f}", flush=True)
        if step in ends:
            seconds += time.perf_counter()
            name = ends[step]
            file = options.out / f"{name}.safetensors"
            save_model(copy.deepcopy(net).half(), file)
            saved = load_model(make_model(options, tokenizer), file)
            tokens = step * options.batch_size * options.seq_l
            table[name] = {"steps": step, "tokens": tokens, "minutes": round(seconds / 60, 1)}
            table[name] |= measure(saved, tokenizer, options)
            say(name, table[name], flush=True)
            write_whole(options.out / "models.json", json.dumps(table, indent=2).encode() + b"\n")
            seconds -= time.perf_counter()
    return table


@torch.no_grad()
def measure(net, tokenizer, options, sequences=64):
    """Loss and bits per byte on stories that it hasn't read, and the sentences that it writes."""
    how = {"seq_l": options.seq_l, "split": "validation", "world": options.world}
    batches = list(islice(TinyStories(tokenizer, batch_size=8, **how), sequences // 8))
    losses = [causalLLMLoss(net(b), b, tokenizer.vocab_size).item() for b in batches]
    loss = sum(losses) / len(losses)
    size = sum(len(tokenizer.decode(row.tolist()).encode()) for b in batches for row in b)
    tokens = sum(b.numel() for b in batches)
    texts = [write_story(net, tokenizer, seed) for seed in range(10)]
    right, found = right_sentences(texts, options.world)
    bits = round(loss * tokens / log(2) / size, 4)
    return {"loss": round(loss, 4), "bits_per_byte": bits, "sentences": found, "right": right}


if __name__ == "__main__":
    with plain_errors():
        train(read_flags())
