"""Four figures from the results: training time and tokens per second, one device beside several.

    cd gpt2
    python project/plot.py        reads workdir/, writes submit_figures/

Of a run with several ranks the time is the mean over the ranks, and the tokens per second are
their sum. The first epoch warms up and is left out. The black line is from the least to the most
of the epochs.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from helpers.plain_errors import plain_errors
from project.results import read_epochs
from project.run_pipeline import MODES

NAMES = {"training_time": "seconds of an epoch", "tokens_per_sec": "tokens per second"}


def epochs_of(run, fact):
    """Return one number an epoch: the mean of the ranks' times, the sum of the ranks' tokens.

    run: for each rank the results of its epochs.
    """
    sums = [sum(getattr(result, fact) for result in epoch) for epoch in zip(*run, strict=True)]
    return sums if fact == "tokens_per_sec" else [total / len(run) for total in sums]


def figure(runs, fact, path):
    """Draw two bars into a file, and return the title, which says what was found."""
    epochs = [epochs_of(run, fact) for run in runs.values()]
    heights = [sum(each) / len(each) for each in epochs]
    pairs = list(zip(heights, epochs, strict=True))
    below, above = [mean - min(e) for mean, e in pairs], [max(e) - mean for mean, e in pairs]
    first, second = runs
    title = f"{second}: {heights[1] / heights[0]:.2f} times the {NAMES[fact]} of {first}"
    figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
    bars = axes.bar(list(runs), heights, color=["C0", "C1"], width=0.55, yerr=[below, above])
    axes.bar_label(bars, fmt="{:,.4g}", label_type="center", bbox={"facecolor": "white"})
    axes.set_ylabel(NAMES[fact])
    axes.set_title(title, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140)
    plt.close(figure)
    return title


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Draw the four figures of the homework.")
    parser.add_argument("--workdir", type=Path, default=Path("workdir"))
    parser.add_argument("--figures", type=Path, default=Path("submit_figures"))
    parser.add_argument("--world_size", type=int, default=2, help="ranks of the larger run")
    options = parser.parse_args(arguments)
    size, work = options.world_size, options.workdir

    def ranks(size):
        return [read_epochs(work / f"world_size{size}", f"rank{rank}") for rank in range(size)]

    with plain_errors():
        replicas = {"one device": ranks(1), f"{size} devices, data parallel": ranks(size)}
        stages = {mode.replace("_", " "): [read_epochs(work, mode)] for mode in MODES}
    for name, runs in {"data_parallel": replicas, "pipeline": stages}.items():
        for fact in NAMES:
            print(figure(runs, fact, options.figures / f"{name}_{fact}.png"))


if __name__ == "__main__":
    main()
