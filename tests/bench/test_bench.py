"""A race runs both sides in turn, and tells medians, spread and the ratio pair by pair."""

import importlib

from bench.__main__ import HERE, NOT_RACES
from bench.race import Race, row, run


def test_ours_and_the_rival_run_in_turn_and_the_first_pair_does_not_count():
    ours, rival, order = [9.0, 1.0, 2.0, 9.0], [9.0, 2.0, 2.0, 3.0], []
    race = Race(
        "walk",
        "left",
        "right",
        lambda: order.append("ours") or ours[len(order) // 2],
        lambda: order.append("rival") or rival[len(order) // 2 - 1],
        runs=3,
    )
    said = row(race, *run(race))
    assert order == ["ours", "rival"] * 4
    assert said == "| walk | left: 2 s (1–9) | right: 2 s (2–3) | **1.00** (0.50–3.00) |"


def test_every_file_has_races_and_its_row():
    names = [path.stem for path in HERE.glob("*.py") if path.stem not in NOT_RACES]
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert len(names) == 4
    for name in names:
        assert f"| `{name}.py` |" in readme
        for each in importlib.import_module(f"bench.{name}").races():
            assert isinstance(each, Race) and each.ours != each.rival
