"""Train healthy runs and every mistake; print what tasks/answers/_curves.json keeps of them.

    python curves.py                ten minutes

Nobody chose the seeds: the healthy runs have 0 to 24, and the sick ones those that follow, each of
which is also trained without its mistake: its twin.
"""

import json

import one_device
from cases import EVERY, RANKS, load_source, loaded, truth

from helpers.ranks import launch

HEALTHY = range(25)


def printed(log):
    """Return the losses that a training prints."""
    return [round(line["loss"], 4) for line in log[EVERY - 1 :: EVERY]]


def on_rank(texts):
    """On a rank: the printed losses of each script, by name and seed."""
    found = {}
    for (name, seed), text in texts.items():
        found[name, seed] = printed(loaded(text).train(seed)[0])
    return found


def sick_texts():
    """Return the script of every variant of a mistake, by name and seed."""
    known, texts = truth("_mistakes"), {}
    for name, mistake in {"left over": known.EXAMPLE, **known.MISTAKES}.items():
        for which, planted in enumerate(mistake.variants):
            seed = len(HEALTHY) + len(texts)
            texts[f"{name} {which}", seed] = load_source("_trainer").replace(*planted[:2])
    return texts


if __name__ == "__main__":
    texts = sick_texts()
    healthy, twins = (
        {seed: printed(one_device.train(seed)[0]) for seed in seeds}
        for seeds in (HEALTHY, [seed for _, seed in texts])
    )
    ranks = launch(on_rank, RANKS, (texts,), quiet=True, checked=False, timeout=1800)
    sick = {name: {seed: losses} for (name, seed), losses in ranks[0].items()}
    print(json.dumps({"healthy": healthy, "twins": twins, "sick": sick}))
