"""The trace of a simulated step: the same events that a real run records."""

from helpers.schedules import Action, Schedule, tag_of, target_of
from helpers.simulate.clock import Times
from helpers.simulate.costs import Costs
from helpers.simulate.idle import Idle
from helpers.simulate.memory import over_time
from helpers.trace import Counter, Event, Trace


def to_trace(
    schedule: Schedule, costs: Costs, times: Times, closing: list[Event], idle: list[Idle]
) -> Trace:
    """Computing, messages, the events that close the step, waits with their cause, memory."""
    events = list(closing)
    for rank, actions in enumerate(schedule.ranks):
        starts, ends = times.starts[rank], times.ends[rank]
        for position, action in enumerate(actions):
            kind, stage, i = action
            facts = {"stage": stage, "micro_batch": i}
            events.append(Event(rank, kind, starts[position], ends[position], "compute", "", facts))
            target = target_of(schedule, action)
            if target is not None and target != rank:
                events += _message(schedule, costs, times, action, rank, target)
    events += [_wait(each) for each in idle if each.cause != "all-reduce"]
    counters = [
        Counter(rank, "memory", time, held)
        for rank in range(schedule.size)
        for time, held in over_time(schedule, costs, times, rank)
    ]
    meta = {"title": repr(schedule), "schedule": schedule.name, "simulated": True}
    return Trace(sorted(events, key=lambda e: (e.start, e.rank)), meta, counters)


def _message(
    schedule: Schedule, costs: Costs, times: Times, action: Action, rank: int, target: int
) -> tuple[Event, Event]:
    """Both ends of a message, from when it leaves until it arrives."""
    kind, stage, i = action
    back = kind != "F"
    receiver = Action(kind, stage - 1 if back else stage + 1, i)
    pair = min(stage, receiver.stage)
    key = stage * schedule.micro_batches + i
    end = times.arrived[back][key]
    size = costs.message_bytes[pair]
    on_the_way = size / costs.bandwidth[pair] + costs.latency[pair]
    start = max(times.given[back][key], end - on_the_way)  # later where the link was taken
    facts = {"micro_batch": i, "tag": tag_of(schedule, receiver), "bytes": int(size)}
    send = {"stage": stage, "peer": target} | facts
    receive = {"stage": receiver.stage, "peer": rank} | facts
    return (
        Event(rank, "send", start, end, "communication", "", send),
        Event(target, "recv", start, end, "communication", "", receive),
    )


def _wait(idle: Idle) -> Event:
    facts: dict = {"cause": idle.cause}
    if idle.action is not None:
        facts |= {"stage": idle.action.stage, "micro_batch": idle.action.micro_batch}
        facts |= {"for": str(idle.action), "until": idle.until}
    return Event(idle.rank, "wait", idle.start, idle.end, "communication", idle.cause, facts)
