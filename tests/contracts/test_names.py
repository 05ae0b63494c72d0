"""Code that was written for other courses finds the names and signatures that it calls.

names.txt lists them. Each folder is an import root of its own, so each is asked in a process of its
own: `python tests/contracts/test_names.py puzzles` prints what has changed.
"""

import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def rows(folder):
    """The names of a folder, each on one line."""
    text = Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    section = text.split(f"\n[{folder}]\n")[1].split("\n\n")[0]
    return section.replace("\n    ", " ").splitlines()


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


@pytest.mark.parametrize("folder", [".", "puzzles", "gpt2", "TP"])
def test_a_folder_has_the_names_that_code_of_its_course_calls(folder):
    how = {"env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, __file__, folder], timeout=300, **how)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_commands_of_the_homework_find_their_tests():
    text = "".join(path.read_text("utf-8") for path in (ROOT / "gpt2/tests").glob("test_*.py"))
    found = sorted(set(re.findall(r"def test_(a4_\d_\d)_", text)))
    assert found == ["a4_1_1", "a4_1_2", "a4_2_1", "a4_2_2"]


if __name__ == "__main__":
    os.chdir(ROOT / sys.argv[1])
    sys.path[0] = os.getcwd()
    for row in rows(sys.argv[1]):
        if not fits(row):
            print("no longer:", row)
