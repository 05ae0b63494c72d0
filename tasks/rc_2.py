"""RC-2: a deadlock, and three ways out of it."""

import contextlib

from helpers.grade import Mistake, Submission, Task, WorkFailed

TASK = Task(
    id="RC-2",
    title="cure the deadlock in three ways",
    file="primer/exchange.py",
    function="exchange_in_order",
    also=("exchange_without_waiting", "exchange_in_a_batch"),
    notebook="02",
    points=15,
    minutes=25,
    hints=(
        "In exchange_deadlock all ranks do the same at the same time: they send. In order: what "
        "must a neighbour do while this rank sends? Without waiting: which call starts a send and "
        "returns at once? In a batch: one call that starts both.",
        "In order: let rank % 2 decide whether to send first or to receive first. Without waiting: "
        "dist.isend gives a message; receive, and then call its wait(). In a batch: "
        "dist.P2POp(dist.isend, tensor, other) describes a send, dist.irecv a receive.",
        "Each begins with theirs = torch.empty_like(mine) and ends with return theirs. In order: "
        "even ranks send to right, then receive from left; odd ranks the other way round. In a "
        "batch: dist.batch_isend_irecv([the send, the receive]) gives a list; wait() for each.",
    ),
)

WORLDS = (4, 3)  # even and odd: in a ring of 3 two even ranks are neighbours
FUNCTIONS = ("exchange_in_order", "exchange_without_waiting", "exchange_in_a_batch")
MESSAGES = ("send", "recv", "isend", "irecv")
BATCH = "batch_isend_irecv"


def tensors_of(seed, rank):
    """What `rank` gives away: another shape and type each time."""
    import torch

    values = torch.Generator().manual_seed(100 * seed + rank)
    shapes = {(2 + seed % 5,): "float32", (3, 2): "float64", (): "float32", (4, 1, 2): "int64"}
    return [
        (1000 * torch.randn(shape, generator=values)).to(getattr(torch, dtype))
        for shape, dtype in shapes.items()
    ]


@contextlib.contextmanager
def noted():
    """While the body runs, list this rank's calls: [operation, in a batch, waited for]."""
    import sys

    from helpers.hang.watch import the_watch

    watch, calls, begun = the_watch(), [], []
    log = watch.log
    note, waiting, remember = log.note, log.waiting, watch._remember

    def note_too(operation):
        frame, batch = sys._getframe(), False
        while frame is not None and not batch:
            batch, frame = frame.f_code.co_name == BATCH, frame.f_back
        calls.append([operation, batch, False])
        note(operation)

    def waiting_too(operation, since):
        for call in calls:
            call[2] = call[2] or call[0] is operation
        return waiting(operation, since)

    def remember_too(work, operation):
        begun.append((work, operation))  # or a message that nobody waits for might never arrive
        return remember(work, operation)

    log.note, log.waiting, watch._remember = note_too, waiting_too, remember_too
    try:
        yield calls
    finally:
        del log.note, log.waiting, watch._remember
    for work, operation in begun:
        if [operation, False] in [[call[0], call[-1]] for call in calls]:
            work.wait()


def work(module, seed, world):
    """On every rank, beside the student's code: of each function, for each tensor, what it gave,
    the tensor afterwards, and the calls."""
    import torch.distributed as dist

    found = {}
    for function in FUNCTIONS:
        found[function] = []
        for mine in tensors_of(seed, dist.get_rank()):
            with noted() as calls:
                theirs = getattr(module, function)(mine, dist.get_rank(), world)
            found[function].append((theirs, mine, calls))
    return found


def verify(submission: Submission) -> None:
    """Look at what arrived, and at how. Raises Mistake or WorkFailed."""
    for world in WORLDS:
        try:
            answers = submission.on_ranks(work, world, submission.seed, world)
        except WorkFailed as failed:
            raise in_words(failed) from None
        for function in FUNCTIONS:
            for rank, answer in enumerate(answers):
                for number, (theirs, mine, calls) in enumerate(answer[function]):
                    before = [tensors_of(submission.seed, r)[number] for r in range(world)]
                    judge_way(function, rank, calls)
                    judge_messages(function, rank, world, calls)
                    judge_values(function, rank, before, theirs, mine)


def in_words(failed):
    """A deadlock in a sentence and its cure; any other failure as it is."""
    rows, found, cure = failed.details.partition("  Cure: ")
    if failed.kind != "time-out" or not found:
        return failed
    sentence = failed.sentence.split(" (rank ")[0]
    places = "; ".join(row.strip() for row in rows.splitlines() if row.startswith("  rank "))
    return Mistake(f"{sentence} ({places}). Cure: {cure.splitlines()[0]}")


def judge_way(function, rank, calls):
    """Whether the messages went the way that the function is named after. Raises Mistake."""
    names = [operation.name for operation, _, _ in calls]
    here = f"{function}, rank {rank}:"
    for name in names:
        if name not in MESSAGES:
            raise Mistake(f"{here} calls dist.{name}: neighbours exchange messages here")
    batched = any(batch for _, batch, _ in calls)
    blocking = [name for name in names if name in ("send", "recv")]
    if function == "exchange_in_order":
        if batched or len(blocking) < len(names):
            used = BATCH if batched else next(name for name in names if name not in blocking)
            raise Mistake(
                f"{here} uses {used}: this way has dist.send and dist.recv only, and it is their "
                "order that cures"
            )
    elif function == "exchange_without_waiting":
        if batched:
            raise Mistake(f"{here} uses {BATCH}: this way starts the send with dist.isend")
        if names and len(blocking) == len(names):
            raise Mistake(
                f"{here} uses {' and '.join(blocking)}, which both wait: start the send with "
                "dist.isend, which returns at once"
            )
    elif names and not all(batch for _, batch, _ in calls):
        name = next(operation.name for operation, batch, _ in calls if not batch)
        raise Mistake(
            f"{here} calls {name} outside of a batch: give the send and the receive to one "
            f"dist.{BATCH}"
        )
    for operation, _, awaited in calls:
        if not awaited:
            raise Mistake(
                f"{here} starts {operation.name} and never calls wait() on its result: until "
                "wait() returns, the message is on its way and its tensor must not change"
            )


def judge_messages(function, rank, world, calls):
    """Whether there was one message to the right, and one from the left. Raises Mistake."""
    here = f"{function}, rank {rank} of {world}:"
    left, right = (rank - 1) % world, (rank + 1) % world
    sends = [operation.peer for operation, _, _ in calls if operation.sends]
    receives = [operation.peer for operation, _, _ in calls if operation.receives]
    if not calls:
        raise Mistake(f"{here} nothing is sent, and nothing is received")
    if sends == [left] and receives == [right]:
        raise Mistake(
            f"{here} sends to the left and receives from the right: give `mine` to the right "
            "neighbour, and get the tensor of the left one"
        )
    if sends != [right] or receives not in ([left], [None]):
        raise Mistake(
            f"{here} sends to {listed(sends)} and receives from {listed(receives)}: one message "
            f"to the right, rank {right}, and one from the left, rank {left}, are enough"
        )


def listed(ranks):
    """[1, 2] -> "ranks 1 and 2"."""
    names = ["any rank" if rank is None else str(rank) for rank in ranks]
    if len(names) < 2:
        return f"rank {names[0]}" if names else "nobody"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"


def judge_values(function, rank, before, theirs, mine):
    """Whether the left neighbour's tensor came, and `mine` stayed. Raises Mistake."""
    import torch

    here = f"{function}, rank {rank}:"
    expected = before[(rank - 1) % len(before)]
    if theirs is None:
        raise Mistake(f"{here} gives None: is there a return?")
    if not isinstance(theirs, torch.Tensor):
        raise Mistake(f"{here} gives a {type(theirs).__name__}, and must give the tensor that came")
    if not same(mine, before[rank]):
        raise Mistake(
            f"{here} `mine` has changed: receive into a tensor of its own, torch.empty_like(mine)"
        )
    if same(theirs, expected):
        return
    if same(theirs, before[rank]):
        raise Mistake(f"{here} gives back the rank's own tensor: return the one that was received")
    shape, wanted = tuple(theirs.shape), tuple(expected.shape)
    if (shape, theirs.dtype) != (wanted, expected.dtype):
        raise Mistake(
            f"{here} gives shape {shape} and {theirs.dtype}, and sent was {wanted} and "
            f"{expected.dtype}: receive into torch.empty_like(mine)"
        )
    raise Mistake(f"{here} gives other numbers than the left neighbour has sent")


def same(one, other):
    """Whether two tensors agree in shape, type and every bit."""
    import torch

    return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
