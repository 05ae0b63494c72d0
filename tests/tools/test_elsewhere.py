"""Running the lab on another system: a wrong command is refused before anything is made."""

import os
import subprocess
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
PLACES = sorted(path.stem for path in (TOOLS / "elsewhere").glob("*.sh"))

pytestmark = pytest.mark.skipif(os.name == "nt", reason="another system's root is made on Linux")


@pytest.fixture
def elsewhere(tmp_path):
    """Run the command as somebody who is not root, whoever runs the tests."""
    (tmp_path / "id").write_text("#!/bin/sh\necho 4242\n")
    (tmp_path / "id").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "ELSEWHERE": str(tmp_path / "made")}

    def run(*arguments):
        command = ["sh", TOOLS / "elsewhere.sh", *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout == "" and not (tmp_path / "made").exists()
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        return done.stderr

    return run


@pytest.mark.parametrize("arguments", [(), ("mars",), ("",)])
def test_a_place_that_there_is_not_is_refused_with_those_that_there_are(arguments, elsewhere):
    assert elsewhere(*arguments).endswith(f"there are {' '.join(PLACES)}\n")


@pytest.mark.parametrize("place", PLACES)
def test_who_is_not_root_is_told_what_to_type(place, elsewhere):
    assert elsewhere(place).endswith(f"sudo make elsewhere PLACE={place}\n")
    text = (TOOLS / "elsewhere" / f"{place}.sh").read_text(encoding="utf-8")
    assert text.startswith("# ") and ("\nhere\n" in text or "\ndebian " in text)
