"""Draw the figures of `imgs/`: schedules and traces that the code makes, and drawings of constants.

python tools/figures.py             write those that have changed
python tools/figures.py --measure   first run the step of three_ways.svg again, on four processes
"""

import argparse
import re
import sys
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path

from helpers.draw import Picture, cells, lanes
from helpers.draw.diagrams import part_color, ring_steps, table
from helpers.draw.picture import PAD, arrow, box, boxes, canvas, styled, write
from helpers.draw.style import BAND, INK, LOOKS, MUTED, PURPLE, RANKS
from helpers.files import write_whole
from helpers.schedules import Schedule, gpipe, naive, one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.trace import Trace

IMGS = Path(__file__).resolve().parents[1] / "imgs"
STAGES, MICRO_BATCHES = 4, 8
MEASURED = IMGS / "1f1b_measured.json.gz"  # a step that four processes have run
ACTION_S = 0.04  # seconds of each F, I and W in it


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="run the measured step again")
    if parser.parse_args(arguments).measure:
        measure()
    for name in FIGURES:
        if not fresh(name):
            write_whole(IMGS / f"{name}.svg", svg(name))
            print(f"imgs/{name}.svg drawn")
    return 0


def fresh(name: str) -> bool:
    """Whether the file says what the code draws now; another matplotlib may draw it otherwise."""
    path = IMGS / f"{name}.svg"
    return path.is_file() and words(path.read_text("utf-8")) == words(svg(name))


def svg(name: str) -> str:
    """The text of a figure."""
    drawn = FIGURES[name]()
    return drawn if isinstance(drawn, str) else drawn.svg()


def words(svg: str) -> list[str]:
    """The title and every label of a figure."""
    return [unescape(text) for text in re.findall(r"<(?:title|text)[^>]*>([^<]+)<", svg)]


# --- schedules and traces ------------------------------------------------------------------------


def pipeline(build: Callable[..., Schedule], micro_batches: int) -> Picture:
    """A schedule on a clock where forward takes 1 s and backward 2 s, and messages are free."""
    return lanes(simulate(build(STAGES, micro_batches), Costs()).trace)


def three_ways() -> str:
    """One plan, read three ways: as text, as a simulated step and as a measured one."""
    plan, measured = one_f_one_b(STAGES, MICRO_BATCHES), Trace.load(MEASURED)
    predicted = simulate(plan, Costs(ACTION_S, ACTION_S, ACTION_S))
    longer = measured.duration / predicted.step_time - 1
    title = f"Run it, simulate it: four processes took {100 * longer:.1f} % longer than predicted"
    below = lanes({"simulated": predicted.trace, "measured": measured}, title)
    orders = dict(line.split(": ") for line in str(plan).splitlines())
    title = "A plan says what each rank computes, and in which order"
    colors = {kind: look.color for kind, look in LOOKS.items()}
    rows = {rank: order.split() for rank, order in orders.items()}
    above = cells(rows, title, colors=colors, wide=50, high=24)
    drawn = [above.svg(), below.svg().replace("<svg ", f'<svg y="{above.high}" ', 1)]
    size = f'width="{below.wide}" height="{above.high + below.high}"'
    head = f'<svg role="img" xmlns="http://www.w3.org/2000/svg" {size}>'
    return f"{head}<title>{escape(f'{above.alt} {below.alt}')}</title>{''.join(drawn)}</svg>\n"


def measure() -> None:
    """Run the step of `three_ways` five times, and keep the fastest."""
    from helpers.pipeline import Pace, run_paced

    plan, pace = one_f_one_b(STAGES, MICRO_BATCHES), Pace(ACTION_S, ACTION_S, ACTION_S)
    steps = [run_paced(plan, pace) for _ in range(5)]
    min(steps, key=lambda step: step.step_time).trace.save(MEASURED)


# --- drawings of constants -----------------------------------------------------------------------

ABC = [[f"{letter}{part}" for part in range(3)] for letter in "abc"]
NONE, SUMS = ["", "", ""], ["Σ0", "Σ1", "Σ2"]
ONE, OWN = [ABC[0], NONE, NONE], [["a", "", ""], ["", "b", ""], ["", "", "c"]]
COLLECTIVES = {  # what each does; what three ranks hold before it and after it
    "broadcast": ("one rank's tensor, for all", ONE, [ABC[0]] * 3),
    "scatter": ("one rank's tensor, a part for each", ONE,
                [["a0", "", ""], ["", "a1", ""], ["", "", "a2"]]),
    "gather": ("all parts, for one rank", OWN, [["a", "b", "c"], NONE, NONE]),
    "reduce": ("the sum, for one rank", ABC, [SUMS, NONE, NONE]),
    "reduce-scatter": ("the sum, a part for each", ABC,
                       [["Σ0", "", ""], ["", "Σ1", ""], ["", "", "Σ2"]]),
    "all-gather": ("all parts, for all", OWN, [["a", "b", "c"]] * 3),
    "all-reduce": ("the sum, for all", ABC, [SUMS] * 3),
    "all-to-all": ("from each a part for each", ABC, [*map(list, zip(*ABC, strict=True))]),
}  # fmt: skip


@styled
def collectives(*names: str) -> Picture:
    """What each of three ranks holds before and after each of some collectives."""
    across = 2 if len(names) in (2, 4) else min(len(names), 3)
    colors = dict(zip("abcΣ", (*RANKS[:3], PURPLE), strict=True))
    ax = canvas(-(-len(names) // across) * 154 - 26, wide=across * 296 + 2 * PAD - 20)
    for number, name in enumerate(names):
        x, y = number % across * 296, number // across * 154
        says, before, after = COLLECTIVES[name]
        write(ax, x, y + 6, name, 13, bold=True)
        write(ax, x, y + 25, says, 12, MUTED)
        for rank in range(3):
            write(ax, x, y + 56 + 28 * rank, f"rank {rank}", 12, MUTED)
        right, _ = table(ax, x + 46, y + 44, before, colors, 32, 28)
        arrow(ax, (right + 6, y + 84), (right + 30, y + 84), width=2)
        table(ax, right + 38, y + 44, after, colors, 32, 28)
    ax.alt = "What each of three ranks holds before and after. "
    ax.alt += " ".join(f"{name}: {COLLECTIVES[name][0]}." for name in names)
    return ax


@styled
def ring_table() -> Picture:
    """All steps of a ring all-reduce of three ranks, a row for each."""
    steps = ring_steps(3)
    ax = canvas(30 + 40 * len(steps), wide=680)
    for rank in range(3):
        write(ax, 176 + 164 * rank, 8, f"rank {rank}", 13, bold=True)
    for row, (name, held, sent) in enumerate(steps):
        write(ax, 0, 43 + 40 * row, name, 13)
        for rank, parts in enumerate(held):
            place = 176 + 164 * rank, 30 + 40 * row
            table(ax, *place, [parts], lambda value: part_color(value, 111), 44, 28)
            if sent:
                left = place[0] + 44 * sent[rank - 1] - 1
                boxes(ax, [(left, 44)], [(place[1] - 1, 28)], "none", edgecolor=INK, lw=1.8)
    ax.alt = "In each step every rank receives one part; after the last one all are finished."
    return ax


@styled
def causal_triangle(chunks: int = 8, ranks: int = 4) -> Picture:
    """Which chunks of queries meet which chunks of keys, in the color of the queries' rank."""
    ax = canvas(26 + 30 * chunks)
    owners = {"contiguous": [c * ranks // chunks for c in range(chunks)],
              "zigzag": [min(c, chunks - 1 - c) for c in range(chunks)]}  # fmt: skip
    for panel, (name, owner) in enumerate(owners.items()):
        x = 440 * panel
        write(ax, x, 8, name, 13, bold=True)
        work = dict.fromkeys(range(ranks), 0.0)
        for q in range(chunks):
            work[owner[q]] += q + 0.5
            for k in range(chunks):
                place = x + 30 * k, 26 + 30 * q
                if k < q:
                    box(ax, *place, 28, 28, RANKS[owner[q]])
                elif k == q:  # half of it
                    (a, b), look = place, {"color": RANKS[owner[q]], "lw": 0}
                    ax.fill([a, a + 28, a], [b, b + 28, b + 28], **look)
                else:
                    box(ax, *place, 28, 28, BAND)
        for rank, squares in work.items():
            y, left = 60 + 40 * rank, x + 30 * chunks + 20
            box(ax, left, y, 7 * squares, 24, RANKS[rank], f"{squares:g}")
            write(ax, left, y - 9, f"rank {rank}", 11, MUTED)
    ax.alt = "The squares of each rank: contiguous 2, 6, 10 and 14; zigzag 8 each."
    return ax


@styled
def cut_weights() -> Picture:
    """Where the parts of a weight lie on a mesh of 2 x 2 ranks, dp x tp."""
    ax = canvas(504, wide=740)
    steps = ("one device", "all of the weight"), ("parallelize_module", "cut over mesh['tp']"), \
            ("fully_shard", "its rows, over mesh['dp']")  # fmt: skip
    for number, (call, says) in enumerate(steps):
        write(ax, 60 + 242 * number, 8, call, 14, bold=True)
        write(ax, 60 + 242 * number, 27, says, 12, MUTED)
    for way, y in (("ColwiseParallel: Shard(0)", 68), ("RowwiseParallel: Shard(1)", 302)):
        write(ax, 302, y - 14, way)
        write(ax, 50, y + 84, "outputs", 12, MUTED, "right")
        write(ax, 144, y + 182, "inputs", 12, MUTED, "center")
        box(ax, 60, y, 168, 168, BAND)
        for x in (228, 470):
            arrow(ax, (x + 14, y + 84), (x + 60, y + 84), MUTED, 2)
        for tp in range(2):
            by_rows = way.startswith("Col")
            left, top, wide, high = (0, 84 * tp, 166, 82) if by_rows else (84 * tp, 0, 82, 166)
            box(ax, 302 + left, y + top, wide, high, RANKS[tp], f"tp {tp}", 13, bold=True)
            for dp in range(2):
                rank, half = 2 * dp + tp, high / 2
                place = 544 + left, y + top + dp * half, wide, half - 2
                box(ax, *place, RANKS[rank], f"rank {rank}", 13, bold=True)
    ax.alt = "Quarters from top to bottom: ranks 0, 2, 1, 3; by columns: 0 and 1 above 2 and 3."
    return ax


FIGURES: dict[str, Callable[[], Picture | str]] = {
    "naive": lambda: pipeline(lambda stages, _: naive(stages), 1),
    "gpipe": lambda: pipeline(gpipe, MICRO_BATCHES),
    "1f1b": lambda: pipeline(one_f_one_b, MICRO_BATCHES),
    "data_parallel": lambda: lanes(Trace.load(IMGS / "data_parallel.json.gz")),
    "three_ways": three_ways,
    "all_collectives": lambda: collectives(*COLLECTIVES),
    "collectives_with_a_root": lambda: collectives("broadcast", "scatter", "gather", "reduce"),
    "collectives": lambda: collectives("reduce-scatter", "all-gather", "all-reduce"),
    "all_to_all": lambda: collectives("all-to-all"),
    "ring_table": ring_table,
    "causal_triangle": causal_triangle,
    "cut_weights": cut_weights,
}

if __name__ == "__main__":
    sys.exit(main())
