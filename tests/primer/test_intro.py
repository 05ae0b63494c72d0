"""The script of one device: it learns, and refuses nonsense in one sentence."""

import runpy
import sys
from pathlib import Path

import pytest

PRIMER = Path(__file__).resolve().parents[2] / "primer"
SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


@pytest.fixture
def run(monkeypatch):
    """run(flags): the script as a student runs it from its folder, without another process."""

    def run_here(*flags: str) -> None:
        monkeypatch.chdir(PRIMER)
        monkeypatch.setattr(sys, "argv", ["intro.py", *flags])
        runpy.run_path("intro.py", run_name="__main__")

    return run_here


def test_it_prints_the_step_and_the_loss_and_leaves_a_trace(run, tmp_path, capsys):
    run(*SMALL, "--steps", "3", "--trace", str(tmp_path / "trace.json"))
    said = capsys.readouterr().out.splitlines()
    lines = [line.split() for line in said if not line.startswith("[")]
    assert [line[0] for line in lines] == ["0", "1", "2"]
    assert 6.8 < float(lines[0][1]) < 7.4  # near ln 1200 = 7.09
    assert (tmp_path / "trace.json").exists()


@pytest.fixture
def refused(run, capsys):
    """refused(flags) -> what the script says as it ends."""

    def run_here(*flags: str) -> tuple[object, str]:
        with pytest.raises(SystemExit) as ended:
            run(*flags)
        code, said = ended.value.code, capsys.readouterr().err
        return (1, f"{said}{code}") if isinstance(code, str) else (code, said)

    return run_here


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--text", "nowhere.txt"], "nowhere.txt"),
        (["--batch-size", "4", "--like-ranks", "3"], "cannot be divided among 3 ranks"),
        (["--tokenizer", "nowhere.model"], "nowhere.model"),
        (["--optimizer", "sgd", "--lr", "1e30", "--steps", "9"], "the loss became nan at step"),
    ],
)
def test_wrong_input_ends_with_one_sentence(flags, sentence, refused):
    code, said = refused(*SMALL, *flags)
    assert code == 1
    (line,) = said.splitlines()
    assert line.startswith("error: ")
    assert sentence in line


@pytest.mark.parametrize(
    "flags", [["--steps", "-1"], ["--batch-size", "0"], ["--lr", "fast"], ["--size", "huge"]]
)
def test_flags_that_make_no_sense(flags, refused):
    code, said = refused(*flags)
    assert code == 2
    assert flags[0] in said.splitlines()[-1]
