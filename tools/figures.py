"""Draw the figures of `imgs/` from the schedules and traces that the code itself makes.

python tools/figures.py             write those that have changed
python tools/figures.py --check     name those that are stale; exit status 1 if there are any
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from helpers.draw import Picture, collectives, timeline
from helpers.files import write_whole
from helpers.schedules import Schedule, gpipe, naive, one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.trace import Counter, Event, Trace, examples

ROOT = Path(__file__).resolve().parents[1]
IMGS = ROOT / "imgs"
STAGES, MICRO_BATCHES = 4, 8


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    stale = [name for name in FIGURES if not fresh(name)]
    for name in stale:
        if not options.check:
            write_whole(IMGS / f"{name}.svg", FIGURES[name]().svg())
        print(f"imgs/{name}.svg {'is stale: make figures' if options.check else 'drawn'}")
    return int(options.check and bool(stale))


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
}

if __name__ == "__main__":
    sys.exit(main())
