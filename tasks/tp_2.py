"""TP-2: the place of a rank, its two groups, and the size of its part of a layer."""

from helpers.grade import Task
from tasks._mpi import Comm

TASK = Task(
    id="TP-2",
    title="find the groups and the sizes of each rank",
    file="TP/model/func_impl.py",
    function="get_info",
    notebook="12",
    points=20,
    minutes=25,
    ranks=6,
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


FACTS = ("mp_idx", "dp_idx", "mp_comm", "dp_comm", "part_in_dim", "part_out_dim")


def run(module, case):
    """On every rank: the six facts, of each communicator its ranks.

    case: the arguments besides comm and rank.
    """
    comm = Comm()
    facts = module.get_info(comm=comm, rank=comm.Get_rank(), **case)
    if not isinstance(facts, tuple | list) or len(facts) != len(FACTS):
        return repr(facts)
    facts = [{"ranks": fact.members} if isinstance(fact, Comm) else fact for fact in facts]
    return dict(zip(FACTS, facts, strict=True))
