"""The builders: what they make is proved by `check`, and small ones are read as they are."""

import pytest

from helpers.schedules import (
    SCHEDULES,
    breadth_first,
    check,
    dualpipe_v,
    eager,
    gpipe,
    in_flight,
    interleaved,
    naive,
    one_f_one_b,
    to_text,
    waves,
    zb_h1,
    zb_h2,
    zb_v,
)

NAMED = SCHEDULES.values()
CHUNKED = [each for each in NAMED if each.chunked]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("each", NAMED, ids=SCHEDULES)
def test_every_number_of_micro_batches_makes_a_schedule_that_runs(each, ranks):
    for micro_batches in range(1, 13):
        schedule = check(each.made(ranks, micro_batches))
        assert (schedule.size, schedule.micro_batches) == (ranks, micro_batches)
        assert schedule.name.split(",")[0] == each.name


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("each", CHUNKED, ids=lambda each: each.name)
def test_chunks_run_too_where_the_ranks_do_not_divide_the_micro_batches(each, ranks):
    for micro_batches in range(1, 13):
        for chunks in (1, 2, 3):
            schedule = check(each.made(ranks, micro_batches, chunks))
            assert schedule.rank_of == tuple(range(ranks)) * chunks
            assert schedule.stages_of(ranks - 1) == tuple(range(ranks - 1, ranks * chunks, ranks))


@pytest.mark.parametrize("build, extra", [(zb_v, 0), (dualpipe_v, 1)])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_a_v_runs_with_any_number_of_micro_batches(ranks, build, extra):
    for micro_batches in range(1, 13):
        schedule = check(build(ranks, micro_batches))
        assert schedule.stages_of(0) == (0, 2 * ranks - 1)
        assert schedule.stages_of(ranks - 1) == (ranks - 1, ranks)
        assert max(in_flight(schedule, until="weights")) <= 2 * ranks + extra


def test_small_schedules_read_as_in_the_papers():
    assert to_text(naive(2, 2)).splitlines() == ["rank 0: F0 B0 F1 B1", "rank 1: F0 B0 F1 B1"]
    assert to_text(gpipe(2, 2)).splitlines() == ["rank 0: F0 F1 B0 B1", "rank 1: F0 F1 B0 B1"]
    assert to_text(one_f_one_b(3, 4)).splitlines() == [
        "rank 0: F0 F1 F2 B0 F3 B1 B2 B3",
        "rank 1: F0 F1 B0 F2 B1 F3 B2 B3",
        "rank 2: F0 B0 F1 B1 F2 B2 F3 B3",
    ]
    assert to_text(zb_h1(2, 3)).splitlines() == [
        "rank 0: F0 F1 I0 W0 F2 I1 W1 I2 W2",
        "rank 1: F0 I0 F1 I1 W0 F2 I2 W1 W2",
    ]


@pytest.mark.parametrize("p, m", [(1, 1), (4, 2), (4, 8), (3, 7)])
def test_in_flight_equals_its_closed_forms(p, m):
    assert in_flight(gpipe(p, m)) == [m] * p
    assert in_flight(naive(p, m)) == [1] * p
    assert in_flight(one_f_one_b(p, m)) == [min(m, p - r) for r in range(p)]
    assert in_flight(eager(p, m)) == [min(m, 2 * (p - r) - 1) for r in range(p)]


def test_in_flight_of_the_zero_bubble_schedules():
    p, m = 4, 8
    assert in_flight(zb_h1(p, m)) == [p - r for r in range(p)]
    assert in_flight(zb_h1(p, m), until="weights") == [p] * p
    assert in_flight(zb_h2(p, m)) == [2 * (p - r) - 1 for r in range(p)]
    assert in_flight(zb_h2(p, m), until="weights") == [2 * p - 1] * p


def test_in_flight_of_chunks():
    p, m, v = 4, 8, 2
    ranks = range(p)
    assert in_flight(interleaved(p, m, v)) == [2 * (p - 1 - r) + (v - 1) * p + 1 for r in ranks]
    assert in_flight(breadth_first(p, m, v)) == [m * v] * p


def test_waves_are_the_schedule_again_with_other_micro_batches():
    schedule = check(waves(gpipe(2, 2), 3))
    assert to_text(schedule).splitlines()[1] == "rank 1: F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5"
    assert (schedule.micro_batches, schedule.waves, schedule.name) == (6, 3, "GPipe, 3 waves")
    assert in_flight(schedule) == [2, 2]
    assert check(waves(one_f_one_b(3, 4), 2)).micro_batches == 8
    assert waves(gpipe(2, 2), 1) == gpipe(2, 2)


@pytest.mark.parametrize("build", [each.build for each in NAMED], ids=SCHEDULES)
def test_nothing_is_no_schedule(build):
    with pytest.raises(ValueError, match="a schedule of 0 stages: give a whole number, 1 or more"):
        build(0, 4)
    with pytest.raises(ValueError, match="a schedule of 0 micro-batches: give a whole"):
        build(4, 0)
    with pytest.raises(ValueError, match="a schedule of 2.5 stages: give a whole number"):
        build(2.5, 4)


def test_no_chunk_and_no_wave_are_refused():
    with pytest.raises(ValueError, match="a schedule of 0 chunks: give a whole number"):
        interleaved(2, 2, 0)
    with pytest.raises(ValueError, match="a schedule of 0 waves: give a whole number"):
        waves(gpipe(2, 2), 0)
    with pytest.raises(ValueError, match=r"until='update'\): choose 'backward' or 'weights'"):
        in_flight(gpipe(2, 2), until="update")
