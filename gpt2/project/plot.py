"""Four figures from the results: training time and tokens per second, one device beside several.

    cd gpt2
    python project/plot.py        reads workdir/, writes submit_figures/

Of a run with several ranks the time is the mean over the ranks, and the tokens per second are
their sum. The first epoch warms up and is left out. The black line is from the least to the most
of the epochs.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from wrong_input import plain_words

from helpers.draw.style import BLUE, ORANGE
from project.results import Result, read_epochs
from project.run_pipeline import MODES

NAMES = {"training_time": "seconds of an epoch", "tokens_per_sec": "tokens per second"}


@dataclass(frozen=True)
class Run:
    """A run: its name in a figure, and of each rank the results of its epochs."""

    name: str
    ranks: list[list[Result]]

    def epochs(self, fact: str) -> list[float]:
        """One number an epoch: the mean of the ranks' times, the sum of the ranks' tokens."""
        sums = [
            sum(getattr(result, fact) for result in epoch)
            for epoch in zip(*self.ranks, strict=True)
        ]
        return sums if fact == "tokens_per_sec" else [total / len(self.ranks) for total in sums]

    def mean(self, fact: str) -> float:
        epochs = self.epochs(fact)
        return sum(epochs) / len(epochs)


def data_parallel(workdir: Path, world_size: int) -> Run:
    folder = workdir / f"world_size{world_size}"
    name = "one device" if world_size == 1 else f"{world_size} devices,\ndata parallel"
    return Run(name, [read_epochs(folder, f"rank{rank}") for rank in range(world_size)])


def pipeline(workdir: Path, mode: str) -> Run:
    return Run(mode.replace("_", " "), [read_epochs(workdir, mode)])


def figure(first: Run, second: Run, fact: str, path: Path) -> str:
    """Two bars in a file; gives the title, which says what was found."""
    runs = (first, second)
    heights = [run.mean(fact) for run in runs]
    spread = [(mean - min(e), max(e) - mean) for mean, e in
              zip(heights, (run.epochs(fact) for run in runs), strict=True)]  # fmt: skip
    plain = [run.name.replace("\n", " ") for run in runs]
    title = f"{plain[1]}: {heights[1] / heights[0]:.2f} times the {NAMES[fact]}\nof {plain[0]}"
    figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
    names = [run.name for run in runs]
    bars = axes.bar(names, heights, color=[BLUE, ORANGE], width=0.55,
                    yerr=list(zip(*spread, strict=True)), capsize=5)  # fmt: skip
    told = [f"{height:,.3g}" if height < 100 else f"{height:,.0f}" for height in heights]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes.bar_label(bars, told, label_type="center", bbox=box)
    axes.set_ylabel(NAMES[fact])
    axes.set_title(title, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=140, metadata={"Software": None})
    plt.close(figure)
    return title.replace("\n", " ")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draw the four figures of the homework.")
    parser.add_argument("--workdir", type=Path, default=Path("workdir"))
    parser.add_argument("--figures", type=Path, default=Path("submit_figures"))
    parser.add_argument("--world_size", type=int, default=2, help="ranks of the larger run")
    options = parser.parse_args(arguments)
    with plain_words():
        pairs = {
            "data_parallel": [
                data_parallel(options.workdir, size) for size in (1, options.world_size)
            ],
            "pipeline": [pipeline(options.workdir, mode) for mode in MODES],
        }
    for name, pair in pairs.items():
        for fact in NAMES:
            print(figure(*pair, fact, options.figures / f"{name}_{fact}.png"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
