"""Merge the traces of several ranks into one file, and print what the ranks did.

    python -m helpers.trace traces/ -o all.json --picture all.svg

Open the file at https://ui.perfetto.dev, or read it again with `Trace.load`.
"""

import argparse
from collections import Counter

from helpers import draw
from helpers.plain_errors import plain_errors
from helpers.trace import Trace, idle_by_cause, in_lanes, shares, with_waits
from helpers.words import many

SHARES = ("computing", "communication", "input", "idle")
CAUSES = {"wait": "waiting", "communication": "transfer"}  # and what the table calls them
CAUSES |= {name: name for name in ("input", "finished", "nothing")}


def _percent(share: float) -> str:
    """Return "34.0%", and "0.04%" for what would be rounded to zero."""
    return f"{share:.2%}" if 0.00005 <= share < 0.0005 else f"{share:.1%}"


def table(trace: Trace) -> str:
    """Return a line per rank: the share of the time it computed, and what it did otherwise.

    Of a trace with marked steps (torch.profiler's): how long they took, and what had which share.
    """
    events = f"{len(trace.events):,} event{'' if len(trace.events) == 1 else 's'}"
    if not trace.duration:
        return f"{events}, no time between them."
    if any(e.kind == "step" for e in trace.events):
        heads = "".join(f"{word:>15}" for word in SHARES)
        lines = ["share of the steps:", f"{'rank':>6}{'ms':>10}{heads}"]
        for rank, found in shares(trace).items():
            parts = "".join(f"{_percent(getattr(found, name)):>15}" for name in SHARES)
            lines.append(f"{rank:>6}{1e3 * found.seconds:>10.1f}{parts}")
        return "\n".join(lines)
    split, kinds = with_waits(trace), Counter()
    lines = [
        f"{events} on {many(len(trace.ranks), 'rank')} in {trace.duration:.6g} s",
        f"{'rank':>6}" + "".join(f"{word:>10}" for word in ("busy", *CAUSES.values())),
    ]
    for rank, causes in idle_by_cause(split).items():
        each = [causes[cause] / trace.duration for cause in CAUSES]
        parts = " ".join(f"{_percent(part):>9}" for part in (1 - sum(each), *each))
        lines.append(f"{rank:>6}{parts}")
    lines.append("seconds of all ranks together:")
    for event in split.events:
        kinds[event.kind] += event.duration
    return "\n".join([*lines, *(f"{s:>12.6f}  {kind}" for kind, s in kinds.most_common(12))])


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.trace", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="+", help="trace files, one for each rank, or their folder")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the merged trace there")
    parser.add_argument("--picture", metavar="FILE", help="draw it too, as .svg or .png")
    options = parser.parse_args(arguments)
    trace = Trace.load_all(options.files)
    print(table(trace))
    if options.output:
        print(f"trace:   {trace.save(options.output)}")
    if options.picture:
        print(f"picture: {draw.lanes(in_lanes(trace)).save(options.picture)}")


if __name__ == "__main__":
    with plain_errors():
        main()
