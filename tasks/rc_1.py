"""RC-1: all-reduce as a ring."""

import contextlib

from helpers.grade import Mistake, Submission, Task, WorkFailed

TASK = Task(
    id="RC-1",
    title="build all-reduce as a ring of messages",
    file="primer/ring.py",
    function="ring_all_reduce",
    notebook="02",
    points=15,
    minutes=40,
    hints=(
        "Take pencil and paper, three ranks, and a tensor of three parts A, B, C. In step 0 rank r "
        "sends part r to the right. Which part arrives from the left? Add it, and send that part "
        "on in step 1. Which part is finished on rank r after the last step?",
        "tensor.flatten().tensor_split(world_size) cuts the tensor into parts. Reduce-scatter: in "
        "step s, rank r sends part (r - s) % n to rank r + 1, and adds what arrives to part "
        "(r - s - 1) % n. Then part r + 1 is finished on rank r. The all-gather begins with it.",
        "All-gather: in step s, rank r sends part (r + 1 - s) % n, and receives part (r - s) % n "
        "right into its place. Each step starts its send (isend, or both in one "
        "batch_isend_irecv), receives, and then waits for the send. At the end, write the flat "
        "tensor back: of a transposed tensor, flatten() is a copy. Add up part.nbytes as you send.",
    ),
)

WORLDS = (4, 3)
LONG = 10_007  # numbers in the tensor whose bytes are judged


def cases_of(seed, world):
    """The tensors to add up: {what it is: (shape, dtype, transposed)}. The first is `digits`."""
    import random

    draw = random.Random(seed)
    return {
        "digits": ((world * draw.randint(2, 4) + world - 1,), "float64", False),
        "an odd length": ((2 * draw.randint(8, 30) + 1,), "float32", False),
        "two dimensions, in float64": ((3, draw.randint(4, 9)), "float64", False),
        "fewer numbers than ranks": ((world - 1,), "float32", False),
        "one number, of shape ()": ((), "float64", False),
        "a transposed tensor": ((5, draw.randint(2, 4)), "float32", True),
        "whole numbers": ((draw.randint(9, 20),), "int64", False),
        "a long tensor": ((LONG,), "float32", False),
    }


def make_tensor(case, what, seed, rank):
    """What `rank` holds. Of the digits: 10 to the power of rank, so that a sum shows its parts."""
    import torch

    shape, dtype, transposed = case
    values = torch.Generator().manual_seed(100 * seed + rank)
    tensor = torch.randn(shape, generator=values, dtype=torch.float64)
    if what == "digits":
        tensor = torch.full(shape, 10.0**rank, dtype=torch.float64)
    if dtype == "int64":
        tensor = tensor * 1000
    tensor = tensor.to(getattr(torch, dtype))
    return tensor.t() if transposed else tensor


@contextlib.contextmanager
def noted():
    """While the body runs, list this rank's calls: [operation, whether it was waited for]."""
    from helpers.hang.watch import the_watch

    watch, calls, begun = the_watch(), [], []
    log = watch.log
    note, waiting, remember = log.note, log.waiting, watch._remember

    def note_too(operation):
        calls.append([operation, False])
        note(operation)

    def waiting_too(operation, since):
        for call in calls:
            call[1] = call[1] or call[0] is operation
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


@contextlib.contextmanager
def alone():
    """While the body runs, no call may begin, as nobody would answer: list those that would."""
    from helpers.hang.calls import NoSuchRank
    from helpers.hang.watch import the_watch

    log, calls = the_watch().log, []

    def refuse(channel):
        calls.append(channel)
        raise RuntimeError("a rank that is alone has nobody to talk to")

    log.next_index = refuse  # asked for each operation, before anything of it begins
    try:
        yield calls
    except NoSuchRank as nobody:  # a message to itself, which is refused before it begins
        calls.append(str(nobody))
    except RuntimeError:
        pass
    finally:
        del log.next_index


def work(module, seed, world):
    """On every rank, beside the student's code: for each case the tensor after, and the calls.

    At the end rank 0 does it once more, as if it were alone.
    """
    import torch.distributed as dist

    rank, after = dist.get_rank(), []
    cases = cases_of(seed, world)
    for what, case in cases.items():
        tensor = make_tensor(case, what, seed, rank)
        with noted() as calls:
            given = module.ring_all_reduce(tensor, rank, world)
        after.append((tensor, given, calls))
    if rank > 0:
        return after, None
    tensor, given = make_tensor(cases["digits"], "digits", seed, rank), None
    with alone() as calls:
        given = module.ring_all_reduce(tensor, 0, 1)
    return after, (tensor, given, calls)


def verify(submission: Submission) -> None:
    """Compare with the sums that one process computes. Raises Mistake or WorkFailed."""
    for world in WORLDS:
        try:
            answers = submission.on_ranks(work, world, submission.seed, world)
        except WorkFailed as failed:
            raise in_words(failed) from None
        cases = cases_of(submission.seed, world)
        for number, (what, case) in enumerate(cases.items()):
            ranks = [after[number] for after, _ in answers]
            before = [make_tensor(case, what, submission.seed, rank) for rank in range(world)]
            judge_calls([calls for _, _, calls in ranks])
            if what == "digits":
                judge_digits([tensor for tensor, _, _ in ranks])
            judge_sum(before, [tensor for tensor, _, _ in ranks], what)
            judge_messages(before[0], ranks, what)
        judge_alone(*answers[0][1])


def in_words(failed):
    """A deadlock in a sentence and its cure; any other failure as it is."""
    rows, found, cure = failed.details.partition("  Cure: ")
    if failed.kind != "time-out" or not found:
        return failed
    sentence = failed.sentence.split(" (rank ")[0]
    places = "; ".join(row.strip() for row in rows.splitlines() if row.startswith("  rank "))
    return Mistake(f"{sentence} ({places}). Cure: {cure.splitlines()[0]}")


def judge_calls(ranks):
    """Whether only messages were used, and all were waited for. Raises Mistake."""
    for rank, calls in enumerate(ranks):
        for operation, awaited in calls:
            if operation.name not in ("send", "recv", "isend", "irecv"):
                raise Mistake(
                    f"rank {rank} calls dist.{operation.name}: build the ring from messages "
                    "between neighbours (send, recv, isend, irecv, batch_isend_irecv)"
                )
            if not awaited:
                raise Mistake(
                    f"rank {rank} starts {operation.name} and never calls wait() on its result: "
                    "until wait() returns, the message is on its way and its tensor must not change"
                )


def judge_digits(ranks):
    """What went wrong, read from the digits: the third from the right counts rank 2. Mistake."""
    world, length = len(ranks), ranks[0].numel()
    total = sum(10.0**rank for rank in range(world))
    if all(bool((tensor == total).all()) for tensor in ranks):
        return
    here = f"with {world} ranks and {length} numbers"
    if all(bool((tensor == 10.0**rank).all()) for rank, tensor in enumerate(ranks)):
        raise Mistake(
            f"the tensor has not changed, {here}: the sum belongs into `tensor` itself "
            "(tensor.copy_(…)), a new tensor is seen by nobody"
        )
    if any(bool((tensor == total / world).any()) for tensor in ranks):
        raise Mistake("this is the mean: all-reduce gives the sum, so do not divide by world_size")
    done = [sum(bool(tensor[i] == total) for tensor in ranks) for i in range(length)]
    rest = length - length % world
    if all(count == world for count in done[:rest]) and not any(done[rest:]):
        raise Mistake(
            f"the last {length - rest} numbers are not added up, {here}: {length} cannot be "
            f"divided by {world}, so some parts must be longer than others (tensor_split does that)"
        )
    if all(count == 1 for count in done):
        raise Mistake(
            f"each number is finished on one rank only, {here}: that is the reduce-scatter; the "
            "all-gather, which passes the finished parts on, is missing"
        )
    rank, i = next(
        (rank, i) for i in range(length) for rank in range(world) if ranks[rank][i] != total
    )
    raise Mistake(
        f"number {i} on rank {rank} holds {in_digits(float(ranks[rank][i]), world)}, {here}: "
        "follow this one part round the ring, step by step"
    )


def in_digits(value, world):
    """What a sum of powers of ten was made of, in words."""
    counts = [int(digit) for digit in reversed(f"{round(value):0{world}d}")]
    if value < 0 or value != round(value) or len(counts) > world:
        return f"{value:g}, which is no sum of what the ranks had"
    words = [
        f"that of rank {rank}{' twice' if count == 2 else f' {count} times' * (count > 2)}"
        for rank, count in enumerate(counts)
        if count
    ]
    missing = [str(rank) for rank, count in enumerate(counts) if not count]
    told = " plus ".join(words) or "nothing"
    return told + (f", and nothing of rank {', '.join(missing)}" if missing else "")


def judge_sum(before, after, what):
    """Whether every rank holds the sum, to rounding. Raises Mistake."""
    import torch

    total = sum(tensor.double() for tensor in before)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}.get(before[0].dtype, 0.0)
    for rank, tensor in enumerate(after):
        if tensor.shape != total.shape or tensor.dtype != before[0].dtype:
            raise Mistake(f"shape or dtype of the tensor has changed on rank {rank} ({what})")
        if tensor.numel() == 0:
            continue
        worst = (tensor.double() - total).abs().max().item()
        if worst <= tolerance * max(1.0, total.abs().max().item()):
            continue
        if what == "a transposed tensor" and torch.equal(tensor, before[rank]):
            raise Mistake(
                "a transposed tensor has not changed: flatten() gives a copy where the memory has "
                "gaps, so the sum must be copied back into `tensor`"
            )
        if tensor.dtype == torch.float64 and worst < 1e-4:
            raise Mistake(
                f"rank {rank} is off by {worst:.0e} in float64, which is float32's accuracy: a "
                "buffer on the way has another type (torch.empty_like keeps it)"
            )
        raise Mistake(f"rank {rank} is off by {worst:.2g} with {what}, {len(before)} ranks")


def judge_messages(tensor, ranks, what):
    """Whether the messages are those of a ring: to neighbours, and few bytes. Raises Mistake."""
    import torch

    world = len(ranks)
    for rank, (_, given, calls) in enumerate(ranks):
        sends = [operation for operation, _ in calls if operation.sends]
        for operation in sends:
            if (operation.peer - rank) % world not in (1, world - 1):
                raise Mistake(
                    f"rank {rank} sends to rank {operation.peer}, which is not its neighbour in "
                    f"the ring of {world}: send to (rank + 1) % world_size only"
                )
        size_of = [getattr(torch, operation.dtype).itemsize for operation in sends]
        counted = sum(op.count * size for op, size in zip(sends, size_of, strict=True))
        most = 2 * (world - 1) * (-(-tensor.numel() // world)) * tensor.itemsize
        if counted > most and what == "a long tensor":
            raise Mistake(
                f"rank {rank} sends {counted / tensor.nbytes:.2f} times the size of the tensor, "
                f"and a ring of {world} needs {2 * (world - 1) / world:.2f}: send one part in each "
                f"of {2 * (world - 1)} steps"
            )
        if given is None:
            raise Mistake("ring_all_reduce gives None: return the bytes that this rank has sent")
        if given != counted:
            raise Mistake(
                f"ring_all_reduce says that rank {rank} has sent {given} bytes, and it was "
                f"{counted} ({what}, {world} ranks): add up part.nbytes of each part that is sent"
            )


def judge_alone(tensor, given, calls):
    """Whether a rank that is alone, with ones, keeps them and sends nothing. Raises Mistake."""
    if calls or given:
        raise Mistake("with world_size 1 something is sent: a rank that is alone has the sum")
    if bool((tensor != 1).any()):
        raise Mistake("with world_size 1 the tensor changes: a rank that is alone has the sum")
