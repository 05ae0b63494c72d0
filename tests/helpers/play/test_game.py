"""The schedule game: moves and their reasons, levels and par, help, links and files."""

import json
import random
import re

import pytest

from helpers.play import LEVELS, Board, Refused, answer, level_of
from helpers.play.answers import board_of
from helpers.play.finish import coached, finished, known_plans, played_on, worth
from helpers.schedules import SCHEDULES, Action, check, from_csv
from helpers.schedules.schedule import read_action


def ask(level, plan, do, **more):
    return answer({"do": do, "level": level, "plan": plan} | more)


@pytest.mark.parametrize(
    "level, plan, move, words, needs",
    [
        ("cap", "__", "1F0", "1F0 needs 0F0 of rank 0, which isn't in the plan yet", ["0F0"]),
        ("cap", "F0__", "0B0", "0B0 needs 1B0 of rank 1, which isn't in the plan yet", ["1B0"]),
        ("cap", "F0 F1 F2__", "0F3", "finds no room, because rank 0 keeps 3 already", []),
        ("cap", "F0__", "0F0", "0F0 is there a second time, after position 0: keep one", []),
        ("cap", "F0__", "0W0", "there's no W in this level: the backward is in one piece", []),
        (
            "h1",
            "F0_F0_F0",
            "2W0",
            "2W0 needs 2I0, which isn't in the plan yet: add it before",
            ["2I0"],
        ),
        ("h1", "F0__", "0B0", "there's no B in this level: split it in I, W", []),
        ("two", "F0_F0", "0F3", "is of the next step, and rank 0 must first finish this", []),
        ("cap", "__", "9F0", "this level has no 9F0", []),
        ("cap", "__", "<b>", "'<b>' is no action", []),
    ],
)
def test_an_illegal_move_is_refused_with_its_reason(level, plan, move, words, needs):
    said = ask(level, plan, "place", action=move)
    assert words in said["refused"] and said["needs"] == needs
    assert not said["refused"].startswith("rank ")  # the player knows where it was to go
    assert "plan" not in said


@pytest.mark.parametrize("form", ["link", "csv"])
def test_a_pair_travels_and_lasts_as_one(form):
    """On rank 0 of two, F2 and B0 run as one: F2 waits for what B0 needs."""
    costs = {"ranks": 2, "micro_batches": 3}
    plan = "F0 F1 F2&B0_F0 B0 F1"
    apart, paired = (
        ask("own", text, "open", costs=costs) for text in (plan.replace("&", " "), plan)
    )
    assert paired["plan"] == plan and paired["score"]["step"] == apart["score"]["step"] + 1
    text = ask("own", plan, "save", costs=costs, **{"as": form})["text"]
    again = ask("own", "", "read", costs=costs, text=text)
    assert again["plan"] == plan and again["score"] == paired["score"]
    if form == "link":
        assert "F2~B0" in text and "&B0" not in text
        for other in ("F2&B0", "F2%26B0"):  # by hand, and as other pages escape it
            typed = ask("own", "", "read", costs=costs, text=text.replace("F2~B0", other))
            assert typed["plan"] == plan
    done = ask("own", plan, "finish", costs=costs)
    assert done["plan"].startswith("F0 F1 F2&B0 ") and done["complete"]
    assert "&" not in ask("own", plan, "remove", costs=costs, action="0B0")["plan"]


def test_what_others_need_cannot_be_taken_back_alone():
    said = ask("cap", "F0 F1_F0_F0", "remove", action="0F0")
    assert "1F0 needs 0F0 of rank 0" in said["refused"]
    assert ask("cap", "F0 F1_F0_F0", "remove", action="0F0", users=True)["plan"] == "F1__"


def test_moves_that_would_deadlock_or_come_too_early_are_refused():
    board = finished(Board(level_of("1f1b")))
    with pytest.raises(Refused, match="comes later, at position"):
        board.move(Action("B", 3, 0), 0)
    with pytest.raises(Refused, match="deadlock: "):
        board.move(Action("F", 0, 7), 99)
    assert board.move(Action("F", 0, 1), 0).orders[0][:2] == (Action("F", 0, 1), Action("F", 0, 0))


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
def test_each_level_can_be_won_and_nothing_known_beats_par(level):
    done = finished(Board(level))
    check(done.schedule)
    shown = answer({"do": "finish", "level": level.id})
    assert shown["complete"] and shown["score"]["placed"] == shown["score"]["total"]
    assert (level.par is None) == (level.id == "own")
    if level.par is not None:
        assert worth(done) == pytest.approx(level.par) and shown["won"]
        assert (
            min([worth(Board(level, p.ranks)) for p in known_plans(level)], default=99) >= level.par
        )
    assert answer({"do": "par", "level": level.id})["par"] == pytest.approx(worth(done))


def test_a_level_is_not_won_below_its_goal():
    one_by_one = "_".join(" ".join(f"F{i} B{i}" for i in range(4)) for _ in range(4))
    shown = ask("gpipe", one_by_one, "open")
    assert shown["complete"] and not shown["won"]
    assert shown["said"].startswith("Complete in 32 s; the goal is 14 s")


def test_any_hand_of_legal_moves_can_be_drawn_and_what_is_offered_is_legal():
    rng = random.Random(5)
    for level in (level_of("v"), level_of("two"), level_of("slow")):
        board = Board(level)
        while True:
            offered = [n for rank in range(level.ranks) for n in board.next_of(rank)]
            ready = [(action, start) for action, start in offered if start is not None]
            for action, start in offered:
                if start is None:
                    with pytest.raises(Refused):
                        board.place(action)
            if not ready:
                break
            action, start = rng.choice(ready)
            board = board.place(action)
            order = board.orders[level.places[action.stage]]
            times = board.simulated.times.starts[level.places[action.stage]]
            assert times[order.index(action)] == start
        assert answer({"do": "open", "level": level.id, "plan": plan_of(board)})["plan"]


def plan_of(board):
    return "_".join(" ".join(map(str, order)) for order in board.orders)


def test_the_coach_knows_a_choice_from_none_and_play_on_stops_there():
    board = Board(level_of("cap"))
    assert coached(board)[0] == "Rank 0 has one thing to do: 0F0."
    board, why = played_on(board)
    assert "real choice" in why
    words, about, best = coached(board)
    assert len(about) > 1 and best == about[0]
    good, bad = (worth(finished(board.place(action))) for action in (best, about[1]))
    assert good < bad and f"{good:g} s" in words and f"{bad:g} s" in words


def test_the_coach_names_the_move_that_lost_the_goal():
    naive = "_".join(["F0 B0 F1 F2 F3 B1 B2 B3"] * 4)
    said = ask("gpipe", naive, "coach")
    words = "Since 2B0 at 5 s, the coach knows no way to 14 s: take it back"
    assert said["said"].startswith(words) and said["about"] == said["worse"] == ["2B0"]
    assert "Since" not in ask("gpipe", "F0___", "coach")["said"]
    won = answer({"do": "finish", "level": "gpipe"})["plan"]
    assert ask("gpipe", won, "coach")["said"] == "Done: 14 s, and nobody knows a faster plan."


FURTHER = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]


@pytest.mark.slow_for("1f1b", "h", "v")
@pytest.mark.parametrize("seed", [0, *FURTHER])
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.id)
def test_who_follows_every_word_of_the_coach_wins(level, seed):
    board, rng = Board(level), random.Random(f"{level.id} {seed}")
    begun = rng.randrange(level.total) if seed else 0  # moves of one's own, before the first word
    turns = 0
    while not board.complete:
        assert (turns := turns + 1) < 9 * level.total, "who follows the coach gets nowhere"
        ready = [
            a
            for rank in range(level.ranks)
            for a, start in board.next_of(rank)
            if start is not None
        ]
        if begun and ready:
            board, begun = board.place(rng.choice(ready)), begun - 1
            continue
        said = ask(level.id, plan_of(board), "coach")
        if said["slip"]:  # "take it back", with what came after it
            after = ask(level.id, plan_of(board), "back")
            assert not after["slip"] and after["score"]["placed"] < said["score"]["placed"]
            board = board_of({"level": level.id, "plan": after["plan"]})
            continue
        words, advised = said["said"], said["about"][0]
        assert advised in words
        equal = "makes no difference" in words and re.findall(r"\d+[FBIW]\d+", words)
        board = board.place(read_action(rng.choice(equal or [advised])))
    assert worth(board) <= (level.target or 99)
    assert ask(level.id, plan_of(board), "open")["won"]


@pytest.mark.parametrize(
    "level, name, words",
    [
        ("cap", "1F1B", "That was 1F1B."),
        ("gpipe", "GPipe", "That was GPipe."),
        ("slow", "eager 1F1B", "That was eager 1F1B."),
        ("h1", "ZB-H1", "That was ZB-H1."),
    ],
)
def test_a_plan_that_wins_is_called_by_its_name(level, name, words):
    board = level_of(level)
    plan = SCHEDULES[name].made(board.ranks, board.micro_batches, 1)
    shown = ask(level, plan_of(Board(board, plan.ranks)), "open")
    assert shown["won"] and shown["named"] == words
    assert shown["level"]["lesson"]["stem"].endswith(board.lesson)
    late = ask("gpipe", "_".join(["F0 F1 F2 B0 F3 B1 B2 B3"] * 4), "open")
    assert not late["named"]
    other = ask("gpipe", "F0 F1 F2 F3 B1 B0 B2 B3_" * 3 + "F0 F1 F2 F3 B1 B0 B2 B3", "open")
    assert other["won"] and other["named"] == "Your order has no name; 1F1B takes 14 s."


def test_the_coach_marks_what_it_advises_and_what_it_warns_of_apart():
    said = ask("h1", "F0 F1_F0 F1_F0", "coach")
    assert said["about"] and said["worse"] == said["about"][1:]


def test_a_dead_end_is_said_by_coach_and_finish_and_play_on_stops():
    costs = {"ranks": 2, "shape": 1, "cap": 2}
    said = ask("own", "0F0 0F1_", "coach", costs=costs)
    assert said["said"].endswith("knows no end from here: take back a forward, and try again.")
    on = ask("own", "0F0 0F1_", "on", costs=costs)
    assert (on["plan"], on["said"]) == ("0F0 0F1_", said["said"]) and said["about"] == []
    refused = ask("own", "0F0 0F1_", "finish", costs=costs)["refused"]
    assert "no order fits into memory" in refused


def test_a_plan_travels_as_link_and_csv():
    board = finished(Board(level_of("v")))
    for form in ("link", "csv"):
        text = answer({"do": "save", "as": form, "level": "v", "plan": plan_of(board)})["text"]
        read = answer({"do": "read", "level": "v", "text": text})
        assert read["plan"] == plan_of(board) and read["level"]["id"] == "v"
    assert from_csv(text).ranks == board.orders
    costs = {"ranks": 2, "latency": 0.5}
    text = ask("own", "F0_F0", "save", costs=costs, **{"as": "link"})["text"]
    read = answer({"do": "read", "text": "https://lab.example/play.html#" + text})
    assert read["plan"] == "F0_F0" and read["rows"][1]["actions"][0]["start"] == 1.5


@pytest.mark.parametrize(
    "text, words",
    [
        ("#level=cap&plan=F0-F", "'F' is no action"),
        ("#level=cap&plan=B0__", "rank 0, position 0: 0B0 needs 0F0"),
        ("#level=<img src=x>&plan=F0", "there's no level '<img src=x>'"),
        ("#level=own&ranks=99&plan=F0", "ranks: choose from 1 to 8, not ranks=99"),
        ("#level=cap&pl", "the link is broken: 'pl' means nothing"),
        ("#plan=F0", "the link is broken: it names no level"),
        ("#level=own&ranks=many", "ranks='many' isn't a whole number"),
        ("#level=own&micro_batches=2.5", "micro-batches: micro_batches='2.5' isn't a whole number"),
        (f"#level=own&ranks={10**400}", "isn't a whole number"),
        ("#level=own&ranks=1e999", "isn't a whole number"),
        ("#level=own&latency=nan", "message (s): choose from 0 to 100, not latency=nan"),
        ("0F0,0B0\n1F0,1B0\n", "the file is a plan for 2 ranks, and this level has 3"),
        ("0F0\n1F0\n2F9\n", "the file has 2F9, and this level has stages 0 to 2"),
        ("<b>hello</b>", "'<b>hello</b>' is no action"),
        ("F0 " * 100_000, "that's 300,000 characters"),
    ],
)
def test_a_wrong_link_or_file_is_refused_with_a_sentence(text, words):
    said = answer({"do": "read", "level": "cap", "text": text})
    assert words in said["refused"]


@pytest.mark.parametrize("question", [{}, {"do": "fly", "level": "cap"}, {"do": "open"}])
def test_a_page_that_asks_nonsense_gets_a_sentence(question):
    assert answer(question)["refused"]


def test_what_a_page_gets_is_plain_data():
    shown = answer({"do": "finish", "level": "slow"})
    assert json.loads(json.dumps(shown))["score"] == shown["score"]
    row = shown["rows"][0]
    assert row["peak"] == 5
    assert row["waits"][0]["why"] == "there's no room for the next forward until 0B0 is done"
    assert read_action(row["actions"][0]["name"]) == Action("F", 0, 0)
