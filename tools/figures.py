"""Draw the figures of `imgs/` that show schedules and traces; the others are files of their own.

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
from helpers.draw.style import LOOKS
from helpers.files import write_whole
from helpers.schedules import Schedule, gpipe, naive, one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.trace import Trace

IMGS = Path(__file__).resolve().parents[1] / "imgs"
STAGES, MICRO_BATCHES = 4, 8
MEASURED = IMGS / "1f1b_measured.json.gz"  # a step that four processes have run
ACTION_S = 0.04  # seconds of each F, I and W in it


def main(arguments: list[str] | None = None) -> int:
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
    drawn = FIGURES[name]()
    return drawn if isinstance(drawn, str) else drawn.svg()


def words(svg: str) -> list[str]:
    """The title and every label of a figure."""
    return [unescape(text) for text in re.findall(r"<(?:title|text)[^>]*>([^<]+)<", svg)]


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


FIGURES: dict[str, Callable[[], Picture | str]] = {
    "naive": lambda: pipeline(lambda stages, _: naive(stages), 1),
    "gpipe": lambda: pipeline(gpipe, MICRO_BATCHES),
    "1f1b": lambda: pipeline(one_f_one_b, MICRO_BATCHES),
    "data_parallel": lambda: lanes(Trace.load(IMGS / "data_parallel.json.gz")),
    "three_ways": three_ways,
}

if __name__ == "__main__":
    sys.exit(main())
