"""Turn a trace into one HTML file: an interactive timeline that opens without Python.

python -m helpers.timeline traces/ -o step.html
python -m helpers.timeline predicted.json --measured traces/ -o both.html
python -m helpers.timeline profiles/ --lanes       of torch.profiler: its steps, in three lanes
"""

import argparse

from helpers.plain_errors import plain_errors
from helpers.timeline import timeline
from helpers.trace import Trace, in_lanes


def main(arguments: list[str] | None = None) -> None:
    formatted = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "helpers.timeline", description=__doc__, formatter_class=formatted
    )
    parser.add_argument("files", nargs="+", help="trace files, one for each rank, or their folder")
    parser.add_argument("--measured", nargs="+", help="a second trace, laid below the first")
    parser.add_argument("--lanes", action="store_true", help="of a profile: its three lanes alone")
    parser.add_argument("--title", default="", help="what was found; left out, it is computed")
    parser.add_argument("-o", "--output", metavar="FILE", default="timeline.html")
    options = parser.parse_args(arguments)
    given = {"": options.files}
    if options.measured:
        given = {"predicted": options.files, "measured": options.measured}
    traces = {name: Trace.load_all(files) for name, files in given.items()}
    if options.lanes:
        traces = {name: in_lanes(trace) for name, trace in traces.items()}
    widget = timeline(traces, options.title)
    print(widget.title)
    print(f"timeline: {widget.save(options.output)}")


if __name__ == "__main__":
    with plain_errors():
        main()
