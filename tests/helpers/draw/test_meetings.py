from helpers.draw.meetings import play

SEND_FIRST = [[("send", 1), ("recv", 1)], [("send", 0), ("recv", 0)]]
IN_TURNS = [[("send", 1), ("recv", 1)], [("recv", 0), ("send", 0)]]
RING = [[("send", (r + 1) % 5), ("recv", (r - 1) % 5)][:: -1 if r % 2 else 1] for r in range(5)]


def test_two_sends_never_begin():
    assert play(SEND_FIRST) == [(0, "send", 1, 0, 0, None), (1, "send", 0, 0, 0, None)]


def test_in_turns_two_messages_take_two_units():
    assert [span[4:] for span in play(IN_TURNS)] == [(0, 1), (0, 1), (1, 2), (1, 2)]


def test_one_odd_rank_frees_a_ring_of_five_within_three_units():
    spans = play(RING)
    assert len(spans) == 10 and max(span[5] for span in spans) == 3
    assert (4, "send", 0, 0, 1, 2) in spans  # it waited for rank 0
