"""The recorded chaos is what the lesson says of it, and a short one leaves nothing running."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import chaos
import late
import local_steps
import numpy as np
import pytest
from learner import Part
from rules import merge
from syncer import Syncer, cut
from wire import ask

from helpers.draw.presence import presence

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def test_ten_minutes_of_chaos_are_recorded():
    run = chaos.recorded()
    assert run["seconds"] == 600 and len(run["faults"]) >= 40
    assert {kind for _, kind, *_ in run["faults"]} == {"kill", "freeze"}
    again = chaos.predicted([tuple(f) for f in run["faults"]], run["seconds"], run["start"])
    assert again == pytest.approx(run["predicted"], abs=1e-3)
    assert run["counted"] == pytest.approx(again, rel=0.15)
    assert run["losses"][-1][1] < 0.5 * run["losses"][0][1] and run["left_running"] == 0
    assert all(set(moment) & {"#", "+"} for moment in zip(*run["grid"], strict=True))


def test_the_faults_follow_from_the_seed_and_hit_nobody_who_is_away():
    faults = chaos.draw_faults(300, 5, seed=3)
    assert faults == chaos.draw_faults(300, 5, seed=3) != chaos.draw_faults(300, 5, seed=4)
    free = {}
    for when, _, learner, away in faults:
        assert when > free.get(learner, 0)
        free[learner] = when + away


def test_a_short_chaos_leaves_nothing_running(monkeypatch):
    monkeypatch.setattr(chaos, "LEARNERS", 4)
    run = chaos.chaos(seconds=4, every=1.0, seed=1)
    assert run["left_running"] == 0 and len(run["grid"]) == 4
    assert "processes left running: 0" in chaos.tell(run)
    assert "learner 3" in presence(run["grid"], 4, "A short one").svg()


def test_a_syncer_merges_a_quorum_and_turns_away_what_is_too_late():
    syncer = Syncer(np.zeros(2), quorum=1, grace=0.0, oldest=1, present=lambda: [])
    sent = {"verb": "deliver", "learner": 0, "part": 0, "tokens": 5, "steps": 8}
    sent["delta"] = np.ones(2)
    for version in range(3):
        answer = ask(syncer.address, base=version, **sent)
        assert answer["version"] == version + 1 and answer["kept"]
    stale = ask(syncer.address, base=1, **sent)
    assert not stale["kept"] and syncer.dropped == 8 and syncer.steps == 24
    assert (stale["weights"] == syncer.weights).all() and (stale["weights"] > 0).all()
    syncer.stop()


def test_fragments_are_merged_alone_and_make_up_the_whole_merge():
    """Each in its turn, number by number as if all were delivered together."""
    start, deltas = np.arange(7.0), [np.ones(7), np.arange(7.0)]
    delivery = {"base": 0, "tokens": 5, "steps": 8}
    whole, _ = merge(start, 0 * start, {r: {**delivery, "delta": d} for r, d in enumerate(deltas)},
                     0, quorum=2, oldest=0)  # fmt: skip
    syncer = Syncer(start, quorum=2, grace=9.0, oldest=0, present=lambda: [0, 1], fragments=3)
    for part, where in reversed([*enumerate(cut(start, 3))]):
        mine = [{"part": part, **delivery, "delta": delta[where]} for delta in deltas]
        with ThreadPoolExecutor(2) as pool:
            answers = [*pool.map(lambda r, m=mine: syncer.deliver(r, **m[r]), (0, 1))]
        assert all((answer["weights"] == whole[where]).all() for answer in answers)
        assert (syncer.weights[: where.start] == start[: where.start]).all()  # not merged yet
    assert (syncer.weights == whole).all() and syncer.steps == 16
    assert [fragment.version for fragment in syncer.fragments] == [1, 1, 1]
    syncer.stop()


def test_what_changes_while_a_fragment_is_on_its_way_is_kept():
    part = Part(0, slice(1, 3), anchor=np.zeros(2), base=0, steps=0)
    part.handed, part.sent = np.array([1.0, 1.0]), SimpleNamespace(answer=None)
    part.sent.answer = {"weights": np.array([10.0, 20.0]), "version": 4}
    before = np.array([5.0, 1.5, 3.0])
    assert (part.take(before) == [5.0, 10.5, 22.0]).all() and part.base == 4
    assert (before == [5.0, 1.5, 3.0]).all() and part.sent is None


def test_a_quorum_of_all_is_the_diloco_of_lesson_04():
    recorded = local_steps.recorded()["DiLoCo, every 16 steps"][late.RATE]
    assert late.recorded()["3"] == pytest.approx(recorded, abs=0.03)
    assert all(a > b for a, b in zip(late.recorded()["2"], late.recorded()["3"], strict=True))
    assert late.recorded()["4 fragments"] == pytest.approx(late.recorded()["3"], rel=0.02)
