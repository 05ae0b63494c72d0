"""A tape is judged by doing it again: what a step did to its own process counts for nothing."""

import json
import random

import pytest
from cluster import PuzzleError, outcome, run
from cluster.facts import WEIGHT, Facts, covers, missing_parts, numbers_in
from cluster.tape import outcome_of, replay, tape_of
from steps import data_parallel

CASE = (2, 2, 4)


def taped(step=data_parallel, **settings):
    return tape_of(run(step, *CASE, keep_tape=True, **settings))


def changed(tape, change):
    """The tape after `change(rows of rank 0)`."""
    table = json.loads(tape)
    change(table["ranks"][0])
    return json.dumps(table)


def rows(kind):
    return lambda table: [row for row in table if row[0] == kind]


def test_books_that_were_cooked_do_not_reach_the_judge():
    honest = outcome(replay(taped(), CASE))

    async def cooks(m):
        await data_parallel(m)
        m._books.now = m._books.lane_free = m._books.peak = 0.0
        m._books.log[:] = m._books.log[:1]
        return m

    fooled = outcome(run(cooks, *CASE))
    assert fooled.time < honest.time
    assert outcome(replay(taped(cooks), CASE)) == honest


def test_forged_value_by_way_of_the_books_is_refused():
    async def cooks(m):
        for number, facts in list(m._books.book.items()):
            m._books.book[number] = facts._replace(samples=15)
        w, s, _, _, g = m.storage()
        for i in range(2):
            w[i], s[i] = m.load_weights(i)
            g[i] = m.empty_grad(i)
            m._books.book[g[i]._number] = m._books.book[g[i]._number]._replace(samples=15)
            w[i], s[i] = m.update(i, g[i], w[i], s[i])
            m.set_final_weight(i, w[i])
        return m

    models = run(cooks, *CASE, keep_tape=True)
    # In its own process nothing can be hidden from a step: no forward, no backward, and it passes.
    assert {event.typ for event in outcome(models) and models[0].log} == {"load_weights", "update"}
    with pytest.raises(PuzzleError, match="update of layer 0: samples 0 to 3 are missing"):
        replay(tape_of(models), CASE)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda table: table.remove(rows("backward")(table)[0]), "makes no sense"),
        (lambda table: table.__delitem__(slice(3, None)), "waits for rank 0"),
        (
            lambda table: table.remove(rows("final")(table)[0]),
            "rank 0 has loaded layer 0 and handed",
        ),
        (lambda table: table.insert(3, ["free", 1]), "a row of the tape makes no sense"),
        (lambda table: table.insert(3, ["open", "/etc/passwd"]), "a row of the tape makes no"),
        (lambda table: table.insert(9, ["collective", "__init__", 1, 0]), "makes no sense"),
        (lambda table: table.insert(0, ["input", "f" * 1000]), "makes no sense"),
        (lambda table: table.insert(0, ["load", 10**400, 0, 1]), "there is no layer 1000"),
        (lambda table: table.insert(0, ["load", 0, 0, 10**400]), "at most 4,096 shards"),
        (lambda table: table.insert(0, ["load", True, 0, 1]), "makes no sense"),
        (lambda table: table.insert(0, []), "makes no sense"),
        (lambda table: table.insert(0, 7), "makes no sense"),
        (lambda table: table.insert(9, ["collective", "all_reduce", 1, 99]), "makes no sense"),
        (lambda table: table.insert(0, ["take", 99]), "makes no sense"),
        (lambda table: rows("input")(table)[0].__setitem__(1, "f"), "makes no|count twice"),
    ],
)
def test_tape_that_was_changed(change, says):
    with pytest.raises(PuzzleError, match=says):
        outcome(replay(changed(taped(), change), CASE))


TABLE = '{"version": 1, "case": %s, "ranks": %s}'


@pytest.mark.parametrize(
    ("recorded", "says"),
    [
        (5, "what came back is no tape"),
        ({"tape": 5}, "what came back is no tape"),
        ({"tape": ""}, "this is no tape of a run"),
        ({"tape": "3"}, "this is no tape of a run"),
        ({"tape": "[" * 200_000}, "this is no tape of a run"),
        ({"tape": TABLE % ("[2, 2, 4]", "[[]]")}, "this is no tape of a run"),
        ({"tape": TABLE % ("[2, 2, 4]", '{"x": [], "y": []}')}, "this is no tape of a run"),
        ({"tape": TABLE % ("[2, 2, 4]", "[[], 5]")}, "this is no tape of a run"),
        ({"tape": TABLE % ("5", "[[], []]")}, "this is no tape of a run"),
        ({"error": "its own words"}, "its own words"),
    ],
)
def test_no_tape(recorded, says):
    case = {"ranks": 2, "layers": 2, "samples": 4, "profile": "classic"}
    with pytest.raises(PuzzleError, match=says):
        outcome_of(recorded, case, 20)


def test_run_without_a_tape():
    with pytest.raises(PuzzleError, match="start it with keep_tape=True"):
        tape_of(run(data_parallel, *CASE))


def test_memory_that_a_tape_says_was_freed_cannot_be_used():
    """So a tape cannot claim less memory than the step needs."""
    tape = taped(profile="bytes")

    def early(table):
        forward = rows("forward")(table)[0]
        table.insert(table.index(forward) + 1, ["free", forward[2]])

    with pytest.raises(PuzzleError, match="makes no sense"):
        replay(changed(tape, early), CASE, profile="bytes")


def shard(*numbers):
    *held, parts = numbers
    return Facts(WEIGHT, 0, shards=sum(1 << k for k in held), parts=parts)


def test_shards_of_two_cuts_cover_each_other_as_counting_says():
    numbers = random.Random(7)
    for _ in range(400):
        cuts = [numbers.randint(1, 6) for _ in range(3)]
        a, b, c = (shard(*numbers.sample(range(n), numbers.randint(1, n)), n) for n in cuts)
        every = {
            f: {k * 60 // f.parts + i for k in numbers_in(f.shards) for i in range(60 // f.parts)}
            for f in (a, b, c)
        }
        assert covers(a, b) == (every[b] <= every[a]), (a, b)
        assert missing_parts([a, b, c]) == (len(every[a] | every[b] | every[c]) < 60)
