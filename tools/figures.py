"""Draw the figures of `imgs/` from the schedules and traces that the code itself makes.

python tools/figures.py             write those that have changed
python tools/figures.py --measure   first run the step of three_ways.svg again, on four processes
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from helpers.draw import Canvas, Picture, collectives, compare, timeline
from helpers.draw.style import look
from helpers.files import write_whole
from helpers.schedules import Schedule, gpipe, naive, one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.trace import Counter, Event, Trace, examples

ROOT = Path(__file__).resolve().parents[1]
IMGS = ROOT / "imgs"
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
            write_whole(IMGS / f"{name}.svg", FIGURES[name]().svg())
            print(f"imgs/{name}.svg drawn")
    return 0


def fresh(name: str) -> bool:
    """Whether the file holds what the code draws now."""
    path = IMGS / f"{name}.svg"
    return path.is_file() and path.read_text(encoding="utf-8") == FIGURES[name]().svg()


def pipeline(build: Callable[..., Schedule], micro_batches: int) -> Picture:
    """A schedule on a clock where forward takes 1 s and backward 2 s, and messages are free."""
    return timeline(simulate(build(STAGES, micro_batches), Costs()).trace)


def data_parallel() -> Picture:
    return timeline(examples.data_parallel())


def dp_x_pp() -> Picture:
    """Two pipelines of three stages, three micro-batches each, and an all-reduce for each stage."""
    one = simulate(one_f_one_b(3, 3), Costs(all_reduce=1.5, update=0.5)).trace
    two = Trace(
        [_on_rank(event, event.rank + 3) for event in one.events],
        counters=[Counter(c.rank + 3, c.name, c.time, c.value) for c in one.counters],
    )
    both = Trace([_with_twin(event) for event in (*one.events, *two.events)])
    title = (
        "DP x PP: two pipelines of three stages; each stage averages its gradients with its twin"
    )
    return timeline(both, title)


def three_ways(name: str) -> Picture:
    """One plan, read three ways: as text, as a simulated step and as a measured one."""
    plan, measured = one_f_one_b(STAGES, MICRO_BATCHES), Trace.load(MEASURED)
    predicted = simulate(plan, Costs(ACTION_S, ACTION_S, ACTION_S))
    longer = measured.duration / predicted.step_time - 1
    below = compare(
        {"simulated": predicted.trace, "measured": measured},
        f"Run it, simulate it: four processes took {100 * longer:.1f} % longer than predicted",
        theme=name,
    )
    canvas = Canvas(below.canvas.width, theme=name)
    title = "A plan says what each rank computes, and in which order"
    canvas.heading(title)
    for rank, line in enumerate(str(plan).splitlines()):
        y = 52 + 24 * rank
        canvas.text(14, y, f"rank {rank}", 12)
        for place, action in enumerate(line.partition(": ")[2].split()):
            color = look(action[0]).color
            canvas.box(66 + 46.5 * place, y - 9, 42, 18, color, action, bold=True)
    down = 52 + 24 * plan.size
    canvas.shapes += [_moved(shape, down) for shape in below.canvas.shapes]
    canvas.height = down + below.canvas.height
    orders = " ".join(f"{line}." for line in str(plan).splitlines())
    return Picture(canvas, title, f"{title}. {orders} {below.alt}")


def _moved(shape, down: float):
    if hasattr(shape, "points"):
        return replace(shape, points=[(x, y + down) for x, y in shape.points])
    return replace(shape, y=shape.y + down)


def measure() -> None:
    """Run the step of `three_ways` five times, and keep the fastest."""
    from helpers.pipeline import Pace, run_paced

    plan, pace = one_f_one_b(STAGES, MICRO_BATCHES), Pace(ACTION_S, ACTION_S, ACTION_S)
    steps = [run_paced(plan, pace) for _ in range(5)]
    min(steps, key=lambda step: step.step_time).trace.save(MEASURED)


def _on_rank(event: Event, rank: int) -> Event:
    info = dict(event.info)
    for key in ("peer", "until"):
        if key in info:
            info[key] += rank - event.rank
    return Event(rank, event.kind, event.start, event.end, event.lane, event.name, info)


def _with_twin(event: Event) -> Event:
    if event.kind == "all-reduce":
        event.info["group"] = [event.rank % 3, event.rank % 3 + 3]
    return event


FIGURES: dict[str, Callable[[], Picture]] = {
    "naive": lambda: pipeline(lambda stages, _: naive(stages), 1),
    "gpipe": lambda: pipeline(gpipe, MICRO_BATCHES),
    "1f1b": lambda: pipeline(one_f_one_b, MICRO_BATCHES),
    "data_parallel": data_parallel,
    "dp_x_pp": dp_x_pp,
    "collectives": collectives,
    "three_ways": lambda: three_ways("light"),
    "three_ways_dark": lambda: three_ways("dark"),
}

if __name__ == "__main__":
    sys.exit(main())
