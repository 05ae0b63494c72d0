"""Each level's par is reached and never beaten, and a plan of the game is a schedule in Python."""

import pytest

from helpers.play import LEVELS, level_of, play
from helpers.play.__main__ import main
from helpers.record import noted
from helpers.schedules import check
from helpers.search import search
from helpers.simulate import simulate
from tests.said import said


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
def test_par_is_what_a_named_schedule_reaches_and_nothing_known_beats_it(level):
    best = level.best
    check(best)
    assert simulate(best, level.costs()).step_time == pytest.approx(level.par)
    assert {action.kind for order in best.ranks for action in order} == set(level.kinds)
    if level.kinds == "FIW":
        costs, m = level.costs(), level.micro_batches
        found = search(best.size, m, costs, level.places, walks=60)
        assert found.simulated.step_time >= level.par - 1e-9


def test_a_complete_plan_is_a_schedule_that_runs_and_wins_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("LAB_PROGRESS", str(tmp_path / "progress.json"))
    game = play("cap")
    assert game.schedule is None and game.level == "cap"
    game.plan = [list(map(str, order)) for order in level_of("cap").best.ranks]
    assert simulate(check(game.schedule), level_of("cap").costs()).step_time == 16
    game.best = {"one": 8.0}
    assert noted("levels")["one"] == {"best": 8.0} and play().level == "gpipe"
    assert "there's no level '3': choose one of one, gpipe, cap" in said(play, 3)


def test_without_a_kernel_there_is_a_picture_of_a_plan_half_finished(monkeypatch):
    monkeypatch.setenv("LAB_STATIC", "1")
    data, _ = play("cap")._repr_mimebundle_()
    assert "Not enough room: a plan, half finished" in data["text/plain"]
    assert not any("widget" in kind for kind in data)


def test_the_program_writes_the_page(tmp_path, capsys):
    page = tmp_path / "play.html"
    main(["cap", "-o", str(page)])
    assert capsys.readouterr().out == f"the game: {page.as_uri()}\n"
    assert '"level": "cap"' in page.read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["none"])
    assert "invalid choice: 'none' (choose from" in capsys.readouterr().err
