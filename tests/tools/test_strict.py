"""Under CI a test that does not run fails the session: the rule of tests/conftest.py."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
NOT_RUN = "a test did not run that should have"
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
    quiet = {name: value for name, value in os.environ.items() if name not in ("CI", "LAB_STRICT")}
    quiet["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # it starts in half the time
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env={**quiet, **settings}, capture_output=True, text=True
    )


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / (name if name.endswith(".py") else f"test_of_{name}.py")
        path.write_text(f"import pytest\n{WAYS[name]}\n")
    (folder / "test_good.py").write_text("def test_good(): pass\n")


def test_each_way_not_to_run_fails_and_is_listed_under_ci(tmp_path):
    write(tmp_path, *WAYS)
    done = session(tmp_path, "--continue-on-collection-errors", CI="true")
    assert done.returncode == 1
    for name in WAYS:
        assert any(NOT_RUN in line and name in line for line in done.stdout.splitlines()), name
    last = done.stdout.strip().splitlines()[-1]
    assert "1 passed" in last and "skipped" not in last and "xfailed" not in last


def test_outside_of_ci_the_same_tests_are_no_failure(tmp_path):
    write(tmp_path, *WAYS)
    done = session(tmp_path)
    assert done.returncode == 0
    assert NOT_RUN not in done.stdout


@pytest.mark.parametrize("name", ["CI", "LAB_STRICT"])
def test_a_deselected_test_fails_the_session(tmp_path, name):
    write(tmp_path, "test_skip")
    done = session(tmp_path, "-k", "good", **{name: "1"})
    assert done.returncode == 1
    assert f"{NOT_RUN}: test_of_test_skip.py::test_skip (deselected)" in done.stdout


def test_a_run_without_any_test_fails(tmp_path):
    assert session(tmp_path, CI="true").returncode != 0


def test_a_run_in_which_everything_runs_passes(tmp_path):
    write(tmp_path)
    assert session(tmp_path, CI="true").returncode == 0
    assert session(tmp_path, "-k", "good", CI="false").returncode == 0
