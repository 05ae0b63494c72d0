"""Tests on several MPI ranks: they fail where they cannot run, and never hang in silence.

    python3 -m pytest -l -v tests/test_data_split.py
    mpirun -n 8 python3 -m pytest -l -v --with-mpi tests/test_get_info.py

Two flags of the plugin pytest-mpi are known here too, so that the commands above work without it.
It skips what it cannot run, and so looks green; here a test that needs ranks fails without them.
"""

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the lab is its own import root

LEAST = 2  # ranks that a test on ranks needs
# As mpirun says it, without a look at MPI: of Open MPI; of MPICH, Intel and Microsoft.
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
RANK = next((int(os.environ[name]) for name in RANKS if name in os.environ), 0)


def pytest_addoption(parser):
    try:
        parser.addoption("--with-mpi", action="store_true", help="run the tests that need ranks")
    except ValueError:
        pass  # pytest-mpi is installed, and has it


def pytest_configure(config):
    config.addinivalue_line("markers", "mpi: runs on all ranks of mpirun, together")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    if RANK > 0:  # rank 0 speaks for all
        session.config.pluginmanager.unregister(name="terminalreporter")


def refuse(sentence):
    """End all ranks: rank 0 says why."""
    if RANK > 0:
        time.sleep(15)  # mpirun ends all ranks as soon as one has ended
        pytest.exit("rank 0 says why", returncode=4)
    raise pytest.UsageError(sentence)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Refuse to go on where a test would need ranks that are not there."""
    needing = [item for item in items if item.get_closest_marker("mpi")]
    if not needing:
        return
    file = Path(str(needing[0].path)).name
    command = f"mpirun -n 4 python3 -m pytest -l -v --with-mpi tests/{file}"
    if not config.getoption("--with-mpi"):
        refuse(f"{len(needing)} tests need several ranks and --with-mpi: type  {command}")
    from mpi_wrapper.world import find_world

    try:
        ranks = find_world().Get_size()
    except ValueError as error:
        refuse(str(error))
    if ranks < LEAST:
        refuse(f"{len(needing)} tests need {LEAST} ranks or more, there is one: type  {command}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test has passed if it has passed on every rank; one that not every rank ends, ends all.

    A rank whose test fails leaves the others alone in a collective, where they wait for ever.
    """
    report = yield
    if call.when == "call" and item.get_closest_marker("mpi"):
        from mpi4py import MPI
        from mpi_wrapper.world import all_arrive

        comm, text = MPI.COMM_WORLD, report.longreprtext if report.failed else ""
        if not all_arrive(comm):
            print(
                f"\nrank {comm.Get_rank()} is done with {item.nodeid}, and others are not: they "
                f"wait for what does not come, and are ended.\n{text}",
                file=sys.stderr,
                flush=True,
            )
            comm.Abort(1)
        texts = comm.allgather(text)
        failed = [rank for rank, said in enumerate(texts) if said]
        if failed and not report.failed:
            report.outcome = "failed"
            report.longrepr = f"failed on rank {failed[0]}:\n{texts[failed[0]]}"
    return report


@pytest.fixture
def world():
    """All ranks, as mpi4py gives them: not wrapped."""
    from mpi4py import MPI

    return MPI.COMM_WORLD


@pytest.fixture(params=["raw", "wrapped"])
def comm(request, world):
    """All ranks: first mpi4py's own communicator, then the lab's."""
    from mpi_wrapper.comm import Communicator

    return world if request.param == "raw" else Communicator(world)
