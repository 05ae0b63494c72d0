"""The script of one device: it learns, and refuses nonsense in one sentence."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

PRIMER = Path(__file__).resolve().parents[2] / "primer"
SMALL = ["--dmodel", "12", "--heads", "2", "--layers", "1", "--seq-l", "16"]


def run(*flags: str) -> subprocess.CompletedProcess:
    """Run the script as a student does: from its own folder."""
    return subprocess.run(
        [sys.executable, "intro.py", *flags],
        cwd=PRIMER,
        capture_output=True,
        text=True,
        timeout=400,
    )


def test_it_prints_the_step_and_the_loss_and_leaves_a_trace(tmp_path):
    ended = run(*SMALL, "--steps", "3", "--trace", str(tmp_path / "trace.json"))
    assert ended.returncode == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines() if not line.startswith("[")]
    assert [line[0] for line in lines] == ["0", "1", "2"]
    assert 6.8 < float(lines[0][1]) < 7.4  # near ln 1200 = 7.09
    assert (tmp_path / "trace.json").exists()


@pytest.fixture
def refused(monkeypatch, capsys):
    """refused(flags) -> what the script says as it ends, without the start of another process."""

    def run_here(*flags: str) -> tuple[object, str]:
        monkeypatch.chdir(PRIMER)
        monkeypatch.setattr(sys, "argv", ["intro.py", *flags])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path("intro.py", run_name="__main__")
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
