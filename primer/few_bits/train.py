"""Train a small LLaMA in each format: how far from the entropy of the text does it end?

    python train.py        writes train.json, which the lesson reads: three seeds of every recipe

Every run of a seed starts from the same weights and reads the same stories. Each batch is taken for
one of 1,024, as if a step read 131,072 tokens, so gradients are as small as in a large run.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from recipes import RECIPES, Trainer

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_optimizer, prepare, stories_of_ranks
from simplellm.stories import floor

SIZES = "--size story --dmodel 128 --seq-l 64 --layers 2".split()
SEEDS, STEPS, SHARE = 3, 120, 1024
RECORDED = Path(__file__).with_name("train.json")


def train(name: str, seed: int, steps: int = STEPS, rate: float = 2e-3) -> float:
    """Return the loss on unseen stories after so many steps, in nats per token above the floor."""
    torch.set_num_threads(1)
    flags = [*SIZES, "--seed", str(seed), "--lr", str(rate), "--steps", str(steps)]
    options = TrainingFlags("", batch_size=2).parse_args([*flags, "--lr-schedule", "decay"])
    tokenizer, net = prepare(options, "cpu")
    trainer = Trainer(net, make_optimizer(options, net), RECIPES[name], SHARE)
    stories = stories_of_ranks(options, tokenizer, 1)
    for _ in range(steps):
        ids = next(stories)
        trainer.step(causalLLMLoss(net(ids), ids, tokenizer.vocab_size))
    sizes = {"batch_size": 64, "seq_l": options.seq_l, "world": options.world}
    unseen = next(iter(TinyStories(tokenizer, "validation", quiet=True, **sizes)))
    with torch.no_grad():
        loss = causalLLMLoss(net(unseen), unseen, tokenizer.vocab_size).item()
    return round(loss - floor(tokenizer, world=options.world).nats_per_token, 4)


def recorded() -> dict[str, list[float]]:
    """Return what running this file has measured: by recipe, the distances of the seeds."""
    return json.loads(RECORDED.read_text())


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as workers:
        ends = {name: workers.map(train, [name] * SEEDS, range(SEEDS)) for name in RECIPES}
        found = {name: list(losses) for name, losses in ends.items()}
    RECORDED.write_text(json.dumps(found, indent=2) + "\n")
