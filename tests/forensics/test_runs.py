"""On four real ranks: the healthy trainer is one device's, and each mistake is seen by a tool."""

import time

import cases
import pytest
from cases import Case

from helpers.ranks import launch

pytestmark = [pytest.mark.long, pytest.mark.ranks]

KNOWN = cases.truth("_mistakes")
VARIANTS = {
    f"{name} {k}": planted
    for name, mistake in {"left over": KNOWN.EXAMPLE, **KNOWN.MISTAKES}.items()
    for k, planted in enumerate(mistake.variants)
}
AT = 1
SIGNS = {"tokens": "x", "backwards": ": ", "gradients": ": ", "disagreements": "differ"}


def every(texts):
    return {name: cases.on_rank(text, 3, AT + 2, AT) for name, text in texts.items()}


def test_the_healthy_run_is_one_device_and_every_mistake_is_seen(capsys, monkeypatch):
    monkeypatch.setattr(cases.one_device, "CLIP", 0.2)  # so that the second step is clipped
    plain = healthy = cases.load_source("_trainer")
    for old, new in KNOWN.HARMLESS:
        healthy = healthy.replace(old, new)
    texts = {"healthy": healthy, "as it is": plain}
    texts |= {name: healthy.replace(*planted[:2]) for name, planted in VARIANTS.items()}
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
        said = capsys.readouterr().out.splitlines()
        if any((not line.endswith("right")) if sign == ": " else sign in line for line in said):
            wrong.add(tool)
    right, _ = cases.one_device.train(3, AT + 2)
    if any(abs(a["rate"] - b["rate"]) > 1e-9 for a, b in zip(found[0]["log"], right, strict=True)):
        wrong.add("log")
    case.judge()
    if not capsys.readouterr().out.startswith("RIGHT"):
        wrong.add("judge")
    return wrong
