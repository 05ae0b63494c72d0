"""TP-2: the place of a rank, its two groups, and the size of its part of a layer."""

import random
from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

mpi = load_module(Path(__file__).with_name("_mpi.py"), "lab_task_mpi")

TASK = Task(
    id="TP-2",
    title="find the groups and the sizes of each rank",
    file="TP/model/func_impl.py",
    function="get_info",
    notebook="11",
    points=20,
    minutes=25,
    hints=(
        "Write the ranks as a table with mp_size columns, filled row by row. A row is one copy of "
        "the model. Which row and which column is a rank in? Which ranks share its row, and which "
        "its column?",
        "The column is rank % mp_size, the row rank // mp_size. Split makes a group of all ranks "
        "that give the same color, in the order of their keys: for the row the color is the row, "
        "and the key the column. Only Megatron's second layer is cut along its inputs.",
        "mp_comm = comm.Split(color=dp_idx, key=mp_idx), dp_comm = comm.Split(color=mp_idx, "
        "key=dp_idx). part_in_dim is in_dim // mp_size where is_megatron_mp and not is_fc1; "
        "everywhere else part_out_dim is out_dim // mp_size.",
    ),
)

RANKS = 6
LAYOUTS = ((2, 3), (3, 2), (6, 1), (1, 6))
LAYERS = ((True, False), (False, False), (True, True), (False, True))


def dims_of(seed):
    """in_dim and out_dim: drawn, never alike, and divided by every mp_size."""
    return [12 * n for n in random.Random(seed).sample(range(2, 40), 2)]


def work(module, seed):
    """On every rank, beside the student's code: for each layout and layer what it gives."""
    (in_dim, out_dim), comm, found = dims_of(seed), mpi.Comm(), []
    for mp, dp in LAYOUTS:
        for is_fc1, megatron in LAYERS:
            facts = module.get_info(
                comm=comm,
                rank=comm.Get_rank(),
                mp_size=mp,
                dp_size=dp,
                is_fc1=is_fc1,
                is_megatron_mp=megatron,
                in_dim=in_dim,
                out_dim=out_dim,
            )
            if isinstance(facts, tuple | list):
                facts = [x.members if isinstance(x, mpi.Comm) else x for x in facts]
            found.append(facts)
    return found


def verify(submission: Submission) -> None:
    """Compare with the table of ranks. Raises Mistake or WorkFailed."""
    answers = mpi.on_ranks(submission, work, RANKS)
    cases = [(*layout, *layer) for layout in LAYOUTS for layer in LAYERS]
    told = [  # where, rank, case, what was given
        (f"with mp_size={case[0]}, dp_size={case[1]}, rank {rank}", rank, case, facts)
        for rank, found in enumerate(answers)
        for case, facts in zip(cases, found, strict=True)
    ]
    for where, _, _, facts in told:
        if not isinstance(facts, list) or len(facts) != 6:
            raise Mistake(f"{where}: give six things, as the docstring lists them")
    judge_indices(told)
    for one in told:  # the causes before their effects
        judge_groups(*one)
    for one in told:
        judge_sizes(*one, *dims_of(submission.seed))


def judge_indices(told):
    """The places in the table, of all ranks. Raises Mistake."""
    known = {
        "mp_idx and dp_idx are the wrong way round: mp_idx comes first": (
            lambda rank, mp, dp: (rank // mp, rank % mp)
        ),
        "this is as if the ranks of one copy stood dp_size apart; ranks 0 … mp_size-1 are the "
        "first copy": lambda rank, mp, dp: (rank // dp, rank % dp),
    }

    def right(rank, mp, dp):
        return rank % mp, rank // mp

    def all_are(place):
        return all(tuple(facts[:2]) == place(rank, *case[:2]) for _, rank, case, facts in told)

    explained = next((sentence for sentence, place in known.items() if all_are(place)), None)
    for where, rank, case, facts in told:
        should = right(rank, *case[:2])
        if tuple(facts[:2]) != should:
            also = f"; {explained}" if explained else ""
            raise Mistake(
                f"{where}: mp_idx is {facts[0]} and dp_idx {facts[1]}; they should be {should[0]} "
                f"and {should[1]}{also}"
            )


def judge_groups(where, rank, case, facts):
    """The row and the column of the table. Raises Mistake."""
    (mp, dp), (mp_comm, dp_comm) = case[:2], facts[2:4]
    row = [rank // mp * mp + m for m in range(mp)]
    column = [d * mp + rank % mp for d in range(dp)]
    if (mp_comm, dp_comm) == (column, row) and row != column:
        raise Mistake(f"{where}: the groups are the wrong way round: mp_comm is one copy's ranks")
    for name, group, ranks in (("mp_comm", mp_comm, row), ("dp_comm", dp_comm, column)):
        if not isinstance(group, list):
            raise Mistake(f"{where}: {name} must be a communicator, made with comm.Split")
        if sorted(group) == ranks != group:
            raise Mistake(
                f"{where}: {name} has the right ranks in the order {group}: the key decides, so "
                "give the index within the group"
            )
        if group == list(range(RANKS)) != ranks:
            raise Mistake(f"{where}: {name} is all ranks: give Split a color that differs by group")
        if group != ranks:
            raise Mistake(f"{where}: {name} is the ranks {group}; it should be {ranks}")


def judge_sizes(where, rank, case, facts, in_dim, out_dim):
    """The sizes of the part. Raises Mistake."""
    (mp, _, is_fc1, megatron), found = case, facts[4:]
    layer = f"{where}, {'fc1' if is_fc1 else 'fc2'}, {'Megatron' if megatron else 'naive'}"
    by_outputs, by_inputs = [in_dim, out_dim // mp], [in_dim // mp, out_dim]
    right, other = by_outputs, by_inputs
    if megatron and not is_fc1:
        right, other = by_inputs, by_outputs
    if list(found) == right:
        return
    if list(found) == other:
        cut = "inputs" if right == by_inputs else "outputs"
        raise Mistake(
            f"{layer}: this layer is cut along its {cut}, and the sizes are those of a "
            "cut along the others"
        )
    if list(found) == [in_dim, out_dim]:
        raise Mistake(f"{layer}: these are the sizes of the whole layer: a part is mp_size smaller")
    if list(found) == [in_dim // mp, out_dim // mp]:
        raise Mistake(f"{layer}: both sizes are divided: a layer is cut along one of them")
    raise Mistake(
        f"{layer}: the part is {found[0]} x {found[1]}; it should be {right[0]} x "
        f"{right[1]}, as whole numbers"
    )
