"""A term of predictions: what pays, what is refused, and what the table says."""

import json
import math
from random import Random

import pytest

from helpers.cards import tournament
from helpers.cards.tournament import Term, main, plan_of, score


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Call the command on a file of its own; ranks take what the simulation says, and 2 % more."""

    class Step:
        def __init__(self, schedule, pace):
            done = tournament.simulate(schedule, pace.costs())
            self.trace = type("Trace", (), {"duration": 1.02 * done.step_time})

    monkeypatch.setattr(tournament, "run_paced", Step)

    def call(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--file", str(tmp_path / "term.json")])
        said = capsys.readouterr()
        return code, said.out, said.err

    call.path = tmp_path / "term.json"
    return call


def expected(within: float, sigma: float) -> float:
    """The mean score of a pair that says `within`, if ln(guess / measured) has this sigma."""
    rng = Random(1)
    draws = [math.exp(rng.gauss(0, sigma)) for _ in range(4000)]
    return sum(score(draw, within, 1.0) for draw in draws) / len(draws)


def test_to_say_how_sure_one_is_pays():
    for honest in (1.1, 1.25, 2.0):
        sigma = math.log(honest) / 1.28
        others = [1.05, 1.1, 1.25, 2.0, 4.0]
        assert max(others, key=lambda w: expected(w, sigma)) == honest


def test_a_guess_and_its_double_or_half_cost_alike():
    assert score(200, 1.25, 100) == pytest.approx(score(50, 1.25, 100))
    assert score(100, 1.25, 100) > score(120, 1.25, 100) > score(150, 1.25, 100)


def test_a_term_of_six_pairs(run):
    """Each pair errs by its own spread, and says so, or doesn't: the order is that of its worth."""
    rng = Random(3)
    pairs = {"a": (0.03, 5), "b": (0.1, 15), "c": (0.1, 100), "d": (0.3, 50), "e": (0.3, 5)}
    pairs["f"] = (1.0, 5)
    for seed in range(8):
        assert run("open", "--seed", str(seed))[0] == 0
        plan = plan_of(seed)
        truth = 1e3 * tournament.simulate(plan.schedule, plan.pace.costs()).step_time
        for pair, (spread, percent) in pairs.items():
            ms = truth * math.exp(rng.gauss(0, spread))
            assert run("guess", pair, f"{ms:.1f}", f"{percent}%")[0] == 0
        code, out, _ = run("run")
        assert code == 0 and "simulated" in out
    rows = [line.split()[0] for line in run("table")[1].splitlines()]
    assert rows[:2] == ["a", "b"] and set(rows[2:4]) == {"c", "d"} and rows[4:] == ["e", "f"]
    page = run.path.with_suffix(".html").read_text(encoding="utf-8")
    assert page.index("<td>a") < page.index("<td>f")


def test_a_guess_after_the_run_is_refused_and_so_is_a_file_that_was_changed(run):
    run("open")
    run("guess", "ada", "300", "10")
    run("run")
    code, _, said = run("guess", "ada", "310", "10")
    assert code == 2 and "no round is open" in said
    forged = json.loads(run.path.read_text())
    forged["rounds"][0]["guesses"]["ada"]["ms"] = forged["rounds"][0]["measured"]
    run.path.write_text(json.dumps(forged))
    code, _, said = run("table")
    assert code == 2 and "round 1" in said and "was changed after it ran" in said
    run.path.with_suffix(".secret").unlink()
    assert "is gone" in run("table")[2]


@pytest.mark.parametrize(
    "forge",
    [
        lambda rounds: rounds + rounds[:1],  # a good round once more
        lambda rounds: rounds[:1],  # a bad one taken out
        lambda rounds: rounds[1:],
        lambda rounds: rounds[::-1],
        lambda rounds: [rounds[0] | {"measured": 300.0}, rounds[1]],
        lambda rounds: [rounds[0], rounds[1] | {"guesses": {"eva": {"ms": 1, "within": 2}}}],
    ],
)
def test_no_round_is_copied_moved_taken_out_or_changed(run, forge):
    for seed in "12":
        run("open", "--seed", seed)
        run("guess", "ada", "300", "10")
        assert run("run")[0] == 0
    assert run("table")[0] == 0
    rounds = json.loads(run.path.read_text())["rounds"]
    run.path.write_text(json.dumps({"rounds": forge(rounds)}))
    code, _, said = run("table")
    assert code == 2 and ("was changed" in said or "has lost a round" in said)


@pytest.mark.parametrize(
    "words, said",
    [
        (["guess", "ada", "300", "10"], "no round is open"),
        (["run"], "no round is open: python -m helpers.cards.tournament open"),
        (["guess", "ada", "soon", "10"], "guess needs a pair, ms and a percentage"),
        (["guess", "ada"], "guess needs a pair, ms and a percentage"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(run, words, said):
    code, _, error = run(*words)
    assert code == 2 and said in error and error.count("\n") == 1


def test_a_second_round_waits_for_the_first(run):
    run("open")
    assert "round 1 is still open" in run("open")[2]
    assert "above 0" in run("guess", "ada", "-3", "10")[2]


def test_a_file_of_another_kind_is_told(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="is not a tournament"):
        Term(path)
