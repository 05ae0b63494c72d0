"""The red team: what may be planted, what a case shows, how points go both ways."""

import json
import sys

import pytest

from helpers.grade.task import ROOT
from helpers.ranks import RankFailed

sys.path.insert(0, str(ROOT / "forensics"))
import redteam  # noqa: E402

MINE = (ROOT / "DP_PP" / "intro_DP_PP.py").read_text(encoding="utf-8")
SUM = ("flat /= dist.get_world_size(group)", "flat /= 1")
KEY = {"pair": "ada", "rank": "all", "tensor": "all", "mistake": "factor"}


def planted(old, new):
    assert MINE.count(old) == 1
    return MINE.replace(old, new)


@pytest.fixture(autouse=True)
def few(monkeypatch, tmp_path):
    monkeypatch.setattr(redteam, "SEEDS", 2)
    monkeypatch.setattr(redteam, "STEPS", 4)
    monkeypatch.chdir(tmp_path)


def test_a_silent_mistake_is_planted_looked_at_and_found(tmp_path, capsys):
    for name, text in (("mine.py", MINE), ("sick.py", planted(*SUM))):
        (tmp_path / name).write_text(text, encoding="utf-8")
    flags = "--pair ada --rank all --tensor all --mistake factor".split()
    assert redteam.main(["plant", "mine.py", "sick.py", *flags]) == 0, capsys.readouterr().err
    text, facts = redteam.opened("ada.py")
    key = json.loads((tmp_path / "ada.key").read_text("utf-8"))
    assert facts["digest"] == redteam.digest(json.dumps(key)) and "factor" not in json.dumps(facts)
    [line] = key["lines"]
    assert text.splitlines()[line - 1].strip() == "flat /= 1"
    redteam.look("ada.py", 0)
    said = capsys.readouterr().out
    assert said.count("gradients: all 2 times what they should be") == 4 and "loss" in said
    for pair, where, kind in (("eva", line, "factor"), ("max", 1, "factor"), ("max", line, "data")):
        said = f"accuse ada.py --pair {pair} --rank all --tensor all --line {where}".split()
        assert redteam.main([*said, "--mistake", kind]) == 0
    assert redteam.main(["board", "ada.key", "accusations.jsonl"]) == 0
    rows = capsys.readouterr().out.splitlines()[3:]
    assert rows == ["eva: 4 points, 4 found and 0 hidden", "max: 3 points, 3 found and 0 hidden",
                    "ada: 1 points, 0 found and 1 hidden"]  # fmt: skip


def test_the_healthy_trainer_differs_nowhere(tmp_path, capsys):
    (tmp_path / "well.py").write_text(f'{MINE}# case {{"seed": 1}}\n', encoding="utf-8")
    redteam.look("well.py", 2)
    said = capsys.readouterr().out
    assert said.count("gradients: right") == 4 and said.count(": 0 differ") == 4


def test_a_step_is_seen_whose_optimizer_was_made_anew():
    new = planted("optimizer.step()", "make_optimizer(options, stage).step()")
    [ranks] = redteam.run([(new, 1, 3, 2)])
    assert all(rank["gradients"] and rank["after"] for rank in ranks)


def test_what_will_not_do_is_one_sentence(monkeypatch):
    with pytest.raises(ValueError, match="0 lines differ: plant one mistake, of 1 to 6 lines"):
        redteam.plant(MINE, MINE, KEY)
    harmless = planted("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=True)")
    with pytest.raises(ValueError, match="there's nothing to find"):
        redteam.plant(MINE, harmless, KEY)
    with pytest.raises(ValueError, match=r"norm\.weight is right, and .* is wrong"):
        sick = planted("flat /= dist.get_world_size(group)", SUM[1] + "\n    flat[:5] *= 3")
        redteam.plant(MINE, sick, {**KEY, "tensor": "nothing.norm.weight"})
    with pytest.raises(ValueError, match="isn't one device's: take one that passes DP-PP-2"):
        redteam.plant(planted(*SUM), planted(SUM[0], "flat /= 3"), KEY)
    with pytest.raises(ValueError, match="so anybody sees it"):
        redteam.plant(MINE, planted("optimizer.step()", "pass"), KEY)

    def fails(*_, **more):
        raise RankFailed("rank 1 failed: ZeroDivisionError\nmore")

    monkeypatch.setattr(redteam, "launch", fails)
    with pytest.raises(ValueError, match="a trainer doesn't run: rank 1 failed: ZeroDiv"):
        redteam.plant(MINE, planted(*SUM), KEY)


@pytest.mark.parametrize(
    "words, said",
    [
        ("plant a.py b.py --pair ada --rank 1 --tensor x", "plant needs --mistake"),
        ("accuse a.py --pair ada", "accuse needs --rank"),
        ("look nowhere.py", "nowhere.py"),
        ("look plain.py", "plain.py isn't a case: redteam.py plant makes one"),
    ],
)
def test_wrong_input_is_one_sentence(words, said, capsys, tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n", encoding="utf-8")
    assert redteam.main(words.split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_ones_own_case_a_changed_key_and_a_tensor_that_nobody_planted_earn_nothing():
    key = {**KEY, "lines": [7], "text": "", "salt": "x"}
    mark = redteam.digest(json.dumps(key))
    said = {"rank": "all", "tensor": "all", "line": 7, "mistake": "factor", "digest": mark}
    assert redteam.board([key], [{**said, "by": "ada"}]) == []
    assert redteam.board([{**key, "lines": [8]}], [{**said, "by": "eva"}]) == []
    (eva, *_) = redteam.board([key], [{**said, "by": "eva", "tensor": "nonsense"}])
    assert eva.startswith("eva: 3 points")
