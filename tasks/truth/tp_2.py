"""TP-2: the table of ranks: a row for each copy of the model, a column for each part of a layer."""

import random

from tasks.truth._mpi import stopped  # noqa: F401

RANKS = 6
LAYOUTS = ((2, 3), (3, 2), (6, 1), (1, 6))
LAYERS = ((True, False), (False, False), (True, True), (False, True))


def cases(seed):
    """The dimensions are never alike, and are divided by every mp_size."""
    in_dim, out_dim = (12 * n for n in random.Random(seed).sample(range(2, 40), 2))
    return [
        {
            "mp_size": mp,
            "dp_size": dp,
            "is_fc1": is_fc1,
            "is_megatron_mp": megatron,
            "in_dim": in_dim,
            "out_dim": out_dim,
        }
        for mp, dp in LAYOUTS
        for is_fc1, megatron in LAYERS
    ]


def by_rows(rank, mp, dp):
    """The column and the row of a rank."""
    return rank % mp, rank // mp


def cut(case):
    """Which dimensions are cut: of the inputs, of the outputs."""
    by_inputs = case["is_megatron_mp"] and not case["is_fc1"]
    return by_inputs, not by_inputs


def truth(case, place=by_rows, cut=cut, **change):
    """What each rank finds; and with one of the known mistakes.

    change: {fact: function of the right facts}.
    """
    mp, dp = case["mp_size"], case["dp_size"]
    table = [place(rank, mp, dp) for rank in range(RANKS)]
    inputs, outputs = cut(case)
    found = []
    for column, row in table:
        mine = {
            "mp_idx": column,
            "dp_idx": row,
            "mp_comm": {"ranks": of_group(table, 1, row)},
            "dp_comm": {"ranks": of_group(table, 0, column)},
            "part_in_dim": case["in_dim"] // mp if inputs else case["in_dim"],
            "part_out_dim": case["out_dim"] // mp if outputs else case["out_dim"],
        }
        found.append(mine | {fact: new(mine) for fact, new in change.items()})
    return found


def of_group(table, which, number):
    """The ranks whose place has this row or column, in the order of the other one."""
    members = [rank for rank, place in enumerate(table) if place[which] == number]
    return sorted(members, key=lambda rank: table[rank][1 - which])


ALL = {"ranks": list(range(RANKS))}

MISTAKES = {
    "mp_idx and dp_idx are the wrong way round: mp_idx comes first": {
        "mp_idx": lambda mine: mine["dp_idx"],
        "dp_idx": lambda mine: mine["mp_idx"],
    },
    "this is as if the ranks of one copy stood dp_size apart; ranks 0 … mp_size-1 are the "
    "first copy": {"place": lambda rank, mp, dp: (rank // dp, rank % dp)},
    "the groups are the wrong way round: mp_comm is one copy's ranks": {
        "mp_comm": lambda mine: mine["dp_comm"],
        "dp_comm": lambda mine: mine["mp_comm"],
    },
    "mp_comm is all ranks: give Split a color that differs by group": {"mp_comm": lambda mine: ALL},
    "dp_comm is all ranks: give Split a color that differs by group": {"dp_comm": lambda mine: ALL},
    "this layer is cut along its inputs, and the sizes are those of a cut along the others": {
        "cut": lambda case: (False, True)
    },
    "this layer is cut along its outputs, and the sizes are those of a cut along the others": {
        "cut": lambda case: (case["is_megatron_mp"], not case["is_megatron_mp"])
    },
    "these are the sizes of the whole layer: a part is mp_size smaller": {
        "cut": lambda case: (False, False)
    },
    "both sizes are divided: a layer is cut along one of them": {"cut": lambda case: (True, True)},
}


def name(case):
    layer = "fc1" if case["is_fc1"] else "fc2"
    way = "Megatron" if case["is_megatron_mp"] else "naive"
    return f"with mp_size={case['mp_size']}, dp_size={case['dp_size']}, {layer}, {way}"


def explain(case, seen):
    """The causes before their effects: the place, the groups, the sizes."""
    for rank, (found, right) in enumerate(zip(seen, truth(case), strict=True)):
        if not isinstance(found, dict):
            return f"rank {rank}: give six things, as the docstring lists them"
        if any(found[fact] != right[fact] for fact in ("mp_idx", "dp_idx")):
            return (
                f"rank {rank}: mp_idx is {found['mp_idx']} and dp_idx {found['dp_idx']}; they "
                f"should be {right['mp_idx']} and {right['dp_idx']}"
            )
    for rank, (found, right) in enumerate(zip(seen, truth(case), strict=True)):
        for group in ("mp_comm", "dp_comm"):
            if not isinstance(found[group], dict):
                return f"rank {rank}: {group} must be a communicator, made with comm.Split"
            members, ranks = found[group]["ranks"], right[group]["ranks"]
            if members != ranks == sorted(members):
                return (
                    f"rank {rank}: {group} has the right ranks in the order {members}: the key "
                    "decides, so give the index within the group"
                )
            if members != ranks:
                return f"rank {rank}: {group} is the ranks {members}; it should be {ranks}"
    for rank, (found, right) in enumerate(zip(seen, truth(case), strict=True)):
        parts = [(one["part_in_dim"], one["part_out_dim"]) for one in (found, right)]
        if parts[0] != parts[1]:
            (wrong_in, wrong_out), (its_in, its_out) = parts
            return (
                f"rank {rank}: the part is {wrong_in} x {wrong_out}; it should be {its_in} x "
                f"{its_out}, as whole numbers"
            )
    return None
