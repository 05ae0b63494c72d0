"""Wrong ways to do TP-3, each to be caught with words of its own; and right ways, to be passed.

The body is that of both functions: the second one calls its array x too.
"""

from helpers.grade import PlantedMistake


def collect(
    send="np.ascontiguousarray(x)",
    empty="(mp_size, *x.shape), x.dtype",
    call="mp_comm.Allgather(sent, gathered)",
    give="np.concatenate(list(gathered), axis=-1)",
):
    return f"""
        x = locals().get("x", locals().get("out"))
        sent = {send}
        gathered = np.empty({empty})
        {call}
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "own part",
        "return locals().get('x', locals().get('out'))",
        says="every rank needs the parts of all",
    ),
    PlantedMistake(
        "below each other",
        collect(give="np.concatenate(list(gathered), axis=0)"),
        says="the parts lie below each other",
    ),
    PlantedMistake("stacked", collect(give="gathered"), says="the parts are in one new dimension"),
    PlantedMistake(
        "reshaped",
        collect(give="gathered.reshape(len(x), -1)"),
        says="so a reshape mixes rows and parts",
    ),
    PlantedMistake(
        "summed", collect(give="gathered.sum(axis=0)"), says="the parts are added up, and they"
    ),
    PlantedMistake(
        "in turn",
        collect(give="gathered.transpose(1, 2, 0).reshape(len(x), -1)"),
        says="the columns of the ranks take turns",
    ),
    PlantedMistake(
        "backwards",
        collect(give="np.concatenate(list(gathered[::-1]), axis=-1)"),
        says="the parts are in the wrong order: rank 0's comes first",
    ),
    PlantedMistake("gaps in memory", collect(send="x"), says="the first array has gaps in memory"),
    PlantedMistake(
        "no dtype",
        collect(empty="(mp_size, *x.shape)"),
        says="make the second with the dtype of the first",
    ),
    PlantedMistake(
        "always float64",
        collect(send="np.ascontiguousarray(x, dtype='float64')", empty="(mp_size, *x.shape)"),
        says="float32 came in and float64 comes out: keep the type",
    ),
    PlantedMistake(
        "too small", collect(empty="x.shape, x.dtype"), says="numbers do not fit together on 4"
    ),
    PlantedMistake(
        "lower case",
        collect(call="gathered = mp_comm.allgather(sent)"),
        says="this lab's communicators have no allgather: use Allgather",
    ),
    PlantedMistake(
        "written into x", collect(give="x.fill(0) or 0"), says="that came in has changed"
    ),
    PlantedMistake(
        "rank 0 alone",
        collect(call="mp_comm.Get_rank() == 0 and mp_comm.Allgather(sent, gathered)"),
        says="a rank waits in a collective that another one never calls",
        alone=True,
    ),
    PlantedMistake("no return", collect(give="None"), says="this is nothing: end the function"),
)

ALSO_RIGHT = {
    "hstack": collect(give="np.hstack(gathered)"),
    "moveaxis": collect(give="np.moveaxis(gathered, 0, -2).reshape(*x.shape[:-1], -1)"),
    "transposed": collect(
        send="np.ascontiguousarray(x.T)",
        empty="(mp_size * x.shape[-1], x.shape[0]), x.dtype",
        give="gathered.T.copy()",
    ),
}
