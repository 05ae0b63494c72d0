"""The cases of lesson 23: what is planted, what curves show, how an accusation is judged."""

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


def test_an_accusation_is_judged_in_four_parts(capsys):
    case = Case(5, 2)
    _, _, tensors, ranks = case._planted
    answer = {
        "rank": "all" if len(ranks) == 4 else ranks[0],
        "tensor": "all" if tensors == "*" else tensors.replace("*", ""),
        "line": case._lines[0],
        "mistake": case._name,
    }
    case.accuse(**{**answer, "line": 10_000})
    assert "line ✗" in capsys.readouterr().out
    case.accuse(**answer)
    said = capsys.readouterr().out
    assert "✗" not in said and "7 of 8 points" in said and case._mistake.because in said


def test_of_a_healthy_run_only_the_verdict_counts(capsys):
    case = next(case for n in range(10, 15) if (case := Case(n, 1))._name == "none")
    case.accuse(rank=0, tensor="head.weight", line=1, mistake="rope")
    assert "✓" not in capsys.readouterr().out
    case.accuse(rank="all", tensor="all", line=1, mistake="none")
    assert "11 of 12 points" in capsys.readouterr().out


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
