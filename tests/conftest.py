"""For every test: in which run and in which worker it runs, and that none quietly does not run.

`make test` leaves out what is slow, `make test-all` what is long, and both run two workers. One of
them runs all that starts ranks, one test after the other, while the other computes: a rank that
waits for the processor looks like one that stands still. Alone, `python -m pytest tests/jobs` runs
all that it is given.

Under CI a test that is skipped or expected to fail fails the session.
"""

import functools
import gc
import os
import re
import sys
from multiprocessing.util import get_temp_dir

import pytest

# nbformat would build a parser of all internet addresses, in seconds, for what no notebook has.
sys.modules.setdefault("rfc3987_syntax", None)
os.environ.setdefault("MPLBACKEND", "Agg")
get_temp_dir()  # for good: a test's own folder may be too long for the address of a socket
os.environ.pop("PUZZLES_PROFILE", None)
if "LAB_GPU" not in os.environ:  # `make gpu` looks at them
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
# Two threads that wait for each other on a busy machine can take many times as long as one.
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS") or "1"

# What a file says of all its tests: that they are slow, and which lane they are in.
WHOLE = re.compile(r"^pytestmark = (?:\[[^]]*|pytest\.)mark\.(?:slow|long)\b", re.MULTILINE)
LANE = re.compile(r"^pytestmark = (?:\[[^]]*|pytest\.)mark\.(ranks|patient)\b", re.MULTILINE)
# What most tests' functions import on their ranks: once for all, as each launch has new ones.
IMPORTED = "checkpoint oracle parallel pipeline ranks.start search trace".split()
IMPORTED = [*(f"helpers.{name}" for name in IMPORTED), "pytest", "simplellm.llama"]


def pytest_ignore_collect(collection_path, config):
    """Don't even import a file that is slow as a whole, if what is slow won't run."""
    if config.option.markexpr == "not slow" and collection_path.match("test_*.py"):
        return bool(WHOLE.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_finish():
    gc.freeze()  # a hundred imported packages: each full collection would look at all of them


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    for item in items:
        case = item.callspec.id if hasattr(item, "callspec") else ""
        for name in ("slow", "long"):
            if any(case.startswith(m.args) for m in item.iter_markers(f"{name}_for")):
                item.add_marker(name)
        if item.get_closest_marker("long"):
            item.add_marker("slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker one lane after the other; a test in no lane is one by itself."""
    from xdist.scheduler import LoadScopeScheduling

    @functools.cache
    def lane_of(file):
        found = LANE.search((config.rootpath / file).read_text(encoding="utf-8"))
        return found and found[1]

    class ByLane(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return lane_of(nodeid.partition("::")[0]) or nodeid

    return ByLane(config, log)


@pytest.fixture(scope="session")
def warm_ranks():
    """Keep ranks warm between all tests, as a notebook does: to start them takes the most time."""
    from helpers.ranks import keep_warm

    keep_warm(4, imports=IMPORTED)
    yield
    keep_warm(0)


@pytest.fixture(autouse=True)
def ranks_are_warm(request):
    if os.environ.get("LAB_WARM") == "0":  # few tests of a run start ranks
        return
    if request.node.get_closest_marker("ranks"):
        request.getfixturevalue("warm_ranks")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # no worker has it
    stats = (
        reporter.stats if reporter and os.environ.get("CI", "") not in ("", "0", "false") else {}
    )
    for report in [*stats.get("skipped", ()), *stats.get("xfailed", ())]:
        reporter.write_line(f"\na test did not run that should have: {report.nodeid}", red=True)
        session.exitstatus = 1
