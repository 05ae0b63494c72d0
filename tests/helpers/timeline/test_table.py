import pytest

from helpers.schedules import SCHEDULES, one_f_one_b
from helpers.simulate import Costs, simulate
from helpers.timeline.settings import Settings
from helpers.timeline.simulated import simulated_table
from helpers.timeline.table import MAX_LANES, table_of
from helpers.trace import Event, Trace
from helpers.trace.examples import data_parallel


def as_rows(table):
    """Everything that a table says of each event, whatever the order."""
    rows = []
    for i in range(len(table.start)):
        row = {"rank": table.ranks[table.rank[i]], "kind": table.kinds[table.kind[i]]}
        row |= {"lane": table.lanes[table.lane[i]], "start": table.start[i], "end": table.end[i]}
        rows.append(row)
    for key, facts in table.facts.items():
        for i, value in zip(facts.at, facts.values, strict=True):
            rows[i][key] = value
    return [tuple(sorted(row.items())) for row in rows]


def everything(table):
    rows = as_rows(table)
    pairs = sorted((rows[send], rows[receive]) for send, receive in table.pairs)
    shown = dict(zip(table.lanes, table.goes_to, strict=True))
    used = {lane: shown[lane] for lane in {table.lanes[number] for number in table.lane}}
    return sorted(rows, key=str), pairs, table.drawn, used, table.memory


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("network", [{}, {"latency": 3, "bandwidth": 1, "message": 5}])
def test_the_short_way_gives_the_table_of_the_trace(name, network):
    done = Settings(schedule=name, ranks=3, micro_batches=6, waves=2, **network).simulated()
    assert everything(simulated_table(done)) == everything(table_of(done.trace))


def test_stages_that_differ_and_a_full_memory_keep_their_causes():
    costs = Costs(forward=[1, 3, 1], activation_bytes=10, memory_limit=30, latency=0.5)
    done = simulate(one_f_one_b(3, 5), costs)
    table = simulated_table(done)
    assert everything(table) == everything(table_of(done.trace))
    assert {"imbalance", "message", "dependency"} <= set(table.facts["cause"].values)


def test_input_has_a_lane_only_where_it_goes_on_while_a_rank_computes():
    turns = table_of(data_parallel())
    assert turns.drawn == ["compute", "communication"]
    assert turns.goes_to[turns.lanes.index("input")] == 0
    both = table_of(Trace([Event(0, "F", 0, 2), Event(0, "input", 1, 3)]))
    assert both.drawn == ["compute", "input"]


def test_a_trace_with_many_threads_shows_the_first_of_them():
    events = [Event(0, "op", i, i + 1, lane=f"thread {i:02}") for i in range(20)]
    table = table_of(Trace(events))
    assert len(table.drawn) == MAX_LANES
    assert table.goes_to[table.lanes.index("thread 19")] == -1
