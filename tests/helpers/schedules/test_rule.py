"""What an action needs: the rule itself, what a player is told whose action isn't ready, and the
messages that follow from the order: none by hand, none on one rank, one tag each."""

import pytest

from helpers.schedules import (
    Action,
    breadth_first,
    check,
    gpipe,
    interleaved,
    messages,
    missing,
    needs,
    one_f_one_b,
    parse,
    user_of,
    walk,
    zb_h1,
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


@pytest.mark.parametrize(
    "schedule, count",
    [
        (gpipe(1, 5), 0),
        (gpipe(4, 8), 2 * 8 * 3),
        (one_f_one_b(4, 2), 2 * 2 * 3),
        (zb_h1(4, 8), 2 * 8 * 3),
        (interleaved(4, 8, 2), 2 * 8 * (4 * 2 - 1)),
        (breadth_first(1, 3, 2), 0),
    ],
)
def test_their_number_and_that_each_send_has_its_receive(schedule, count):
    rows = messages(schedule)
    sends = {(r, m.peer, m.tag) for r, row in enumerate(rows) for m in row if m.kind == "send"}
    receives = {(m.peer, r, m.tag) for r, row in enumerate(rows) for m in row if m.kind == "recv"}
    assert sends == receives and len(sends) == count == len({tag for _, _, tag in sends})
    assert sum(map(len, rows)) == 2 * count


def test_they_come_in_the_order_of_the_actions_and_receives_before_sends():
    rows = messages(one_f_one_b(3, 1))
    assert [(m.kind, m.peer, str(m.action), m.position) for m in rows[1]] == [
        ("recv", 0, "1F0", 0),
        ("send", 2, "1F0", 0),
        ("recv", 2, "1B0", 1),
        ("send", 0, "1B0", 1),
    ]


def test_stages_of_one_rank_send_each_other_nothing():
    schedule = check(parse("0: 0F0 3F0 3B0 0B0\n1: 1F0 2F0 2B0 1B0"))  # a V
    assert [(m.kind, str(m.action)) for m in messages(schedule)[1]] == [
        ("recv", "1F0"),
        ("send", "2F0"),
        ("recv", "2B0"),
        ("send", "1B0"),
    ]


def test_the_tag_is_the_same_where_one_stage_splits_its_backward_and_the_other_does_not():
    first, second = messages(check(parse("0: F0 B0\n1: F0 I0 W0")))
    assert [m.tag for m in first] == [m.tag for m in second]
