"""Races: run in turn, told with medians, spread and the ratio pair by pair."""

import importlib
import json
from pathlib import Path

import pytest

from bench.__main__ import HERE, NOT_RACES, main
from bench.race import Race, row, run


def race(**changes) -> tuple[Race, list[str]]:
    order = []

    def timed(name, times):
        order.append(name)
        return times[order.count(name) - 1]

    facts = {
        "name": "walk",
        "ours": "left",
        "rival": "right",
        "run_ours": lambda: timed("ours", [9.0, 1.0, 2.0, 9.0]),
        "run_rival": lambda: timed("rival", [9.0, 2.0, 2.0, 3.0]),
        "runs": 3,
    }
    return Race(**(facts | changes)), order


def test_ours_and_the_rival_run_in_turn_and_the_first_pair_does_not_count():
    a_race, order = race()
    result = run(a_race)
    assert order == ["ours", "rival"] * 4
    assert result.ours_times == [1.0, 2.0, 9.0] and result.rival_times == [2.0, 2.0, 3.0]
    assert result.ratios == [0.5, 1.0, 3.0] and result.ratio == 1.0


def test_a_row_of_the_table():
    said = row(run(race()[0]))
    assert said == "| walk | left: 2 s (1–9) | right: 2 s (2–3) | **1.00** (0.50–3.00) |"


def test_every_file_has_races_and_its_row():
    names = [path.stem for path in HERE.glob("*.py") if path.stem not in NOT_RACES]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert names
    for name in names:
        assert f"| `{name}.py` |" in readme
        for each in importlib.import_module(f"bench.{name}").races():
            assert isinstance(each, Race) and each.ours != each.rival


def test_the_table_and_the_same_as_json(monkeypatch, capsys, tmp_path):
    import bench.launches

    monkeypatch.setattr(bench.launches, "races", lambda: [race(note="a note")[0]])
    target = tmp_path / "new" / "results.json"
    assert main(["launches", "--json", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "| walk | left" in shown and "a note" in shown and "torch" in shown
    facts = json.loads(Path(target).read_text())
    assert facts["races"][0]["ratio"] == 1.0 and facts["machine"]["cores"] >= 1


def test_a_file_that_is_not_there(capsys):
    with pytest.raises(SystemExit):
        main(["speed"])
    said = capsys.readouterr().err
    assert "there is no bench/speed.py: choose from " in said and "launches" in said
