"""TP-2: find the groups and the sizes of each rank."""

import random

from tasks import _mpi

HINTS = (
    "Write the ranks as a table with mp_size columns, filled row by row. A row is one copy of the "
    "model. Which row and which column is a rank in? Which ranks share its row, and which its "
    "column?",
    "mp_comm = comm.Split(color=dp_idx, key=mp_idx), dp_comm = comm.Split(color=mp_idx, "
    "key=dp_idx). part_in_dim is in_dim // mp_size where is_megatron_mp and not is_fc1; "
    "everywhere else part_out_dim is out_dim // mp_size.",
)
NAME = "mp_size={mp_size}, dp_size={dp_size}, is_fc1={is_fc1}, is_megatron_mp={is_megatron_mp}"
LESSON, MINUTES, RANKS = "tensor_parallel", 25, 6
PAGE = "TP/README.md"
FACTS = ("mp_idx", "dp_idx", "mp_comm", "dp_comm", "part_in_dim", "part_out_dim")


def observe(module, case):
    comm = _mpi.Comm()
    facts = module.get_info(comm=comm, rank=comm.Get_rank(), **case)
    if not isinstance(facts, tuple | list) or len(facts) != len(FACTS):
        return f"get_info must return six things, as its docstring lists them, not {facts!r}"
    ranks = [f"a communicator of the ranks {getattr(fact, 'members', '')}" for fact in facts]
    facts = [r if isinstance(f, _mpi.Comm) else f for r, f in zip(ranks, facts, strict=True)]
    return dict(zip(FACTS, facts, strict=True))


def cases():
    """All four layers on one grid, and other grids; dimensions that every mp_size divides."""
    in_dim, out_dim = (12 * n for n in random.sample(range(2, 40), 2))
    grids = [(2, 3)] * 4 + [(3, 2), (6, 1), (1, 6)]
    layers = [(False, True), (True, False), (False, False), (True, True)]
    names = ("mp_size", "dp_size", "is_fc1", "is_megatron_mp", "in_dim", "out_dim")
    return [
        dict(zip(names, (*grid, *layer, in_dim, out_dim), strict=True))
        for grid, layer in zip(grids, layers * 2, strict=False)
    ]


CUT, ALL = "if is_megatron_mp and not is_fc1", "color=0, key=rank"
BY_INPUTS, BY_OUTPUTS = "= in_dim // mp_size, out_dim", "= in_dim, out_dim // mp_size"
WHOLE, SMALL = "= in_dim, out_dim", "= in_dim // mp_size, out_dim // mp_size"
MUTANTS = {
    ("return mp_idx, dp_idx", "return dp_idx, mp_idx"): "mp_idx and dp_idx are the wrong way "
    "round: mp_idx comes first",
    ("rank % mp_size, rank // mp_size", "rank // dp_size, rank % dp_size"): "this is as if the "
    "ranks of one copy stood dp_size apart; ranks 0 … mp_size-1 are the first copy",
    ("mp_comm, dp_comm, part", "dp_comm, mp_comm, part"): "the groups are the wrong way round: "
    "mp_comm is one copy's ranks",
    ("color=dp_idx, key=mp_idx", ALL): "mp_comm is all ranks: give Split a color that differs by "
    "group",
    ("color=mp_idx, key=dp_idx", ALL): "dp_comm is all ranks: give Split a color that differs by "
    "group",
    ("key=mp_idx", "key=-mp_idx"): "mp_comm has the right ranks in the wrong order: the key "
    "decides, so give the index within the group",
    (CUT, "if False"): "this layer is cut along its inputs, and the sizes are those of a cut "
    "along the others",
    (CUT, "if is_megatron_mp"): "this layer is cut along its outputs, and the sizes are those of "
    "a cut along the others",
    ((BY_INPUTS, WHOLE), (BY_OUTPUTS, WHOLE)): "these are the sizes of the whole layer: a part is "
    "mp_size smaller",
    ((BY_INPUTS, SMALL), (BY_OUTPUTS, SMALL)): "both sizes are divided: a layer is cut along one "
    "of them",
}
STOPPED = _mpi.STOPPED
