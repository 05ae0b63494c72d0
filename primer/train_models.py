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
from intro import train

from helpers.plain_errors import plain_errors
from simplellm import models
from simplellm.checkpoint import load_model, save_model, write_whole
from simplellm.dataloaders import TinyStories
from simplellm.generation import write_story
from simplellm.losses import causalLLMLoss
from simplellm.options import OneDeviceFlags, make_model, prepare
from simplellm.stories import right_sentences

EARLY, MIDDLE = 0.012, 0.12  # of the steps


def main():
    flags = OneDeviceFlags(__doc__, batch_size=4)
    flags.set_defaults(steps=6000, seq_l=256, lr=3e-3, lr_schedule="decay", device="cpu")
    flags.add_argument("--out", type=Path, default=models.FOLDER, help="where to write")
    options = flags.parse_args()
    tokenizer, net = prepare(options, "cpu")
    early, middle = max(1, round(EARLY * options.steps)), max(2, round(MIDDLE * options.steps))
    ends = {early: "early", middle: "middle", options.steps: "best"}
    sizes = "tokenizer dmodel heads layers seq_l world seed".split()
    table = {"model": {name: getattr(options, name) for name in sizes}}
    begun = time.perf_counter()

    def say(step, loss):
        done, minutes = step + 1, (time.perf_counter() - begun) / 60
        if done % 100 == 0:
            print(f"step {done}  loss {loss:.3f}", flush=True)
        if done in ends:
            file = options.out / f"{ends[done]}.safetensors"
            save_model(copy.deepcopy(net).half(), file)
            saved = load_model(make_model(options, tokenizer), file)
            tokens = done * options.batch_size * options.seq_l
            about = {"steps": done, "tokens": tokens, "minutes": round(minutes, 1)}
            table[ends[done]] = about | measure(saved, tokenizer, options)
            print(ends[done], table[ends[done]], flush=True)
            write_whole(options.out / "models.json", json.dumps(table, indent=2).encode() + b"\n")

    train(options, say, net)


@torch.no_grad()
def measure(net, tokenizer, options):
    """Return loss and bits per byte on stories that it hasn't read, and how it writes."""
    how = {"seq_l": options.seq_l, "split": "validation", "world": options.world}
    batches = list(islice(TinyStories(tokenizer, batch_size=8, **how), 8))
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
        main()
