"""Under CI a test that does not run fails the session, and one worker runs all of a lane."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
NOT_RUN = "a test did not run that should have"
TWO_WORKERS = ("-p", "xdist.plugin", "-n", "2")
WAYS = {
    "test_skip": "def test_skip(): pytest.skip('no time')",
    "test_mark": "@pytest.mark.skipif(True, reason='no time')\ndef test_mark(): pass",
    "test_fixture": "@pytest.fixture\ndef f(): pytest.skip('no time')\ndef test_fixture(f): pass",
    "test_xfail": "@pytest.mark.xfail(reason='known')\ndef test_xfail(): assert False",
    "test_xpass": "@pytest.mark.xfail(reason='known')\ndef test_xpass(): pass",
    "test_module.py": "pytest.importorskip('no_such_module')\ndef test_never(): pass",
}


def session(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess:
    """Run pytest in a folder of its own, with our conftest, outside of CI unless told."""
    shutil.copy(CONFTEST, folder / "conftest.py")
    (folder / "test_good.py").write_text("def test_good(): pass\n")
    mine = ("CI", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    quiet = {name: value for name, value in os.environ.items() if name not in mine}
    quiet["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # it starts in half the time
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**quiet, **settings}, capture_output=True, text=True
    )


def test_each_way_not_to_run_fails_and_is_listed_under_ci(tmp_path):
    for name, text in WAYS.items():
        path = tmp_path / (name if name.endswith(".py") else f"test_of_{name}.py")
        path.write_text(f"import pytest\n{text}\n")
    for workers in ((), TWO_WORKERS):
        done = session(tmp_path, *workers, "--continue-on-collection-errors", CI="true")
        assert done.returncode == 1
        for name in WAYS:
            assert any(NOT_RUN in line and name in line for line in done.stdout.splitlines()), name
        last = done.stdout.strip().splitlines()[-1]
        assert "1 passed" in last and "skipped" not in last and "xfailed" not in last
    done = session(tmp_path)  # outside of CI none of it is a failure
    assert done.returncode == 0 and NOT_RUN not in done.stdout
