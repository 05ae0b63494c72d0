"""The CSV format of torch.distributed.pipelining, with torch itself as the judge."""

from types import SimpleNamespace

import pytest
from torch.distributed.pipelining import schedules as torch_schedules

from helpers.schedules import SCHEDULES, Schedule, from_csv, gpipe, load_csv, parse, save_csv

# A rank without a stage has no actions: at the beginning, and at the end.
IDLE = Schedule("idle", [[], parse("0: F0 B0").ranks[0], [], []])
ALL = [*(each.made(3, 7) for each in SCHEDULES.values()), gpipe(1, 2), IDLE]


@pytest.mark.parametrize("schedule", ALL)
def test_out_and_in_again(schedule, tmp_path):
    again = load_csv(save_csv(schedule, tmp_path / "mine.csv"))
    assert again.ranks == schedule.ranks and again.rank_of == schedule.rank_of
    assert again.micro_batches == schedule.micro_batches and again.name == "mine"
    assert again.pairs == schedule.pairs


@pytest.mark.parametrize("schedule", ALL)
def test_torch_reads_ours_and_finds_it_valid(schedule, tmp_path):
    read = {}
    reader = SimpleNamespace(pipeline_order=read, _validate_and_set_stage_mapping=lambda order: 0)
    path = save_csv(schedule, tmp_path / "ours.csv")
    torch_schedules.PipelineScheduleMulti._load_csv(reader, str(path))
    flat = [[one for a in row if a for one in a.sub_actions or [a]] for row in read.values()]
    assert [[repr(action) for action in row] for row in flat] == [
        [str(action) for action in row] for row in schedule.ranks
    ]
    places = torch_schedules._validate_schedule(
        read, schedule.size, schedule.stages, schedule.micro_batches
    )
    assert tuple(places[stage] for stage in range(schedule.stages)) == schedule.rank_of


def torchs_order(name, p, m, v):
    """The orders that torch builds, with its empty places, without stages of a real model."""
    builder = object.__new__(getattr(torch_schedules, name))
    builder.pp_group_size, builder.n_local_stages, builder._n_microbatches = p, v, m
    builder.num_stages = p * v
    builder.microbatches_per_round = m // max(1, m // p)
    return {rank: builder._calculate_single_rank_operations(rank) for rank in range(p)}


# GPipe and 1F1B of torch are loops: their orders stand nowhere to be compared.
TORCHS = [
    each
    for each in SCHEDULES.values()
    if hasattr(getattr(torch_schedules, each.torch, None), "_calculate_single_rank_operations")
]


@pytest.mark.parametrize("each", TORCHS, ids=lambda each: each.torch)
def test_ours_are_torchs_own_and_its_files_are_read(each, tmp_path):
    uneven = ((3, 2), (4, 10)) if each.chunked else ((2, 7),)
    for p, m in (*uneven, (1, 2), (2, 4), (3, 9), (4, 8), (4, 16)):
        for v in (2, 3) if each.chunked else (each.made(p, m).stages // p,):
            order = torchs_order(each.torch, p, m, v)
            path = tmp_path / "theirs.csv"
            schedules = SimpleNamespace(pipeline_order=order)
            torch_schedules.PipelineScheduleMulti._dump_csv(schedules, path)
            read, ours = load_csv(path), each.made(p, m, v)
            assert read.ranks == ours.ranks and read.pairs == ours.pairs


def test_the_torch_classes_of_the_registry_exist():
    names = [each.torch for each in SCHEDULES.values() if each.torch]
    assert len(TORCHS) >= 4 and all(hasattr(torch_schedules, name) for name in names)


def test_messages_and_sharded_weights_are_left_out():
    text = "0UNSHARD,0F0,0SEND_F0,,0RECV_B0,0B0,0REDUCE_GRAD\r\n1RECV_F0,1F0,1B0,1SEND_B0\r\n"
    assert from_csv(text).ranks == gpipe(2, 1).ranks
    pair = from_csv("0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1,0B2\n")
    assert [str(action) for action in pair.ranks[0]] == ["0F0", "0F1", "0F2", "0B0", "0B1", "0B2"]
    assert pair.pairs == ((2,),)


def test_tables_of_an_older_torch_in_which_BW_is_the_whole_backward():
    text = "0F0,0F1,0B0,0BW1,0W0\n1F0,1BW0,1F1,1SEND_B0,1BW1\n"
    whole, other = from_csv(text).ranks
    assert " ".join(map(str, whole)) == "0F0 0F1 0I0 0B1 0W0"
    assert " ".join(map(str, other)) == "1F0 1B0 1F1 1B1"
    with pytest.raises(ValueError, match="row 1, column 3: '0I0' stands in a table that has BW"):
        from_csv(text.replace("0B0", "0I0"))


def test_what_is_no_table_is_refused_with_row_and_column(tmp_path):
    with pytest.raises(ValueError, match="the table is empty: write a row for each rank"):
        from_csv("\n\n")
    with pytest.raises(ValueError, match="row 2, column 3: '1G0' is no action"):
        from_csv("0F0\n1F0,,1G0\n")
    with pytest.raises(ValueError, match="row 1, column 1: 'F0' names no stage"):
        from_csv("F0\n")
    path = tmp_path / "bad.csv"
    path.write_text("0F0,what\n")
    with pytest.raises(ValueError, match=r"bad\.csv, row 1, column 2: 'what' is no action"):
        load_csv(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bad\.csv is no schedule: it is not text"):
        load_csv(path)
    with pytest.raises(
        FileNotFoundError, match="cannot read the schedule .*none.csv: No such file"
    ):
        load_csv(tmp_path / "none.csv")
