"""A replica that is cut off: it's alive, computes, and nobody hears it, until the cable is back.

    python cut_off.py        three replicas; 2 is on a host of its own, and its cable is pulled

The hosts are two network namespaces of Linux, as in lesson 20. Neither side gets an error: a pulled
cable is only silence. The run itself is that of `never_stops`.
"""

import functools
import json
import subprocess
import sys
from pathlib import Path

from never_stops import distance, survive
from replica import run
from work import Work

from helpers.network import TwoHosts, why_not

REPLICAS, STEPS, SILENCE, PACE = 3, 12, 1.0, 0.2
FAULTS = [(4, "cut", 2), (8, "mend", 2), (8, "back", 2)]


def told(faults=FAULTS):
    """Run on two hosts and tell who counted in which step; or say why that can't be done here."""
    if why := why_not():
        return f"Not on this machine: {why}."
    found = cut_off(faults)
    rows = [[replica for replica, _ in places] for places in found["counted"]]
    lines = [f"step {step:2}: counted {row}" for step, row in enumerate(rows)]
    lines += [f"the replicas' weights differ by {found['apart']:.1g}"]
    return "\n".join([*lines, f"and from one device's by {found['away']:.1g}"])


def cut_off(faults=FAULTS):
    """Run on two hosts; return what `inside` found, as a dictionary.

    Raises:
        NoHosts: this machine can't be two hosts.
        RuntimeError: the run has failed; its traceback.
    """
    here = [sys.executable, __file__]
    with TwoHosts() as hosts:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        first = hosts.start(0, [*here, "inside", json.dumps(faults)], **options)
        hosts.start(1, [*here, "replica", first.stdout.readline()])
        found, errors = first.communicate(timeout=120)
        if first.returncode:
            raise RuntimeError(errors)
        return json.loads(found)


def inside(faults):
    """Be the host with the lighthouse and with all replicas but the last one."""

    def elsewhere(*where):
        print(json.dumps(where), flush=True)
        return pull_or_plug

    outcome = survive(
        REPLICAS, STEPS, faults, SILENCE, PACE, host=TwoHosts.addresses[0], elsewhere=elsewhere
    )
    apart, away = distance(outcome, REPLICAS)
    found = {"counted": [sorted(places.items()) for places in outcome.counted]}
    print(json.dumps(found | {"ended": sorted(outcome.weights), "apart": apart, "away": away}))


def pull_or_plug(action):
    """Pull the cable at this host's end, or plug it in again."""
    state = {"cut": "down", "mend": "up"}[action]
    subprocess.run(["ip", "link", "set", TwoHosts.interface, state], check=True)


def main():
    role, *more = sys.argv[1:] or ["both"]
    if role == "inside":
        inside([tuple(fault) for fault in json.loads(more[0])])
    elif role == "replica":
        lighthouse, folder = json.loads(more[0])
        run(REPLICAS - 1, tuple(lighthouse), functools.partial(Work, REPLICAS), folder, PACE)
    else:
        print(told())


if __name__ == "__main__":
    main()
