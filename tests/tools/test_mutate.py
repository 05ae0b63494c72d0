"""The command that changes the code and asks whether a test notices, on a project of one file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import mutate  # noqa: E402

CODE = """\
def larger(a: int, b: int) -> int:
    return a if a > b else b


def never_asked(a):
    return a + 1
"""
TEST = """\
from helpers.schedules.one import larger

def test_larger():
    assert larger(2, 1) == 2 and larger(1, 2) == 2 and larger(1, 1) == 1
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in (
        ("helpers/schedules/one.py", CODE),
        ("tests/helpers/schedules/test_one.py", TEST),
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    subprocess.run("git init -q && git add .", shell=True, cwd=tmp_path, check=True)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    return tmp_path


def test_what_no_test_notices_is_listed(project, capsys):
    found = project / "found.csv"
    assert mutate.main(["schedules", "--list", str(found)]) == 0
    rows = found.read_text().splitlines()
    one = "helpers/schedules/one.py"
    # a > b and a >= b agree, and nobody asks for the second function.
    assert rows == ["file,old,new", f"{one},1,2", f"{one},a + 1,(a - 1)", f"{one},a > b,(a >= b)"]
    assert "schedules: 0 of 3 caught" in capsys.readouterr().out
    assert (project / one).read_text() == CODE


def test_what_a_test_notices_is_not(project, tmp_path, capsys):
    (project / "helpers/schedules/one.py").write_text(CODE.replace("a > b", "not a <= b"))
    assert mutate.main(["schedules", "--list", str(tmp_path / "found.csv")]) == 0
    out = capsys.readouterr().out
    assert "caught   helpers/schedules/one.py:2 not a <= b -> (a <= b)" in out


def test_tests_that_fail_beforehand_are_told(project, capsys):
    (project / "tests/helpers/schedules/test_one.py").write_text("assert False")
    assert mutate.main(["schedules", "--list", str(project / "found.csv")]) == 1
    assert "fail before anything has been changed" in capsys.readouterr().out


def test_an_unknown_package_is_refused(capsys):
    with pytest.raises(SystemExit):
        mutate.main(["pictures"])
    assert "no such package: pictures; known: schedules" in capsys.readouterr().err


def test_every_mutation_of_ours_is_python():
    file = ROOT / "helpers" / "schedules" / "rule.py"
    source = file.read_bytes()
    found = mutate.mutations(file, ROOT)
    assert len(found) > 20
    for each in found:
        ast.parse(source[: each.start] + each.new.encode() + source[each.end :])
