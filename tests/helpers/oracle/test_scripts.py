"""`python -m helpers.oracle` on two scripts that aren't ours."""

from pathlib import Path

import pytest

from helpers.oracle.__main__ import compare_scripts, main

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

THEIRS = Path(__file__).resolve().parents[3] / "forensics" / "theirs"
PAIR = str(THEIRS / "alone.py"), str(THEIRS / "fsdp2.py")


@pytest.mark.long
def test_a_hugging_face_model_under_fsdp2_is_right_at_both_steps():
    assert compare_scripts(*PAIR, ranks=2).ok
    assert compare_scripts(*PAIR, ranks=2, at=1).ok


def test_a_layer_that_was_forgotten_is_named(capsys):
    assert main([*PAIR, "--ranks", "2", "--both=--model plain"]) == 0
    flags = "--both=--model plain --forget half"
    assert main([*PAIR, "--ranks", "2", flags]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "First to differ: the gradient of layers.1." in said
    assert "only in layers.1, and all else is right: every rank still has its own" in said


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("", "ended after 0 calls of optimizer.step()"),
        ("raise ValueError('no data')", "no data"),
        (None, "there is no script"),
    ],
)
def test_what_cannot_be_compared_is_said(tmp_path, capsys, script, said):
    path = tmp_path / "mine.py"
    if script is not None:
        path.write_text(script)
    assert main([str(path), PAIR[1]]) == 2
    assert said in capsys.readouterr().err
