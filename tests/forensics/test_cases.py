"""The cases of lesson 24: what is planted, what curves show, how an accusation is judged."""

import json

import cases
import curves
import pytest
from cases import Case

pytestmark = pytest.mark.slow

KNOWN = cases.truth("_mistakes")
EVERY = {"left over": KNOWN.EXAMPLE, **KNOWN.MISTAKES}


def test_every_variant_has_a_curve_with_a_seed_that_nobody_chose():
    kept = cases.truth("_curves")
    wanted = [f"{n} {k}" for n, mistake in EVERY.items() for k in range(len(mistake.variants))]
    assert list(kept.SICK) == wanted and list(kept.HEALTHY) == list(curves.HEALTHY)
    seeds = [seed for runs in kept.SICK.values() for seed in runs]
    assert seeds == list(range(25, 25 + len(wanted))) == list(kept.TWINS)


def test_a_curve_is_outside_where_it_leaves_the_band_at_one_step():
    healthy = [[3.0, 2.0], [3.2, 1.8]]
    assert not cases.outside([3.1, 1.8], healthy)
    assert cases.outside([3.1, 1.7], healthy) and cases.outside([3.3, 1.9], healthy)


@pytest.mark.parametrize("name", ["cancel 0", "none 0"])
def test_two_mistakes_that_cancel_or_none_leave_the_curve_of_one_device(name):
    kept = cases.truth("_curves")
    [(seed, losses)] = kept.SICK[name].items()
    alone = curves.printed(cases.one_device.train(seed)[0])
    assert losses == pytest.approx(alone, abs=2e-3)
    assert kept.TWINS[seed] == pytest.approx(alone, abs=2e-3)


@pytest.mark.parametrize("name", EVERY)
def test_it_can_be_planted_whatever_harmless_things_were_rewritten(name):
    plain = cases.load_source("_trainer")
    every = range(len(KNOWN.HARMLESS))
    for chosen in ([], every, *([k] for k in every)):
        text = plain
        for old, new in (KNOWN.HARMLESS[k] for k in chosen):
            assert text.count(old) == 1
            text = text.replace(old, new)
        for old, new, *_ in EVERY[name].variants:
            assert text.count(old) == 1
            if len(chosen) != 1:
                compile(text.replace(old, new), "case", "exec")


def test_a_class_has_each_mistake_once_and_another_class_another_order():
    order = {seed: [Case(n, seed)._name for n in range(1, 15)] for seed in range(3)}
    assert all(sorted(names) == sorted(KNOWN.MISTAKES) for names in order.values())
    assert len(set(map(tuple, order.values()))) > 1
    assert Case(5, 2).text == Case(5, 2).text
    with pytest.raises(ValueError, match="no 15"):
        Case(15)


def test_an_accusation_is_judged_in_four_parts_and_the_best_one_counts(tmp_path, capsys):
    case, board = Case(5, 2), tmp_path / "scores.json"
    _, _, tensors, ranks = case._planted
    answer = {
        "rank": "all" if len(ranks) == 4 else ranks[0],
        "tensor": "all" if tensors == "*" else tensors.replace("*", ""),
        "line": case._lines[0],
        "mistake": case._name,
    }
    case.accuse(**{**answer, "line": 10_000}, name="Ada", board=board)
    assert "line ✗" in capsys.readouterr().out
    case.accuse(**answer, name="Ada", board=board)
    said = capsys.readouterr().out
    assert "✗" not in said and "7 of 8 points" in said and case._mistake.because in said
    Case(5, 2).accuse(**answer, name="Bo", board=board)
    assert [json.loads(line)["points"] for line in board.read_text().splitlines()] == [6, 7, 8]
    first, second = cases.scoreboard([board])
    assert first.startswith("1. Bo: 8 points") and second.startswith("2. Ada: 7 points, 1 cases")


def test_a_class_with_a_secret_is_judged_by_the_secret_alone(tmp_path, capsys):
    drawn, board = tmp_path / "class_7.json", tmp_path / "scores.json"
    drawn.write_text(cases.class_of(7, "swordfish"), encoding="utf-8")
    case, known = Case(5, drawn=drawn), Case(5, 7, "swordfish")
    assert case.text == known.text and repr(case).startswith("case 5 of class 7: middle")
    assert [Case(n, 7)._name for n in range(1, 15)] != [  # the public seed doesn't give it away
        Case(n, 7, "swordfish")._name for n in range(1, 15)
    ]
    with pytest.raises(ValueError, match="needs its secret"):
        case.key()
    answer = dict(rank=9, tensor="no.such", line=known._lines[0], mistake=known._name)
    case.accuse(**{**answer, "line": 10_000}, name="Ada", board=board)
    case.accuse(**answer, name="Ada", board=board)
    assert "✓" not in capsys.readouterr().out and '"points"' not in board.read_text("utf-8")
    assert cases.scoreboard([board]) == []
    # The second is right in two of four parts, which count twice here; one try is taken off.
    assert cases.scoreboard([board], "swordfish")[0].startswith("1. Ada: 3 points, 1 cases")


def test_of_a_healthy_run_only_the_verdict_counts(capsys):
    case = next(case for n in range(10, 15) if (case := Case(n, 1))._name == "none")
    case.accuse(rank=0, tensor="head.weight", line=1, mistake="rope")
    assert "✓" not in capsys.readouterr().out
    case.accuse(rank="all", tensor="all", line=1, mistake="none")
    assert "11 of 12 points" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[]", "{}", "no JSON"])
def test_a_file_that_is_no_class_is_refused(text, tmp_path):
    (tmp_path / "class.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="isn't a class: make it with"):
        Case(5, drawn=tmp_path / "class.json")


def test_the_key_names_the_lines_that_were_changed():
    for number in range(1, 15):
        case = Case(number, 1)
        if case._name == "none":
            assert case.key()["line"] == "none"
            continue
        first, last = map(int, case.key()["line"].split("-"))
        new = case._planted[1].strip().splitlines()
        lines = case.text.splitlines()[first - 1 : last]
        assert not new or any(line.strip() in " ".join(new) for line in lines)
