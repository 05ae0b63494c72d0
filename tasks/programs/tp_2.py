"""TP-2: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        mp_idx, dp_idx = rank % mp_size, rank // mp_size
        mp_comm = comm.Split(color=dp_idx, key=mp_idx)
        dp_comm = comm.Split(color=mp_idx, key=dp_idx)
        sizes = in_dim, out_dim // mp_size
        if is_megatron_mp and not is_fc1:
            sizes = in_dim // mp_size, out_dim
        return mp_idx, dp_idx, mp_comm, dp_comm, *sizes
        """

PROGRAMS = (
    Program(
        "data-parallel major",
        BODY.replace("% mp_size, rank // mp_size", "// dp_size, rank % dp_size"),
        says="as if the ranks of one copy stood dp_size apart",
    ),
    Program(
        "groups swapped",
        BODY.replace("mp_comm, dp_comm", "dp_comm, mp_comm"),
        says="the groups are the wrong way round",
    ),
    Program(
        "no split",
        BODY.replace(".Split(color=mp_idx, key=dp_idx)", ""),
        says="dp_comm is all ranks",
    ),
)

RIGHT = {
    "divmod": """
        dp_idx, mp_idx = divmod(rank, mp_size)
        groups = comm.Split(key=rank, color=dp_idx), comm.Split(key=rank, color=mp_idx)
        part_in_dim, part_out_dim = in_dim, out_dim
        if is_fc1 or not is_megatron_mp:
            part_out_dim //= mp_size
        else:
            part_in_dim //= mp_size
        return mp_idx, dp_idx, *groups, part_in_dim, part_out_dim
        """,
}
