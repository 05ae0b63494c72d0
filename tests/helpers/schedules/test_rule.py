"""What an action needs: the rule itself, and what a player is told whose action isn't ready."""

from helpers.schedules import (
    Action,
    missing,
    needs,
    one_f_one_b,
    parse,
    user_of,
    walk,
)


def test_the_rule():
    assert [needs("F", s, 3) for s in range(3)] == [(), (("F", 0),), (("F", 1),)]
    for kind in "BI":
        assert needs(kind, 1, 3) == (("F", 1), ("BI", 2))
        assert needs(kind, 2, 3) == (("F", 2),)
    assert needs("W", 1, 3) == (("I", 1),)
    assert [user_of(kind, 1, 3) for kind in "FBIW"] == [2, 0, 0, None]
    assert user_of("F", 2, 3) is user_of("B", 0, 3) is None


def test_an_action_that_is_not_ready_says_what_is_missing():
    done = {Action("F", 0, 0)}
    assert missing(Action("F", 1, 0), 2, done) == []
    assert missing(Action("F", 1, 1), 2, done) == [(Action("F", 0, 1),)]
    assert missing(Action("B", 0, 0), 2, done) == [(Action("B", 1, 0), Action("I", 1, 0))]
    assert missing(Action("B", 0, 0), 2, done | {Action("I", 1, 0)}) == []
    assert missing(Action("W", 0, 0), 2, done) == [(Action("I", 0, 0),)]


def test_a_walk_stops_where_a_rank_is_stuck():
    times = walk(parse("rank 0: F0 B0 F1 B1\nrank 1: F0 F1 B0 B1"))
    assert [len(ends) for ends in times.ends] == [1, 1]
    times = walk(one_f_one_b(3, 4))
    assert [len(ends) for ends in times.ends] == [8, 8, 8]
    assert {time for row in times.ends for time in row} == {0.0}
