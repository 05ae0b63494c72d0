"""A schedule that cannot run is refused with the place, and torch reads every one that can."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from torch.distributed.pipelining import schedules as torchs

from helpers.schedules import SCHEDULES, Action, Schedule, check, find_problem, named, waves
from helpers.schedules.__main__ import main
from helpers.schedules.builders import gpipe, naive, one_f_one_b
from helpers.schedules.formats import from_csv, load_csv, save_csv, to_csv
from helpers.schedules.rule import in_flight, messages, missing, user_of
from helpers.schedules.schedule import parse, to_text
from helpers.search import rivals, search
from helpers.timeline import explore
from helpers.timeline.sliders import START, controls
from tests.drawn import examples
from tests.fuzz import definition
from tests.said import said

from . import drawing
from .drawing import drawn, spoiled

CROSSED = parse("0: 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1\n1: 1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1")


@examples(100)
@given(spoiled() | drawn())
def test_check_refuses_what_cannot_run_and_nothing_else_and_names_the_place(schedule):
    problem = find_problem(schedule)
    assert (problem is None) == definition.possible(schedule), problem
    if problem is not None:
        assert "\n" not in str(problem)
        if problem.position is not None:
            assert schedule.ranks[problem.rank][problem.position] == problem.action
            place = f"rank {problem.rank}, position {problem.position}"
            assert f"{place}: {problem.action}" in str(problem)


@pytest.mark.parametrize("each", SCHEDULES.values(), ids=SCHEDULES)
def test_every_builder_makes_what_runs_and_what_torch_reads(each, tmp_path):
    for p in (1, 2, 3, 4):
        for m in (*range(1, 9), 12):
            for chunks in (1, 2, 3) if each.chunked else (2,):
                made = check(each.made(p, m, chunks))
                assert (made.size, made.micro_batches, made.name.split(",")[0]) == (p, m, each.name)
                assert not each.chunked or made.rank_of == tuple(range(p)) * chunks
    read = {}
    reader = SimpleNamespace(pipeline_order=read, _validate_and_set_stage_mapping=lambda order: 0)
    torchs.PipelineScheduleMulti._load_csv(reader, str(save_csv(made, tmp_path / "ours.csv")))
    flat = [[str(one) for a in row if a for one in a.sub_actions or [a]] for row in read.values()]
    assert flat == [[*map(str, row)] for row in made.ranks]
    places = torchs._validate_schedule(read, made.size, made.stages, made.micro_batches)
    assert tuple(places[stage] for stage in range(made.stages)) == made.rank_of
    for sizes, word in (((0, 4), "stages"), ((4, 0), "micro-batches"), ((2.5, 4), "2.5 stages")):
        assert f"{word}: give a whole number" in said(each.build, *sizes)


ORDERS = "_calculate_single_rank_operations"
assert all(hasattr(torchs, each.torch) for each in SCHEDULES.values() if each.torch)
TORCHS = [each for each in SCHEDULES.values() if hasattr(getattr(torchs, each.torch, None), ORDERS)]


@pytest.mark.parametrize("each", TORCHS, ids=lambda each: each.name)
def test_ours_is_torchs_own_order(each):
    for p, m in ((1, 2), (2, 4), (3, 9), (4, 8), (4, 16), *([(3, 2), (4, 10)] * each.chunked)):
        for v in (2, 3) if each.chunked else (each.made(p, m).stages // p,):
            theirs = object.__new__(getattr(torchs, each.torch))
            vars(theirs).update(pp_group_size=p, n_local_stages=v, _n_microbatches=m)
            vars(theirs).update(num_stages=p * v, microbatches_per_round=m // max(1, m // p))
            rows = [getattr(theirs, ORDERS)(rank) for rank in range(p)]
            table = "\n".join(",".join(str(a) if a else "" for a in row) for row in rows)
            read, ours = from_csv(table), each.made(p, m, v)
            assert (read.ranks, read.pairs) == (ours.ranks, ours.pairs)


@examples(100)
@given(drawn() | drawing.named())
def test_out_as_text_or_table_and_in_again(schedule):
    ways = [from_csv(to_csv(schedule))]
    ways += [parse(to_text(schedule))] if all(schedule.ranks) else []
    for again in ways:
        for fact in ("ranks", "rank_of", "micro_batches", "pairs"):
            assert getattr(again, fact) == getattr(schedule, fact), fact


@examples(100)
@given(drawn() | drawing.named())
def test_each_message_that_the_order_needs_is_sent_once_and_received(schedule):
    rows, stages, places = messages(schedule), schedule.stages, schedule.rank_of
    every = [(rank, message) for rank, row in enumerate(rows) for message in row]
    sends = {(r, m.peer, m.tag): m.action for r, m in every if m.kind == "send"}
    receives = {(m.peer, r, m.tag): m.action for r, m in every if m.kind == "recv"}
    crossing = sum(a != b for a, b in zip(places, places[1:], strict=False))
    assert sends.keys() == receives.keys() and len({t for *_, t in sends}) == len(sends)
    assert len(sends) == 2 * schedule.micro_batches * crossing == len(every) / 2
    for (a, b, tag), action in sends.items():
        user = receives[a, b, tag]
        assert (places[action.stage], places[user.stage]) == (a, b)
        assert action in definition.needed(user, stages)
        assert user_of(*action[:2], stages) == user.stage
    for r, row in enumerate(rows):
        order = [(m.position, m.kind) for m in row]
        assert order == sorted(order) or schedule.pairs[r]  # receives before sends
        assert all(schedule.ranks[r][m.position] == m.action for m in row)


# What was written by hand, and the sentence.
REFUSED = [
    ("0: F0 F1 B0", "rank 0 never does 0B1: each stage does F and B"),
    ("0: 0F0 0B0 999999999999F0", "stage 1 is on no rank: "),
    ("0: F0 F0 B0", "rank 0, position 1: 0F0 is there a second time, after position 0"),
    ("0: B0 F0", "position 0: 0B0 needs 0F0, which comes later, at position 1"),
    ("0: F0 W0", "position 1: 0W0 needs 0I0, which rank 0 never does"),
    ("0: F0 B0 W0", "position 2: 0W0 does again what 0B0 did at position 1"),
    ("0: 0F0 0B0\n1: 0F1 1F0 1B0", "rank 1, position 0: 0F1 is of stage 0, which is on rank 0"),
    ("0: F0 F1&F2", "position 1: 0F1&0F2 is no pair: write a forward and the"),
    ("0: F0 B0 F1 B1\n1: F0 F1 B0 B1",
     "deadlock: rank 0 waits for rank 1 (it needs 1B0 for 0B0, position 1), and rank 1 waits "
     "for rank 0 (it needs 0F1 for 1F1, position 1): none of them can go first"),
    ("0: F0 F1&B0 B1\n1: F0 F1 B0 B1", "deadlock: "),
    ("0: F0&B1&B2", "joins 3 actions"),
    ("", "the text holds no schedule: write a line for each rank"),
    ("F0 B0", 'line 1 does not say which rank it is of: begin it with "rank 0:"'),
    ("0: F0\n0: B0", "line 2: rank 0 has a line already"),
    ("0: F0\n\n2: F0", "there is no line for rank 1, and one for rank 2"),
    ("0: F0\n1:  F0 B", "line 2, column 8: 'B' is no action"),
    ("0: 0F0 B0", "line 1, column 8: 'B0' names no stage: write it before the letter, as 2B0"),
    (lambda: from_csv("\n\n"), "the table is empty: write a row for each rank"),
    (lambda: from_csv("0F0\n1F0,,1G0\n"), "row 2, column 3: '1G0' is no action"),
    (lambda: load_csv("nowhere.csv"), "cannot read the schedule nowhere.csv: No such file"),
    (lambda: waves(gpipe(2, 2), 0), "a schedule of 0 waves: give a whole number"),
    (lambda: in_flight(gpipe(2, 2), until="update"), "choose 'backward' or 'weights'"),
    (lambda: check(Schedule("x", [[Action("X", 0, 0)]], (0,), 1)), "choose one of F, B, I, W"),
    (lambda: check(replace(gpipe(2, 2), rank_of=(0, 7))), "stage 1 is on rank 7, which is not"),
    (lambda: check(CROSSED, blocking=True), "it sends the result of 0F1, position 1"),
    (lambda: check(one_f_one_b(2, 2), blocking=True), "none of them can go first"),
]  # fmt: skip


@pytest.mark.parametrize("made, words", REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_a_mistake_gets_one_sentence_with_its_place(made, words):
    make = made if callable(made) else lambda: check(parse(made))
    assert words in said(make, error=(ValueError, OSError))


def test_what_is_written_by_hand_and_can_run():
    assert check(parse("0: F0 F1 B0 B1\n1: F0 F1&B0 B1")).pairs == ((), (1,))
    two = waves(gpipe(2, 1), 2)
    assert to_text(two).splitlines() == ["rank 0: F0 B0 F1 B1", "rank 1: F0 B0 F1 B1"]
    assert waves(gpipe(2, 2), 3).name == "GPipe, 3 waves"
    for schedule in (gpipe(3, 4), naive(3, 2), waves(gpipe(2, 2), 2)):  # a send waits for its recv
        assert check(schedule, blocking=True) and check(CROSSED)
    lacks = missing(Action("B", 0, 0), 2, {Action("F", 0, 0)})
    assert lacks == [(Action("B", 1, 0), Action("I", 1, 0))]


def test_a_table_of_torch_has_messages_and_shards_that_are_left_out():
    text = "0UNSHARD,0F0,0SEND_F0,,0RECV_B0,0B0,0REDUCE_GRAD\r\n1RECV_F0,1F0,1B0,1SEND_B0\r\n"
    assert from_csv(text).ranks == gpipe(2, 1).ranks
    assert from_csv("0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n").pairs == ((2,),)


# --- the registry: a builder under `named` is in every list that offers or tries all schedules ---


@pytest.fixture
def backwards():
    """A schedule that is like no other: GPipe, whose last micro-batch comes back first."""

    @named("backwards", paper="0000.00000")
    def build(stages: int, micro_batches: int) -> Schedule:
        ranks = gpipe(stages, micro_batches).ranks
        rows = [row[:micro_batches] + row[: micro_batches - 1 : -1] for row in ranks]
        return Schedule("backwards", rows, range(stages), micro_batches)

    yield SCHEDULES["backwards"]
    del SCHEDULES["backwards"]


def test_a_new_schedule_is_searched_explored_listed_and_has_its_chunks(backwards, capsys):
    schedule = backwards.made(3, 4)
    assert schedule in [*rivals(range(3), 4)]
    assert "backwards" in [done.schedule.name for done in search(3, 4, walks=1).rivals]
    assert explore(schedule="backwards", ranks=3).title.startswith("backwards: 3 ranks")
    main(["3", "4"])
    assert re.search(r"^backwards +1 +4  0000.00000$", capsys.readouterr().out, re.M)
    assert not backwards.chunked and backwards.made(2, 3, chunks=5).stages == 2
    assert SCHEDULES["breadth-first"].made(2, 3, chunks=5).stages == 10
    offered = {control["name"]: control for control in controls(START)}
    assert offered["schedule"]["values"] == list(SCHEDULES)
    assert offered["chunks"]["only"] == ["interleaved 1F1B", "breadth-first"]
    with pytest.raises(SystemExit):
        main(["0", "4"])
    assert "a schedule of 0 stages: give a whole number" in capsys.readouterr().err
