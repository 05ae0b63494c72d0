"""The command that changes the code and asks whether a test notices, on a project of one file."""

import ast
import subprocess
from pathlib import Path

import pytest

import mutate

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

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
    (tmp_path / "helpers/__init__.py").touch()
    subprocess.run("git init -q && git add .", shell=True, cwd=tmp_path, check=True)
    monkeypatch.setattr(mutate, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.long
def test_what_no_test_notices_is_listed_and_a_run_makes_what_the_list_lacks(
    project, capsys, monkeypatch
):
    name, found = "helpers/schedules/one.py", project / "found.csv"
    one, command = project / name, ["schedules", "--share", "1", "--list", str(found)]
    assert mutate.main(command) == 0
    # a > b and a >= b agree, and nobody asks for the second function.
    assert found.read_text().splitlines() == [
        "file,old,new,nth,result",
        f"{name},1,2,0,survived",
        f"{name},a + 1,(a - 1),0,survived",
        f"{name},a > b,(a >= b),0,survived",
    ]
    assert "helpers/schedules: 0 of 3 caught" in capsys.readouterr().out
    assert one.read_text() == CODE
    one.write_text("# a line above moves nothing\n" + CODE.replace("a > b", "not a <= b"))
    mutate.main(command)
    out = capsys.readouterr().out
    # "not" has one mutation, and the comparison below it another; a > b has gone, with its row.
    assert "2 to make, of 4 drawn from 4" in out
    assert "caught   helpers/schedules/one.py:3 not a <= b -> (a <= b)" in out
    assert "helpers/schedules: 1 of 4 caught" in out
    mutate.main(command)
    assert "0 to make" in capsys.readouterr().out
    monkeypatch.setattr(mutate, "reached", lambda *_: None)  # what would be made is enough here
    mutate.main([*command, "--again", "survived"])
    assert "3 to make" in capsys.readouterr().out
    mutate.main([*command, "--again", "all", "--share", "0"])
    assert "0 to make, of 0 drawn from 4" in capsys.readouterr().out


def test_tests_that_fail_beforehand_are_told(project, capsys):
    (project / "tests/helpers/schedules/test_one.py").write_text("assert False")
    assert mutate.main(["schedules", "--share", "1", "--list", str(project / "found.csv")]) == 1
    assert "fail before anything has been changed" in capsys.readouterr().out


def test_an_unknown_package_is_refused(capsys):
    with pytest.raises(SystemExit):
        mutate.main(["pictures"])
    assert (
        "no code with tests: helpers/pictures; usual ones are schedules" in capsys.readouterr().err
    )


def test_every_mutation_of_ours_is_python():
    file = ROOT / "helpers" / "schedules" / "rule.py"
    source = file.read_bytes()
    found = mutate.mutations(file, ROOT)
    assert len(found) > 20
    for each in found:
        ast.parse(source[: each.start] + each.new.encode() + source[each.end :])
