"""CP-2: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
found = None
for step in range(ring.size):
    if step < {messages}:
        arrived = ring.pass_on(k, v)
    part = block(q, k, v, mask_of({source}))
    found = part if found is None else merge(found, part)
    if step < {messages}:
        k, v = arrived()
return finish(found)
"""
RIGHT_LINES = {"messages": "ring.size - 1", "source": "(ring.rank - step) % ring.size"}


def body(**other):
    return BODY.format(**RIGHT_LINES | other)


PROGRAMS = (
    Program(
        "the wrong way",
        body(source="(ring.rank + step) % ring.size"),
        says="the masks go around the wrong way",
    ),
    Program("home again", body(messages="ring.size"), says="one message too many"),
    Program(
        "waits first",
        """
        found = None
        for step in range(ring.size):
            if step < ring.size - 1:
                arriving = ring.pass_on(k, v)()
            part = block(q, k, v, mask_of((ring.rank - step) % ring.size))
            found = part if found is None else merge(found, part)
            if step < ring.size - 1:
                k, v = arriving
        return finish(found)
        """,
        says="waits for the next keys before it has computed",
    ),
)

RIGHT = {
    "the last one by itself": """
        own = ring.rank
        travelling = ring.pass_on(k, v)
        found = block(q, k, v, mask_of(own))
        for step in range(1, ring.size):
            k, v = travelling()
            if step < ring.size - 1:
                travelling = ring.pass_on(k, v)
            found = merge(found, block(q, k, v, mask_of((own - step) % ring.size)))
        return finish(found)
        """,
}
