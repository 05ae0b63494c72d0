"""For every test: pictures without a screen, and under CI no test that quietly does not run.

Where CI or LAB_STRICT is set, each of these fails the session and is listed: a test that is
skipped, one that is expected to fail, and one that is deselected.
"""

import os

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
# Two threads that wait for each other on a busy machine can take many times as long as one.
os.environ.setdefault("OMP_NUM_THREADS", "1")

NOT_RUN = "a test did not run that should have"
DESELECTED = pytest.StashKey[list[str]]()


def is_strict(environment: dict[str, str] | None = None) -> bool:
    """Whether a test that does not run is a failure."""
    environment = os.environ if environment is None else environment
    return any(environment.get(name, "") not in ("", "0", "false") for name in ("CI", "LAB_STRICT"))


def made_to_fail(report):
    """The report itself, or where it says "did not run" the same report as a failure."""
    expected = getattr(report, "wasxfail", None)
    if report.outcome != "skipped" and expected is None:
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else (expected or "no reason")
    if expected is not None:
        reason = f"expected to fail: {reason}"
        del report.wasxfail
    report.outcome = "failed"
    report.longrepr = f"{NOT_RUN}: {report.nodeid} ({reason})"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return made_to_fail(report) if is_strict() else report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return made_to_fail(report) if is_strict() else report


def pytest_deselected(items):
    stash = items[0].config.stash
    stash.setdefault(DESELECTED, []).extend(item.nodeid for item in items)


def pytest_sessionfinish(session, exitstatus):
    # A run that collected nothing already ends with a code of its own.
    if is_strict() and exitstatus == 0 and session.config.stash.get(DESELECTED, []):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    names = config.stash.get(DESELECTED, [])
    if is_strict() and names:
        terminalreporter.section("deselected", red=True, bold=True)
        for name in names:
            terminalreporter.write_line(f"{NOT_RUN}: {name} (deselected)")
