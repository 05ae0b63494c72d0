"""TP-3: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "reshaped",
        {"np.concatenate(list(gathered), axis=-1)": "gathered.reshape(len(x), -1)"},
        says="so a reshape mixes rows and parts",
    ),
    Program(
        "rank 0 alone",
        {"mp_comm.Allgather": "mp_comm.Get_rank() == 0 and mp_comm.Allgather"},
        says="a rank waits in a collective that another one never calls",
    ),
)
