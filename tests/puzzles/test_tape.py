"""A tape is judged by doing it again: what a step did to its own process counts for nothing."""

import json

import pytest
from cluster import PuzzleError, outcome, run
from cluster.errors import Doubled
from cluster.tape import replay, tape_of
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
        (lambda table: table.insert(0, 7), "makes no sense"),
        (lambda table: table.insert(0, ["input", "f" * 1000]), "makes no sense"),
        (lambda table: table.insert(0, ["load", 0, 0, 1.0]), "there is no shard 0 of 1.0"),
        (lambda table: table.insert(0, ["load", [], 0, 1]), "there is no layer"),
        (lambda table: table.insert(0, ["take", 99]), "makes no sense"),
        (lambda table: rows("input")(table)[0].__setitem__(1, "f"), "makes no|count twice"),
    ],
)
def test_tape_that_was_changed(change, says):
    with pytest.raises(PuzzleError, match=says):
        outcome(replay(changed(taped(), change), CASE))


def test_sum_played_twice():
    def twice(table):
        grad = rows("collective")(table)[0][2]
        table.insert(table.index(rows("collective")(table)[0]), ["add", grad, grad])

    with pytest.raises(Doubled, match="would count twice"):
        replay(changed(taped(), twice), CASE)


@pytest.mark.parametrize(
    "tape", ["", "[]", "3", '{"version": 1}', '{"version": 1, "case": [2, 2, 4], "ranks": [[]]}']
)
def test_no_tape(tape):
    with pytest.raises(PuzzleError, match="this is no tape of a run"):
        replay(tape, CASE)


def test_tape_of_another_case():
    tape = tape_of(run(data_parallel, 2, 2, 8, keep_tape=True))
    with pytest.raises(PuzzleError, match=r"the tape is of \(2, 2, 8\) .*, not of \(2, 2, 4\)"):
        replay(tape, CASE)


def test_run_without_a_tape():
    with pytest.raises(PuzzleError, match="start it with keep_tape=True"):
        tape_of(run(data_parallel, *CASE))


def test_memory_that_a_tape_says_was_freed_cannot_be_used():
    """So a tape cannot claim less memory than the step needs."""
    tape = taped(profile="honest")

    def early(table):
        forward = rows("forward")(table)[0]
        table.insert(table.index(forward) + 1, ["free", forward[2]])

    with pytest.raises(PuzzleError, match="makes no sense"):
        replay(changed(tape, early), CASE, profile="honest")
