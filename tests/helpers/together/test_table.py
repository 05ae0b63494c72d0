"""The host without a network: it merges as lesson 21's syncer does, and goes on from its file."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from helpers.together.__main__ import fits, parser
from helpers.together.lab import Syncer, cut
from helpers.together.payloads import Wrong, unpack
from helpers.together.table import Recipe, Table

from .hosting import RECIPE, delivery, table

CODE = {"code": "ABCDEF"}


def two(found):
    return [found.roster.join({**CODE, "name": name}) for name in ("ada", "bob")]


def weights(data, size=5):
    return unpack(data, {"weights": size})[0]["weights"]


def test_it_merges_what_lesson_21s_syncer_merges(tmp_path):
    """Ten rounds of both fragments by two learners: bit for bit the same weights."""
    draw = np.random.default_rng(0)
    start = draw.standard_normal(10).astype(np.float32)
    found = table(tmp_path, start)
    learners = two(found)
    syncer = Syncer(start, 2, 9.0, 2, lambda: [0, 1], fragments=2)
    with ThreadPoolExecutor(2) as pool:
        for version in range(10):
            for part, _ in enumerate(cut(start, 2)):
                deltas = draw.standard_normal((2, 5)).astype(np.float32)
                both = []
                for r, one in enumerate(learners):
                    facts = {"part": part, "base": version, "tokens": 50 + 40 * r, "steps": 8}
                    data = delivery(ticket=f"{version} {part} {r}", value=0, **facts)
                    data = data[: -deltas[r].nbytes] + deltas[r].tobytes()
                    assert found.deliver(one, data) == {"kept": True}
                    both.append({**facts, "delta": deltas[r]})
                [*pool.map(lambda r, b=both: syncer.deliver(r, **b[r]), (0, 1))]
                assert found.tick()
    assert (found.merges.weights == syncer.weights).all() and not (syncer.weights == start).any()
    assert found.merges.steps == syncer.steps == 160 and found.merges.tokens == 1400
    syncer.stop()


def test_a_delivery_waits_for_the_quorum_and_its_grace(tmp_path):
    found = table(tmp_path, recipe=replace(RECIPE, grace=1000.0))
    ada, bob = two(found)
    found.deliver(ada, delivery(ticket="a"))
    assert not found.tick() and found.merged(ada, 0, "a") is None
    found.deliver(bob, delivery(ticket="b"))
    assert found.tick() and (weights(found.merged(ada, 0, "a")) > 0).all()
    assert found.versions == 1 and not found.tick()


def test_a_delivery_that_is_sent_again_counts_once(tmp_path):
    found = table(tmp_path)
    (ada, _) = two(found)
    found.roster.laptops[1].heard -= 1000  # bob is away
    for _ in range(2):
        assert found.deliver(ada, delivery(ticket="a")) == {"kept": True}
    assert found.tick() and found.merges.tokens == 50
    assert found.deliver(ada, delivery(ticket="a")) == {"kept": True}  # its answer was lost
    assert not found.tick() and found.merges.tokens == 50
    assert found.merged(ada, 0, "a")


def test_one_that_is_too_late_gets_the_weights_and_does_not_count(tmp_path):
    found = table(tmp_path)
    ada, bob = two(found)
    bob.heard -= 1000
    for version in range(5):
        found.deliver(ada, delivery(base=version, ticket=str(version)))
        assert found.tick()
    assert found.deliver(bob, delivery(base=1, ticket="late")) == {"kept": False}
    assert not found.tick() and found.merges.dropped == 4
    assert (weights(found.merged(bob, 0, "")) == weights(found.merged(ada, 0, "4"))).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"part": 2}, {"part": -1}, {"base": 1}, {"base": -1}, {"steps": 0}, {"steps": 801},
        {"tokens": 0}, {"tokens": 993}, {"ticket": ""}, {"ticket": "x" * 33}, {"size": 4},
        {"value": float("nan")},
    ],
)  # fmt: skip
def test_a_wrong_delivery_is_refused_and_leaves_nothing(tmp_path, wrong):
    found = table(tmp_path)
    ada, _ = two(found)
    with pytest.raises(Wrong):
        found.deliver(ada, delivery(**wrong))
    assert not any(fragment.waiting for fragment in found.merges.fragments)


def test_a_host_that_goes_on_has_every_merge_and_asks_for_what_waited(tmp_path):
    found = table(tmp_path)
    ada, bob = two(found)
    found.deliver(ada, delivery(ticket="a"))
    found.deliver(bob, delivery(ticket="b", value=2.0))
    found.note_loss(3.0, 1.5)
    assert found.tick()
    found.deliver(ada, delivery(base=1, ticket="a2"))  # and now the host is killed
    after = Table.resume(found.file, most=5)
    assert after.versions == 1 and after.recipe == found.recipe
    assert (after.merges.weights == found.merges.weights).all()
    for one, other in zip(after.merges.fragments, found.merges.fragments, strict=True):
        assert (one.velocity == other.velocity).all() and one.version == other.version
    assert after.merges.tokens == 100 and after.losses == [[3, 1.5]]
    again = after.roster.of(ada.secret)  # it needn't join again
    assert again.name == "ada" and again.tokens == 50
    assert after.merged(again, 0, "a")  # merged before: it learns so, and doesn't send again
    with pytest.raises(Wrong, match="has lost this delivery: send it again") as caught:
        after.merged(again, 0, "a2")
    assert caught.value.status == 409
    assert after.deliver(again, delivery(base=1, ticket="a2")) == {"kept": True}


def test_a_kill_in_the_middle_of_saving_leaves_the_file_before(tmp_path, monkeypatch):
    found = table(tmp_path)
    found.save()
    before = found.file.read_bytes()

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("helpers.files.os.replace", killed)
    found.merges.tokens = 1e6
    with pytest.raises(KeyboardInterrupt):
        found.save()
    assert found.file.read_bytes() == before and len([*tmp_path.iterdir()]) == 1


def test_what_is_saved_and_shown_stays_small(tmp_path):
    found = table(tmp_path)
    ada, _ = two(found)
    for n in range(3000):
        found.note_loss(n, 1.0)
    assert len(found.losses) <= 400 and found.losses[0][0] == 0 and found.losses[-1][0] == 2999
    found.roster.forget(ada)
    found.done = {"0 0": "gone", "1 0": "here"}
    found.save()
    assert found.done == {"1 0": "here"}
    seen = json.loads(json.dumps(found.seen()))
    assert [one["name"] for one in seen["laptops"]] == ["bob"]


def test_the_bill_counts_hours_of_laptops(tmp_path):
    found = table(tmp_path)
    for one in two(found):
        one.here = 3600.0 * 5
    assert found.cost() == "0.300 kWh, if a laptop that computes draws 30 W"


def test_a_saved_class_keeps_its_recipe_and_says_so():
    options = parser().parse_args(["host", "--merge", "median"])
    fits(options, Recipe("story", 64, 9, guard="median"), "f")
    with pytest.raises(ValueError, match="the class in f has --merge clip, not median: leave it"):
        fits(options, Recipe("story", 64, 9), "f")
