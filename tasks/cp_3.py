"""CP-3: the positions of each rank, so that all have equally much to do."""

from helpers.grade import Task

TASK = Task(
    id="CP-3",
    title="balance the causal mask with a zigzag",
    file="CP/ring/zigzag.py",
    function="zigzag",
    notebook="13",
    points=10,
    minutes=10,
    hints=(
        "An early position looks at few others and a late one at many. How do you pair the chunks, "
        "so that each pair looks at equally many?",
        "Cut into 2 * ranks chunks. Rank 0 has chunk 0 and the last one, rank 1 has chunk 1 and "
        "the second to last.",
        "chunks = equal_chunks(length, 2 * ranks); torch.cat of chunk `rank` and of chunk "
        "`2 * ranks - 1 - rank`.",
    ),
)


def run(module, case):
    """The positions of every rank, as lists; or that the length was refused.

    case: length and ranks.
    """
    length, ranks = case
    try:
        found = [module.zigzag(length, ranks, rank) for rank in range(ranks)]
    except ValueError:
        return {"positions": "refused"}
    return {"positions": [getattr(one, "tolist", lambda one=one: one)() for one in found]}
