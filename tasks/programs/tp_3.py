"""TP-3: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        x = locals().get("x", locals().get("out"))
        sent = np.ascontiguousarray(x)
        gathered = np.empty((mp_size, *x.shape), x.dtype)
        mp_comm.Allgather(sent, gathered)
        return np.concatenate(list(gathered), axis=-1)
        """

PROGRAMS = (
    Program(
        "reshaped",
        BODY.replace("np.concatenate(list(gathered), axis=", "gathered.reshape(len(x), "),
        says="so a reshape mixes rows and parts",
    ),
    Program(
        "backwards",
        BODY.replace("(gathered", "(gathered[::-1]"),
        says="the parts are in the wrong order: rank 0's comes first",
    ),
    Program(
        "rank 0 alone",
        BODY.replace("mp_comm.", "mp_comm.Get_rank() == 0 and mp_comm."),
        says="a rank waits in a collective that another one never calls",
        alone=True,
    ),
)

RIGHT = {
    "moveaxis": BODY.replace(
        "concatenate(list(gathered), axis=", "moveaxis(gathered, 0, -2).reshape(*x.shape[:-1], "
    ),
    "transposed": BODY.replace("(x", "(x.T")
    .replace(", *x.shape", " * x.shape[-1], x.shape[0]")
    .replace("np.concatenate(list(gathered), axis=-1", "gathered.T.copy("),
}
