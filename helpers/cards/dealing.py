"""A card from a seed: a step with one fault, and what is asked about it.

The numbers are whole milliseconds, so that a card can be worked out on paper.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from random import Random

from helpers.cards.measured import SCALE, TOLD, pipeline_step
from helpers.cards.questions import Card, Choice, Number
from helpers.cards.replicas import MARGIN, data_parallel
from helpers.schedules import SCHEDULES
from helpers.simulate import Costs, simulate
from helpers.trace import Trace

NAMES = ("GPipe", "1F1B", "interleaved 1F1B", "ZB-H1")
FAULTS = {
    "slow rank": "one rank takes longer for everything it computes",
    "long stage": "one stage has more layers than the others",
    "slow link": "messages between two neighboring ranks take too long",
    "few micro-batches": "nothing is slow, there are too few micro-batches",
}
CHANGES = {
    "equal ranks": "share the work out so that all ranks take equally long",
    "more micro-batches": "cut the same batch into twice as many micro-batches, half as long "
    "each; a message takes as long as before",
    "fast links": "links on which messages take no time",
}


def deal(
    seed: int | str,
    number: int = 1,
    secret: str = "",
    measured: bool = False,
    names: Sequence[str] = NAMES,
) -> Card:
    """Draw the card with this number: odd ones are pipelines, even ones data parallel.

    Args:
        seed: a student's number, or any word.
        secret: what only the teacher has; with it, the seed alone tells no answer.
        measured: show a step that real ranks have run, with the fault planted; its key is what
            was planted, and its numbers are those of the plan.
        names: the schedules that a pipeline may have, of `NAMES`.
    """
    if number < 1:
        raise ValueError(f"card {number}: cards are counted from 1")
    rng, name = random_of(seed, number, secret), f"{seed}-{number}{'m' * measured}"
    while True:
        if number % 2:
            card = _pipeline(rng, name, measured, names)
        else:
            card = data_parallel(rng, name, measured)
        if card:
            return card


def random_of(seed: int | str, number: int, secret: str) -> Random:
    """Return what draws the card (0: the exam) with this number."""
    digest = sha256(f"{secret}|{seed}|{number}".encode()).hexdigest()
    return Random(int(digest, 16))


def _pipeline(rng: Random, name: str, measured: bool, names: Sequence[str]) -> Card | None:
    """Draw a pipeline; None for one that leaves a doubt."""
    fault = rng.choice([fault for fault in FAULTS if not (measured and fault == "slow link")])
    # With one stage a rank, a long stage would look like a slow rank.
    schedule_name = "interleaved 1F1B" if fault == "long stage" else rng.choice(names)
    if schedule_name not in names:
        return None
    chunks = 2 if schedule_name.startswith("interleaved") else 1
    p = rng.choice((3, 4))
    m = rng.randrange(2, p) if fault == "few micro-batches" else rng.choice((p, p + 2, 2 * p))
    m = p * max(1, m // p) if chunks > 1 else m
    f, c = rng.choice((6, 8, 10, 12)), rng.choice((1, 2))
    f, c = (SCALE * f, 0) if measured else (f, c)
    schedule = SCHEDULES[schedule_name].made(p, m)
    stages, gaps = schedule.stages, schedule.stages - 1
    healthy = Costs(f, f, f, latency=[c] * gaps)
    slower = rng.choice((1.5, 2.0))
    costs, where, place = healthy, "none", ""
    equal = healthy
    if fault == "slow rank":
        rank = rng.randrange(p)
        costs = replace(healthy, speed=[1 / slower if r == rank else 1.0 for r in range(p)])
        where, place = str(rank), f"rank {rank} takes {slower:g} times as long"
        each = f * p / (p - 1 + 1 / slower)
        equal = replace(healthy, forward=each, input_grad=each, weight_grad=each)
    elif fault == "long stage":
        stage = rng.randrange(stages)
        times = [f * slower if s == stage else f for s in range(stages)]
        costs = replace(healthy, forward=times, input_grad=times, weight_grad=times)
        where, place = str(stage), f"stage {stage} takes {slower:g} times as long"
        each = sum(times) / stages
        equal = replace(healthy, forward=each, input_grad=each, weight_grad=each)
    elif fault == "slow link":
        low = rng.randrange(gaps if chunks == 1 else p - 1)
        late = f * rng.choice((1.5, 2, 3))
        pairs = [sorted((schedule.rank_of[s], schedule.rank_of[s + 1])) for s in range(gaps)]
        costs = replace(healthy, latency=[late if q == [low, low + 1] else c for q in pairs])
        where, place = (
            f"{low}-{low + 1}",
            f"messages between ranks {low} and {low + 1} take {late:g} ms",
        )
        equal = costs
    else:
        equal = costs
    done = simulate(schedule, costs)
    finer = SCHEDULES[schedule_name].made(p, 2 * m)
    after = {
        "equal ranks": simulate(schedule, equal).step_time,
        "more micro-batches": simulate(finer, _halved(costs)).step_time,
        "fast links": simulate(schedule, replace(costs, latency=0.0)).step_time,
    }
    best, second = sorted(after.values())[:2]
    if second < MARGIN * best:
        return None
    first = min(after, key=after.get)
    mended = (
        after["more micro-batches"] if where == "none" else simulate(schedule, healthy).step_time
    )
    silent = simulate(schedule, replace(healthy, latency=0.0)).step_time
    step, idle = done.step_time, 100 * done.bubble()
    if step - mended < 0.05 * step:
        return None
    wait = sum(done.idle_by_cause()[0].values())
    faults = FAULTS if chunks > 1 else {k: v for k, v in FAULTS.items() if k != "long stage"}
    questions = (
        Choice("schedule", "Which schedule is it?", 2, schedule_name, dict.fromkeys(names, "")),
        Choice("fault", "What is wrong?", 3, fault, faults),
        Choice("where", "Where? A rank or a stage (2), a link (1-2), or none.", 2, where),
        Number(
            "idle", "What share of the ranks' time is idle, from the first action to the end of "
            "the step?", 3, idle, "%", 5.0 if measured else 2.0,
            {
                "that is the share in which they compute": 100 - idle,
                "that is idle time over computing time": 100 * idle / (100 - idle),
                "that is the formula of equal stages, (p-1)/(m+p-1)": 100 * (p - 1) / (m + p - 1),
                "that is rank 0 alone": 100 * wait / step,
            },
        ),
        Number(
            "mended", "How long would the step take with this mended (too few micro-batches: with "
            "twice as many, half as long each)?", 3, mended, "ms",
            (0.05 if measured else 0.03) * mended,
            {
                "that is what it would save": step - mended,
                "that is the step as it is": step,
                "that leaves out the messages": silent,
            },
        ),
        Choice("first", "Which of these changes helps most?", 2, first, CHANGES),
    )  # fmt: skip
    forward, backward = (f"{x:g} ms" for x in (f, 2 * f))
    facts = (
        f"{p} ranks, {stages} stages, {m} micro-batches. The step takes {step:g} ms.",
        f"Where nothing is wrong a stage takes {forward} forward and {backward} backward "
        f"(I and W: {forward} each), and a message {f'{c} ms' if c else 'about a millisecond'}. "
        "A rank that waits for a message is idle.",
    )
    cause = place or f"{m} micro-batches are too few for {p} ranks"
    story = f"{schedule_name}; {cause}; {', '.join(f'{k} {v:.4g} ms' for k, v in after.items())}"
    if measured:
        return Card(name, (*facts, TOLD), partial(pipeline_step, schedule, costs), questions, story)
    return Card(name, facts, lambda: _bare(done.trace), questions, story)


def _halved(costs: Costs) -> Costs:
    """The costs of a micro-batch of half the size; a message's latency stays."""

    def half(value):
        return [x / 2 for x in value] if isinstance(value, list) else value / 2

    return replace(
        costs,
        forward=half(costs.forward),
        input_grad=half(costs.input_grad),
        weight_grad=half(costs.weight_grad),
    )


def _bare(trace: Trace) -> Trace:
    """The computing and the messages of a trace, in ms: no waits with their causes, no name."""
    kept = [e for e in trace.events if e.kind != "wait"]
    return Trace(kept, {"unit": "ms"})
