"""CP-3: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the next half",
        """
        chunks = equal_chunks(length, 2 * ranks)
        return torch.cat((chunks[rank], chunks[rank + ranks]))
        """,
        says="mirror image",
    ),
)

RIGHT = {
    "from the end": """
        chunks = equal_chunks(length, 2 * ranks)
        return torch.cat([chunks[rank], chunks[-1 - rank]])
        """,
}
