"""Cards: their keys against a simulation of another kind, their points, their pages."""

import math
import re
from functools import partial

import pytest

from helpers.cards import deal
from helpers.cards.__main__ import main
from helpers.cards.dealing import FAULTS
from helpers.cards.questions import Number
from helpers.cards.replicas import REPLICA_FAULTS

SEEDS = range(60)


def key_of(card) -> dict:
    return {question.key: question.right for question in card.questions}


def relaxed(trace) -> float:
    """When the last action of a drawn pipeline can end: from the order, durations and messages.

    No queue and no walk: start times rise until no constraint is broken.
    """
    boxes = {}
    for event in trace.events:
        if event.lane == "compute":
            facts = event.info
            boxes[event.rank, event.kind, facts["stage"], facts["micro_batch"]] = event
    start = dict.fromkeys(boxes, 0.0)
    rows = {}
    for key in sorted(boxes, key=lambda key: boxes[key].start):
        rows.setdefault(key[0], []).append(key)
    before = [pair for row in rows.values() for pair in zip(row, row[1:], strict=False)]
    late = {}
    for event in trace.events:
        if event.kind == "send":
            late[event.rank, event.info["peer"]] = event.duration
    last = max(key[2] for key in boxes)
    place = {key[2]: key[0] for key in boxes}
    grads = {key[2]: key[1] for key in boxes if key[1] in "BI"}
    needs = []
    for rank, kind, stage, i in boxes:
        if kind == "F" and stage:
            needs.append(((place[stage - 1], "F", stage - 1, i), (rank, kind, stage, i)))
        if kind in "BI" and stage < last:
            back = (place[stage + 1], grads[stage + 1], stage + 1, i)
            needs.append((back, (rank, kind, stage, i)))
    for _ in range(len(boxes)):
        moved = False
        for first, then in before:
            if (at := start[first] + boxes[first].duration) > start[then] + 1e-9:
                start[then], moved = at, True
        for first, then in needs:
            at = start[first] + boxes[first].duration + late.get((first[0], then[0]), 0.0)
            if at > start[then] + 1e-9:
                start[then], moved = at, True
        if not moved:
            break
    return max(start[key] + boxes[key].duration for key in boxes)


def resized(trace, size) -> float:
    """When the step would end whose boxes and messages take `size(event)`."""
    events = [type(e)(e.rank, e.kind, e.start, e.start + size(e), e.lane, e.name, e.info)
              for e in trace.events]  # fmt: skip
    return relaxed(type(trace)(events, trace.meta))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_of_a_pipeline_holds_in_another_simulation(seed):
    card = deal(seed, 1)
    took = relaxed(card.trace)
    assert f"The step takes {took:g} ms" in card.facts[0]
    ranks = card.trace.ranks
    busy = sum(e.duration for e in card.trace.events if e.lane == "compute")
    assert math.isclose(key_of(card)["idle"], 100 * (1 - busy / took / len(ranks)), rel_tol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mended_pipeline_takes_what_the_key_says(seed):
    """The same boxes with the healthy times that stand on the card."""
    card = deal(seed, 1)
    key = key_of(card)
    if key["fault"] == "few micro-batches":
        return
    forward, _, half, message = map(int, re.findall(r"(\d+) ms", card.facts[1]))
    healthy = {"F": forward, "B": 2 * half, "I": half, "W": half}
    mended = resized(card.trace, lambda e: healthy[e.kind] if e.lane == "compute" else message)
    assert math.isclose(mended, key["mended"], rel_tol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_change_that_helps_most_is_the_one_of_the_key(seed):
    card = deal(seed, 1)
    key, took = key_of(card), partial(resized, card.trace)
    computing = [e for e in card.trace.events if e.lane == "compute"]
    forward = int(re.search(r"(\d+) ms forward", card.facts[1])[1])
    parts = {"F": 1, "B": 2, "I": 1, "W": 1}
    m = 1 + max(e.info["micro_batch"] for e in computing)
    ranks, stages = len(card.trace.ranks), 1 + max(e.info["stage"] for e in computing)
    ratios = {e.rank: e.duration / parts[e.kind] / forward for e in computing}
    if key["fault"] == "slow rank":
        even = ranks / sum(1 / ratio for ratio in ratios.values())
    else:
        even = sum(e.duration for e in computing) / m / 3 / forward / stages
    others = {
        "equal ranks": took(
            lambda e: e.duration if e.lane != "compute" else parts[e.kind] * forward * even
        ),
        "fast links": took(lambda e: e.duration if e.lane == "compute" else 0.0),
    }
    others.pop("equal ranks") if key["fault"] == "slow link" else None  # nothing to share out
    told = dict(re.findall(r"(equal ranks|fast links|more micro-batches) ([\d.]+) ms", card.story))
    for change, seconds in others.items():
        assert math.isclose(float(told[change]), seconds, rel_tol=1e-3), change
    assert key["first"] == min(told, key=lambda change: float(told[change]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_key_of_replicas_holds_in_closed_form(seed):
    card = deal(seed, 2)
    key, events = key_of(card), card.trace.events
    layers = max(e.info.get("layer", 0) for e in events) + 1
    forward, backward, message = map(int, re.findall(r"(\d+) ms", card.facts[1]))
    begins = [min(e.start for e in events if e.rank == rank) for rank in card.trace.ranks]
    # Messages follow each other: the k-th from the end waits for its layer, and k more follow.
    ready = max(begins) + forward
    ends = [ready + backward * (n + 1) + message * (layers - n) for n in range(layers)]
    assert math.isclose(key["mended"], max(ends), rel_tol=1e-9)
    for group in {tuple(e.info["group"]) for e in events if "group" in e.info}:
        sent = [e for e in events if e.rank == group[0] and e.kind == "all-reduce"]
        assert all(a.end <= b.start + 1e-9 for a, b in zip(sent, sent[1:], strict=False)), (
            "one link"
        )
        for e in sent:  # no message before all of its group have what it carries
            computed = [
                b.end
                for b in events
                if b.kind == "B" and b.rank in group and b.info["micro_batch"] == e.info["layer"]
            ]
            assert e.start >= max(computed) - 1e-9 and len(computed) == len(group)


def test_every_fault_is_dealt_and_every_answer_changes_with_the_seed():
    for number, faults in ((1, FAULTS), (2, REPLICA_FAULTS)):
        keys = [key_of(deal(seed, number)) for seed in SEEDS]
        assert {key["fault"] for key in keys} == set(faults)
        for question in keys[0]:
            assert len({key[question] for key in keys}) > 2, question


def test_a_secret_changes_the_cards_and_a_seed_repeats_them():
    assert deal(7, 1) == deal(7, 1) == deal("7", 1)
    assert [key_of(deal(7, n)) for n in range(1, 9)] != [
        key_of(deal(7, n, "x")) for n in range(1, 9)
    ]


@pytest.mark.parametrize("number", [1, 2])
def test_right_answers_have_all_points_and_a_known_slip_half(number):
    card = deal(4711, number)
    right = key_of(card)
    assert sum(r.points for r in card.grade(right).values()) == card.points
    idle = next(q for q in card.questions if q.key == "idle")
    for slip, value in idle.telling.items():
        result = card.grade({"idle": value})["idle"]
        assert result.points == idle.points / 2 and slip in result.words
    near = Number("idle", "", 3, 59, "%", 2, {"a": 41, "b": 40})  # the nearest slip is named
    assert [near.grade(said).words[-1] for said in (41, 40, 39)] == ["a", "b", "b"]
    assert card.grade({"idle": -5})["idle"].points == 0
    assert card.grade({})["idle"].words == "no answer"


def test_what_is_no_answer_is_told():
    card = deal(4711, 1)
    with pytest.raises(ValueError, match="fault='bad luck' isn't one of: slow rank, "):
        card.grade({"fault": "bad luck"})
    with pytest.raises(ValueError, match="idle='much' isn't a number of %"):
        card.grade({"idle": "much"})
    with pytest.raises(ValueError, match="card 4711-1 asks no color"):
        card.grade({"color": "red"})
    with pytest.raises(ValueError, match="cards are counted from 1"):
        deal(4711, 0)


def test_the_picture_says_nothing_that_is_asked():
    for number in range(1, 9):
        card = deal(12, number)
        text = card.picture().svg()
        for word in ("busy", "wait", "finished", "1F1B", "GPipe", "%", card.story):
            assert word not in text


def test_pages_and_points_of_a_class(tmp_path, capsys):
    assert main(["--seed", "1", "2", "--count", "2", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "1.html").read_text(encoding="utf-8")
    assert page.count("<article>") == 2 and page.count("<svg") == 2 and "class=right" not in page
    assert main(["--seed", "1", "--key", "--out", str(tmp_path)]) == 0
    assert deal(1, 1).story[:9] in (tmp_path / "1_key.html").read_text(encoding="utf-8")
    key = key_of(deal(1, 2))
    answers = tmp_path / "answers.csv"
    answers.write_text(
        "seed,card,fault,where,idle,mended,first\n"
        f"1,2,{key['fault']},{key['where']},{key['idle']:.0f},{key['mended']:g},nonsense\n",
        encoding="utf-8",
    )
    capsys.readouterr()
    assert main(["grade", str(answers)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("1,2,11,13,") and "first='nonsense' isn't one of" in said[1]


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--count", "0"], "--count 0: give 1 or more"),
        (["grade", "nowhere.csv"], "nowhere.csv"),
        (["--secret", "nowhere"], "nowhere"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, words, capsys, tmp_path):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1


def test_a_row_without_a_card_is_told(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("seed,card\n5,\n", encoding="utf-8")
    assert main(["grade", str(path)]) == 2
    assert "line 2: needs a seed and the number of a card" in capsys.readouterr().err


@pytest.mark.parametrize("number", [1, 2])
def test_a_measured_card_takes_what_its_plan_says_and_shows_what_was_planted(number):
    """Real ranks; nothing is read from a clock but what the eye reads: who takes longer."""
    seed = next(s for s in SEEDS if key_of(deal(s, number, measured=True))["fault"] == "slow rank")
    card = deal(seed, number, measured=True)
    forwards = {rank: 0.0 for rank in card.trace.ranks}
    for event in card.trace.events:
        forwards[event.rank] += event.duration * (event.kind == "F")
    assert str(max(forwards, key=forwards.get)) == key_of(card)["where"]
    planned = float(re.search(r"The step takes (\d+) ms", card.facts[0])[1])
    assert card.trace.duration > 0.95 * planned  # it can't be faster than its sleeps
    assert "slow" not in card.picture().svg() and card.name.endswith("m")


def test_a_measured_card_is_graded_without_running_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("helpers.cards.measured.launch", None)
    monkeypatch.setattr("helpers.cards.measured.run_paced", None)
    key, answers = key_of(deal(1, 2, measured=True)), tmp_path / "answers.csv"
    said = ",".join(str(key[name]) for name in ("fault", "where", "idle", "mended", "first"))
    answers.write_text(f"seed,card,fault,where,idle,mended,first\n1,2m,{said}\n", encoding="utf-8")
    assert main(["grade", str(answers)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("1,2m,13,13,")


def test_a_lesson_asks_for_the_schedules_that_it_has_told():
    cards = [deal(seed, 1, names=("GPipe", "1F1B")) for seed in SEEDS]
    assert {key_of(card)["schedule"] for card in cards} == {"GPipe", "1F1B"}
    assert all("interleaved" not in str(card) and "ZB" not in str(card) for card in cards)
