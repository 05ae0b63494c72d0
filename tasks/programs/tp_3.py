"""TP-3: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "reshaped",
        """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x)
        gathered = np.empty((mp_size, *x.shape), x.dtype)
        mp_comm.Allgather(sent, gathered)
        return gathered.reshape(len(x), -1)
        """,
        says="so a reshape mixes rows and parts",
    ),
    Program(
        "backwards",
        """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x)
        gathered = np.empty((mp_size, *x.shape), x.dtype)
        mp_comm.Allgather(sent, gathered)
        return np.concatenate(list(gathered[::-1]), axis=-1)
        """,
        says="the parts are in the wrong order: rank 0's comes first",
    ),
    Program(
        "rank 0 alone",
        """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x)
        gathered = np.empty((mp_size, *x.shape), x.dtype)
        mp_comm.Get_rank() == 0 and mp_comm.Allgather(sent, gathered)
        return np.concatenate(list(gathered), axis=-1)
        """,
        says="a rank waits in a collective that another one never calls",
        alone=True,
    ),
)

RIGHT = {
    "moveaxis": """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x)
        gathered = np.empty((mp_size, *x.shape), x.dtype)
        mp_comm.Allgather(sent, gathered)
        return np.moveaxis(gathered, 0, -2).reshape(*x.shape[:-1], -1)
        """,
    "transposed": """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x.T)
        gathered = np.empty((mp_size * x.shape[-1], x.shape[0]), x.dtype)
        mp_comm.Allgather(sent, gathered)
        return gathered.T.copy()
        """,
}
