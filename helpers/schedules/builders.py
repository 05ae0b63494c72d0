"""The named schedules, for p ranks and m micro-batches.

naive, GPipe, 1F1B, eager 1F1B: one stage per rank; any schedule repeated in waves.
interleaved, breadth-first: rank r of p holds stages r, r+p, r+2p ..., called its chunks. A smaller
    chunk fills the pipeline sooner: the bubble is divided by the number of chunks, and there are as
    many times more messages.
ZB-H1, ZB-H2, ZB-V: the backward is split (Qi et al., "Zero bubble pipeline parallelism", arXiv
    2401.10241). The stage before waits for the gradient of the input (I, the paper's B) alone.
    No stage waits for the gradient of the weights (W), so it fills the time in which a rank would
    otherwise sit idle. In ZB-V rank r of p holds stage r on the way down and stage 2p-1-r on the
    way up: the last stage is on rank 0, and a micro-batch turns round within the last rank.
DualPipeV: stages as in ZB-V; a forward and a backward of other micro-batches always come in pairs,
    so that the messages of one can hide behind the work of the other (DeepSeek-V3's DualPipe, arXiv
    2412.19437, cut in half). DualPipe itself has every stage on two ranks, and a schedule has it on
    one; its step in closed form is in `helpers.cluster`.
"""

from collections import Counter

from helpers.schedules.registry import named
from helpers.schedules.schedule import Action, Schedule, of_turns


@named("naive")
def naive(stages: int, micro_batches: int = 1) -> Schedule:
    """Build naive pipelining: one micro-batch at a time, through all stages and back.

    One rank computes while the others wait. Bubble: (p-1)/p of the time, however many
    micro-batches there are.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = []
    for s in range(p):
        ranks.append([Action(kind, s, i) for i in range(m) for kind in "FB"])
    return Schedule("naive", ranks, range(p), m)


@named("GPipe", paper="1811.06965", torch="ScheduleGPipe")
def gpipe(stages: int, micro_batches: int) -> Schedule:
    """Build GPipe: all forwards, then all backwards (Huang et al., "GPipe", arXiv 1811.06965).

    Bubble: (p-1)/(m+p-1) of the time. Each rank keeps the activations of all m micro-batches.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = []
    for s in range(p):
        ranks.append([Action(kind, s, i) for kind in "FB" for i in range(m)])
    return Schedule("GPipe", ranks, range(p), m)


@named("1F1B", paper="2007.01045", torch="Schedule1F1B")
def one_f_one_b(stages: int, micro_batches: int) -> Schedule:
    """Build 1F1B: one forward, one backward in turn, once the pipeline is full.

    DAPPLE (Fan et al., arXiv 2007.01045); PipeDream-flush (Narayanan et al., arXiv 2104.04473,
    section 2.2.1). The bubble is that of GPipe, but rank r keeps min(m, p-r) micro-batches only.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_in_turn(s, m, ahead=p - 1 - s) for s in range(p)]
    return Schedule("1F1B", ranks, range(p), m)


@named("eager 1F1B", paper="2211.05322")
def eager(stages: int, micro_batches: int) -> Schedule:
    """Build eager 1F1B, with twice the warm-up of 1F1B (Zhuang et al., arXiv 2211.05322).

    Where messages take L, 1F1B waits for them again and again. Here they hide behind F and B of
    other micro-batches: for 2L <= F+B the step takes (m+p-1)(F+B) + 2(p-1)L, as in GPipe, and
    rank r keeps min(m, 2(p-r)-1) micro-batches only.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_in_turn(s, m, ahead=2 * (p - 1 - s)) for s in range(p)]
    return Schedule("eager 1F1B", ranks, range(p), m)


def _in_turn(s: int, m: int, ahead: int) -> list[Action]:
    """F runs `ahead` micro-batches, the warm-up, before B."""
    ahead = min(ahead, m)
    actions = [Action("F", s, i) for i in range(ahead)]
    for i in range(ahead, m):
        actions += [Action("F", s, i), Action("B", s, i - ahead)]
    return actions + [Action("B", s, i) for i in range(m - ahead, m)]


def waves(schedule: Schedule, count: int) -> Schedule:
    """Repeat a schedule `count` times, for other micro-batches each time, before one update.

    Gradients add up over the waves. It bounds the memory of GPipe by a wave's micro-batches, and
    pays the bubble in every wave: ``waves(gpipe(4, 8), 3)`` takes 24 micro-batches.
    """
    checked(count, "waves")
    m = schedule.micro_batches
    ranks = []
    for actions in schedule.ranks:
        ranks.append([Action(k, s, i + m * wave) for wave in range(count) for k, s, i in actions])
    name = schedule.name if count == 1 else f"{schedule.name}, {count} waves"
    pairs = [
        [at + len(actions) * wave for wave in range(count) for at in first]
        for first, actions in zip(schedule.pairs, schedule.ranks, strict=True)
    ]
    return Schedule(name, ranks, schedule.rank_of, m * count, pairs)


@named("interleaved 1F1B", paper="2104.04473", torch="ScheduleInterleaved1F1B")
def interleaved(ranks: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """Build interleaved 1F1B, over chunks (Narayanan et al., arXiv 2104.04473, section 2.2.2).

    Micro-batches go in rounds of p: a round passes chunk 0, then chunk 1 ...; the next follows.
    Where p does not divide m, the rounds are made equal, or one longer: p at least, if m is.
    Bubble, where p divides m: (p-1)/(v*m+p-1) of the time, for v chunks.
    """
    p, m, v = *checked_sizes(ranks, micro_batches), checked(chunks, "chunks")
    rounds = _rounds(m, max(1, m // p))
    forward = [(c, i) for one in rounds for c in range(v) for i in one]
    backward = [(c, i) for one in rounds for c in reversed(range(v)) for i in one]
    longest = max(map(len, rounds))
    orders = []
    for r in range(p):
        ahead = min(2 * (p - 1 - r) + (v - 1) * longest, v * m)
        fs = [Action("F", c * p + r, i) for c, i in forward]
        bs = [Action("B", c * p + r, i) for c, i in backward]
        actions = fs[:ahead]
        for f, b in zip(fs[ahead:], bs, strict=False):
            actions += [f, b]
        orders.append(actions + bs[v * m - ahead :])
    return Schedule(f"interleaved 1F1B, {v} chunks", orders, _looped(p, v), m)


@named("breadth-first", paper="2211.05953")
def breadth_first(ranks: int, micro_batches: int, chunks: int = 2) -> Schedule:
    """Build GPipe over chunks: all micro-batches pass a chunk before the next one begins.

    Lamy-Poirier, "Breadth-first pipeline parallelism", arXiv 2211.05953. Bubble as `interleaved`;
    each rank keeps m*v activations, and its gradients of a chunk are complete at once.
    """
    p, m, v = *checked_sizes(ranks, micro_batches), checked(chunks, "chunks")
    orders = []
    for r in range(p):
        mine = range(r, p * v, p)
        actions = [Action("F", s, i) for s in mine for i in range(m)]
        orders.append(actions + [Action("B", s, i) for s in reversed(mine) for i in range(m)])
    return Schedule(f"breadth-first, {v} chunks", orders, _looped(p, v), m)


def _looped(p: int, v: int) -> list[int]:
    return [stage % p for stage in range(p * v)]


def _rounds(m: int, count: int) -> list[range]:
    """0 .. m-1 in `count` runs whose lengths differ by one at most."""
    edges = [m * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in zip(edges, edges[1:], strict=False)]


@named("ZB-H1", paper="2401.10241", torch="ScheduleInterleavedZeroBubble")
def zb_h1(stages: int, micro_batches: int) -> Schedule:
    """Build ZB-H1, 1F1B with W put off: a third of its bubble in the memory of its first rank.

    Bubble: (p-1)(F+I-W) for m >= p, if W takes no longer than F and than I; else more. Rank r
    keeps p-r micro-batches from F until I, and p until W.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_zero_bubble(s, m, ahead=p - 1 - s, late=s) for s in range(p)]
    return Schedule("ZB-H1", ranks, range(p), m)


@named("ZB-H2", paper="2401.10241")
def zb_h2(stages: int, micro_batches: int) -> Schedule:
    """Build ZB-H2, with twice the warm-up of ZB-H1: no bubble in a rank's span where F=I=W.

    Rank r keeps 2(p-r)-1 micro-batches from F until I, 2p-1 until W. For m >= 2p-1.
    """
    p, m = checked_sizes(stages, micro_batches)
    ranks = [_zero_bubble(s, m, ahead=2 * (p - 1 - s), late=2 * s) for s in range(p)]
    return Schedule("ZB-H2", ranks, range(p), m)


def _zero_bubble(s: int, m: int, ahead: int, late: int) -> list[Action]:
    """F runs `ahead` micro-batches before I, and W follows `late` micro-batches after it."""
    ahead = min(ahead, m)
    actions = [Action("F", s, i) for i in range(ahead)]
    for i in range(m):
        if i + ahead < m:
            actions.append(Action("F", s, i + ahead))
        actions.append(Action("I", s, i))
        if i >= late:
            actions.append(Action("W", s, i - late))
    return actions + [Action("W", s, i) for i in range(max(0, m - late), m)]


@named("ZB-V", paper="2401.10241", torch="ScheduleZBVZeroBubble")
def zb_v(ranks: int, micro_batches: int) -> Schedule:
    """Build ZB-V: no bubble in a rank's span where F=I=W and m >= 2p-1.

    Each rank keeps 2p chunks until W; a chunk is half of what a rank of 1F1B has for a stage.
    """
    p, m = checked_sizes(ranks, micro_batches)
    places = [*range(p), *reversed(range(p))]
    return Schedule("ZB-V", [_v_shape(r, p, m) for r in range(p)], places, m)


def _v_shape(r: int, p: int, m: int) -> list[Action]:
    """Return the phases of rank r, each a pattern that is repeated: down the V and up again."""
    f_down, i_down, w_down = [(kind, r) for kind in "FIW"]
    f_up, i_up, w_up = [(kind, 2 * p - 1 - r) for kind in "FIW"]
    # The pattern is made for 2p-1 micro-batches and more: of fewer, those not there fall out.
    full = max(m, 2 * p - 1)
    phases = [
        (2 * (p - r) - 1, [f_down]),  # until the first one comes back up
        (r, [f_up, f_down]),
        (p - r, [f_up, i_up, w_up]),  # until the first gradient comes back up
        (full - p, [f_down, i_down, w_down, f_up, i_up, w_up]),
        (r, [i_down, i_up]),  # the rest: others wait for I, so W comes later
        (p - r, [i_down, w_down]),
        (full, [w_up]),
        (full, [w_down]),
    ]
    done: Counter[tuple[str, int]] = Counter()
    order = []
    for times, pattern in phases:
        for kind, stage in pattern * times:
            i = done[kind, stage]
            if i < full:
                done[kind, stage] += 1
                order.append(Action(kind, stage, i))
    return [action for action in order if action.micro_batch < m]


@named("DualPipeV", paper="2412.19437", torch="ScheduleDualPipeV")
def dualpipe_v(ranks: int, micro_batches: int) -> Schedule:
    """Build DualPipeV, for m >= 2p: the half of DualPipe that needs one copy of the weights.

    In its steady state a rank runs a forward and a backward as one action (F&B). W is split off
    only where a rank would otherwise wait. Idle, for F&B = F+B: (p-1)(F+2I-W) seconds of the step,
    the authors' (P/2-1)(F&B + B - 3W) with P = 2p stages, exact where F=I=W.
    """
    p, m = checked_sizes(ranks, micro_batches)
    places = [*range(p), *reversed(range(p))]
    return of_turns("DualPipeV", [_dual_v_shape(r, p, m) for r in range(p)], places, m)


def _dual_v_shape(r: int, p: int, m: int) -> list[list[Action]]:
    """Return the turns of rank r, in the eight phases of the authors' code."""
    down, up = r, 2 * p - 1 - r
    f_down, f_up, b_down, b_up = [(kind, stage) for kind in "FB" for stage in (down, up)]
    behind, full = p - 1 - r, max(m, 2 * p)  # of fewer micro-batches, those not there fall out
    back = [up, down] * (r + 1)
    # On the last rank the first two do not wait for each other: the others wait for its gradient.
    first = [[f_down], [b_up]] if r == p - 1 else [[f_down, b_up]]
    pairs = [[f_down, b_up], [f_up, b_down]]
    plan = [
        *[[f_down]] * (2 * behind),  # until the first one comes back up
        *[[f_down], [f_up]] * (r + 1),
        *[[("I", up)], [("W", up)], [f_up]] * behind,  # until the first gradient comes back up
        *[*first, *pairs[1:], *pairs * (full - 2 * p + r)],
        *[[b_up], [f_up, b_down]] * behind,
        *[[("B" if n <= r else "I", stage)] for n, stage in enumerate(back)],
        *[[("W", -1)], [("I", down)]] * behind,  # W: of what was put off first
        *[[("W", -1)]] * (r + 1),
    ]
    done: Counter[tuple[bool, int]] = Counter()
    late: list[tuple[int, int]] = []  # stage and micro-batch of each I without its W
    turns = []
    for turn in plan:
        actions = []
        for kind, stage in turn:
            if kind == "W":
                actions.append(Action("W", *late.pop(0)))
                continue
            i = done[kind == "F", stage]
            done[kind == "F", stage] += 1
            actions.append(Action(kind, stage, i))
            if kind == "I":
                late.append((stage, i))
        turns.append([action for action in actions if action.micro_batch < m])
    return turns


def checked_sizes(stages: int, micro_batches: int) -> tuple[int, int]:
    """Return both; ValueError if one isn't a whole number above 0."""
    return checked(stages, "stages"), checked(micro_batches, "micro-batches")


def checked(number: int, what: str) -> int:
    """Return the number; ValueError if it isn't a whole number above 0."""
    if not isinstance(number, int) or number < 1:
        raise ValueError(f"a schedule of {number!r} {what}: give a whole number, 1 or more")
    return number
