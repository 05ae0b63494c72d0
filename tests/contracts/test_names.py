"""Code that was written for other courses finds the names, signatures and flags that it calls.

names.txt and flags.txt list them. Each folder is an import root of its own, so each is asked in a
process of its own: `python tests/contracts/test_contracts.py puzzles` prints what has changed.
"""

import contextlib
import inspect
import io
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def rows(table, folder):
    """The rows of a folder in a table, each on one line."""
    text = (HERE / table).read_text(encoding="utf-8")
    _, _, behind = text.partition(f"\n[{folder}]\n")
    return behind.replace("\n    ", " ").partition("\n\n")[0].splitlines()


def parameters(function):
    found = inspect.signature(function).parameters
    return {name: p for name, p in found.items() if name != "self"}


def fits(row):
    """Whether a call by these names, in this order and with these defaults, means what it did.

    More parameters are all right where they have defaults.
    """
    name, _, wanted = row.partition("(")
    function = pkgutil.resolve_name(name)
    if not wanted:
        return callable(function)
    scope = vars(sys.modules[function.__module__])
    there, wanted = parameters(function), parameters(eval(f"lambda {wanted[:-1]}: 0", scope))
    places = [name for name, p in wanted.items() if p.kind == p.POSITIONAL_OR_KEYWORD]
    if [*there][: len(places)] != places or not wanted.keys() <= there.keys():
        return False
    for name, p in there.items():
        default = wanted[name].default if name in wanted else ...
        if default is p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.default is p.empty or default not in (..., p.default):
            return False
    return True


def says(row):
    """Whether a script's --help holds all these words."""
    script, _, words = row.partition(": ")
    sys.argv, text = [script, "--help"], io.StringIO()
    sys.path.insert(0, str(Path(script).resolve().parent))
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        runpy.run_path(script, run_name="__main__")
    flat = " ".join(text.getvalue().split())
    patterns = [re.escape(each).replace("…", "(?:(?!--).)*") for each in words.split("; ")]
    return all(re.search(pattern, flat) for pattern in patterns)


@pytest.mark.parametrize("folder", [".", "puzzles", "gpt2", "TP", "DP/ddp"])
def test_a_folder_has_the_names_and_flags_that_code_of_its_course_calls(folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTHONUTF8": "1"}
    how = {"cwd": ROOT / folder, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, __file__, folder], timeout=300, **how)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_commands_of_the_homework_find_their_tests():
    text = "".join(path.read_text("utf-8") for path in (ROOT / "gpt2/tests").glob("test_*.py"))
    assert set(re.findall(r"def test_(a4_\d_\d)_", text)) == {
        "a4_1_1",
        "a4_1_2",
        "a4_2_1",
        "a4_2_2",
    }


if __name__ == "__main__":
    os.chdir(ROOT / sys.argv[1])
    sys.path[0] = os.getcwd()
    for holds, table in ((fits, "names.txt"), (says, "flags.txt")):
        for row in rows(table, sys.argv[1]):
            if not holds(row):
                print("no longer:", row)
