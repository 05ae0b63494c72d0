"""Do experts pay? A dense model and one with experts, with the same FLOPs for each token.

    python premise.py                every run, on two cores, and writes premise.json (minutes)

Each way has four learning rates and three seeds. A run is judged on new text, as it goes on.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, product
from pathlib import Path

import torch

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.moe import Experts, give_experts
from simplellm.options import TrainingFlags, make_stories, prepare

RECORDED = Path(__file__).with_suffix(".json")
WAYS = {"dense": None, "8 experts": Experts(experts=8, top_k=2)}
RATES, SEEDS, STEPS, EVERY = (1e-3, 2e-3, 4e-3, 8e-3), 3, 1600, 200
SIZES = ["--layers", "2", "--dmodel", "32", "--batch-size", "2"]


def trained(way, rate, seed, steps=STEPS):
    """Return {step: loss on new text} of one training."""
    torch.set_num_threads(1)
    flags = [*SIZES, "--seed", str(seed), "--lr", str(rate)]
    options = TrainingFlags("", batch_size=2).parse_args(flags)
    tokenizer, net = prepare(options, "cpu")
    if WAYS[way]:
        give_experts(net, WAYS[way])
    given = {"batch_size": 32, "seq_l": options.seq_l, "world": options.world}
    held_out = next(iter(TinyStories(tokenizer, "validation", quiet=True, **given)))
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    stories, found = iter(make_stories(options, tokenizer, 0, 1, quiet=True)), {}
    for step, ids in enumerate(islice(stories, steps), 1):
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                logits = net(held_out)
                found[step] = round(causalLLMLoss(logits, held_out, tokenizer.vocab_size).item(), 4)
    return found


def recorded():
    """Return what `main` measured: {way: {rate: [{step: loss} of each seed]}}."""
    ways = json.loads(RECORDED.read_text())
    return {
        way: {
            float(rate): [{int(step): loss for step, loss in one.items()} for one in seeds]
            for rate, seeds in rates.items()
        }
        for way, rates in ways.items()
    }


def main():
    jobs = list(product(WAYS, RATES, range(SEEDS)))
    with ProcessPoolExecutor(2) as workers:
        losses = workers.map(trained, *zip(*jobs, strict=True))
    found = {way: {rate: [] for rate in RATES} for way in WAYS}
    for (way, rate, _), loss in zip(jobs, losses, strict=True):
        found[way][rate].append(loss)
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
