"""Who may join, under which name, and who counts as away."""

import pytest

from helpers.together.payloads import Wrong
from helpers.together.roster import LETTERS, SILENT, Bucket, Roster, new_code


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def facts(name="ada", code="ABCDEF"):
    return {"name": name, "code": code}


def test_a_code_is_six_letters_that_nobody_confuses():
    codes = {new_code() for _ in range(50)}
    assert len(codes) > 45 and all(len(c) == 6 and set(c) <= set(LETTERS) for c in codes)
    assert not set("0O1IL") & set(LETTERS)


def test_learners_have_numbers_names_and_secrets_of_their_own(clock):
    roster = Roster("ABCDEF", 5, clock)
    ada, again = roster.join(facts()), roster.join(facts(code="abcdef"))
    assert (ada.name, again.name) == ("ada", "ada 2") and ada.number != again.number
    assert roster.of(again.secret) is again and len(ada.secret) > 20
    with pytest.raises(Wrong, match="join again") as caught:
        roster.of("nobody's")
    assert caught.value.status == 401


def test_one_that_was_away_comes_back_under_its_name_and_its_old_secret_ends(clock):
    roster = Roster("ABCDEF", 5, clock)
    ada = roster.join(facts())
    number, old = ada.number, ada.secret
    assert roster.present() == [number]
    clock.now += SILENT + 1
    assert roster.present() == []
    assert roster.join(facts()).number == number and roster.present() == [number]
    with pytest.raises(Wrong):
        roster.of(old)


def test_time_away_is_no_time_here(clock):
    roster = Roster("ABCDEF", 5, clock)
    ada = roster.join(facts())
    clock.now += 2
    roster.of(ada.secret)
    clock.now += 1000
    roster.of(ada.secret)
    assert ada.here == 2 + SILENT


def test_wrong_codes_are_counted_for_each_address(clock):
    roster = Roster("ABCDEF", 5, clock)
    said = []
    for _ in range(13):
        with pytest.raises(Wrong) as caught:
            roster.join(facts(code="XXXXXX"), "10.0.0.1")
        said.append(caught.value.status)
    assert said == [403] * 11 + [429] * 2
    with pytest.raises(Wrong, match="too many wrong codes"):
        roster.join(facts(), "10.0.0.1")  # the right one would tell that it's right
    assert roster.join(facts(), "10.0.0.2")
    clock.now += 60
    assert roster.join(facts(), "10.0.0.1")


def test_a_full_class_and_names_without_end_are_bounded(clock):
    roster = Roster("ABCDEF", 2, clock)
    for n in range(30):
        if n % 2 == 0:
            clock.now += SILENT + 1
        roster.join(facts(f"x{n}"))
    assert len(roster.laptops) == len(roster.by_secret) <= 8
    assert len({one.number for one in roster.laptops.values()}) == len(roster.laptops)
    with pytest.raises(Wrong, match="2 learners are here, and no more may join"):
        roster.join(facts())


def test_what_a_learner_says_of_itself_is_checked(clock):
    roster = Roster("ABCDEF", 2, clock)
    ada = roster.join(facts())
    roster.beat(ada, {"speed": 12.5, "doing": 3})
    assert (ada.speed, ada.doing) == (12.5, "delivering")
    for doing in (None, True, 1.0, "1", 0, 4, 10**30, [1]):
        with pytest.raises(Wrong, match="^doing must be a whole number from 1 to 3$"):
            roster.beat(ada, {"speed": 1, "doing": doing})
    for speed in (None, True, "1", -0.1, 1e9, float("nan"), float("inf")):
        with pytest.raises(Wrong, match="^speed must be a number from 0 to "):
            roster.beat(ada, {"speed": speed, "doing": 1})
    for name in (None, "", "a" * 17, "a\nb", "a\x1b[2J", "\u202eevil", 3):
        with pytest.raises(Wrong, match="^name must be a text of 1 to 16 characters, in one line$"):
            roster.join(facts(name))


def test_a_bucket_gives_its_rate_and_no_more(clock):
    bucket = Bucket(2, 3, clock)
    assert [bucket.take() for _ in range(4)] == [True] * 3 + [False]
    clock.now += 1
    assert [bucket.take() for _ in range(3)] == [True, True, False]
