"""Each mistake of lesson 23 can be planted, is seen by a tool, and an accusation is judged."""

import time

import cases
import curves
import pytest
from cases import Case

from helpers.ranks import launch
from tests.said import said

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

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
    assert "no 15" in said(Case, 15)


def test_an_accusation_is_judged_in_four_parts(capsys):
    case = Case(5, 2)
    _, _, tensors, ranks = case._planted
    tensor = "all" if tensors == "*" else tensors.replace("*", "")
    answer = {"rank": "all" if len(ranks) == 4 else ranks[0], "tensor": tensor}
    case.accuse(**answer, mistake=case._name, line=10_000)
    assert "line ✗" in capsys.readouterr().out
    case.accuse(**answer, mistake=case._name, line=case._lines[0])
    out = capsys.readouterr().out
    assert "✗" not in out and "7 of 8 points" in out and case._mistake.because in out
    healthy = next(case for n in range(10, 15) if (case := Case(n, 1))._name == "none")
    healthy.accuse(rank=0, tensor="head.weight", line=1, mistake="rope")
    assert "✓" not in capsys.readouterr().out  # of a healthy run only the verdict counts
    healthy.accuse(rank="all", tensor="all", line=1, mistake="none")
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


# --- on four real ranks --------------------------------------------------------------------------

AT = 1
SIGNS = {"tokens": "x", "backwards": ": ", "gradients": ": ", "disagreements": "differ"}


def every(texts):
    return {name: cases.on_rank(text, 3, AT + 2, AT) for name, text in texts.items()}


@pytest.mark.long
def test_the_healthy_run_is_one_device_and_every_mistake_is_seen(capsys, monkeypatch):
    monkeypatch.setattr(cases.one_device, "CLIP", 0.2)  # so that the second step is clipped
    plain = healthy = cases.load_source("_trainer")
    for old, new in KNOWN.HARMLESS:
        healthy = healthy.replace(old, new)
    texts = {"healthy": healthy, "as it is": plain}
    for name, mistake in EVERY.items():
        for k, planted in enumerate(mistake.variants):
            texts[f"{name} {k}"] = healthy.replace(*planted[:2])
    texts = {name: text.replace("alone.CLIP", "0.2") for name, text in texts.items()}
    ranks = launch(every, 4, (texts,), quiet=True)
    seen = {name: symptoms([rank[name] for rank in ranks], capsys) for name in texts}
    assert seen.pop("healthy") == seen.pop("as it is") == set()
    assert seen.pop("none 0") == set() and seen["cancel 0"] == {"backwards"}
    assert all(seen.values()), seen
    assert seen["schedule 0"] == {"log"}
    assert {"tokens", "gradients"} <= seen["rope 0"] & seen["rope 1"] & seen["dropout 0"]
    assert "backwards" not in seen["router 0"] | seen["left over 0"]
    assert "disagreements" in seen["clip 0"] & seen["norm 1"]
    assert {"tokens", "backwards", "disagreements"} <= seen["stale 0"]


def symptoms(found, capsys):
    """The tools that show something else than for a healthy run."""
    case = Case.__new__(Case)
    case.training_seed, case.at, case._ranks = 3, AT, found
    case.number, case._start = 1, time.monotonic()
    case.one = cases.step_alone(case._weights("before"), 3, AT)
    wrong = set()
    for tool, sign in SIGNS.items():
        getattr(case, tool)()
        lines = capsys.readouterr().out.splitlines()
        if any((not line.endswith("right")) if sign == ": " else sign in line for line in lines):
            wrong.add(tool)
    right, _ = cases.one_device.train(3, AT + 2)
    if any(abs(a["rate"] - b["rate"]) > 1e-9 for a, b in zip(found[0]["log"], right, strict=True)):
        wrong.add("log")
    case.judge()
    if not capsys.readouterr().out.startswith("RIGHT"):
        wrong.add("judge")
    return wrong
