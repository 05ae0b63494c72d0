"""RC-2: wrong and right work, as programs."""

from helpers.grade.task import Program

BODY = """
        import sys
        way = sys._getframe().f_code.co_name
        if way == 'exchange_in_order':
            theirs = torch.zeros_like(mine)
            steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
            for step in steps if rank % 2 == 0 else reversed(steps):
                step()
            return theirs
        if way == 'exchange_without_waiting':
            theirs = torch.zeros_like(mine)
            sending = dist.isend(mine, right)
            dist.recv(theirs, left)
            sending.wait()
            return theirs
        if way == 'exchange_in_a_batch':
            theirs = torch.zeros_like(mine)
            pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
            for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
                message.wait()
            return theirs
        """

PROGRAMS = (
    Program(
        "nobody waits for the send",
        BODY.replace("            sending.wait()\n", ""),
        says="starts isend and never calls wait() on its result",
    ),
    Program(
        "the deadlock stays",
        BODY.replace(
            (
                "steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]\n"
                "            for step in steps if rank % 2 == 0 else reversed(steps):\n"
                "                step()"
            ),
            "dist.send(mine, right)\n            dist.recv(theirs, left)",
        ),
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    Program(
        "all receive first",
        BODY.replace(
            (
                "steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]\n"
                "            for step in steps if rank % 2 == 0 else reversed(steps):\n"
                "                step()"
            ),
            "dist.recv(theirs, left)\n            dist.send(mine, right)",
        ),
        says="all receive first",
        alone=True,
    ),
    Program(
        "waits before it receives",
        BODY.replace("sending = dist.isend(mine, right", "dist.isend(mine, right).wait(").replace(
            "            sending.wait()\n", ""
        ),
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    Program(
        "good for four ranks only",
        BODY.replace("% 2 == 0", "in (0, 2) or world_size == 3"),
        says="deadlock: a ring of sends. Ranks 0, 1 and 2 all send first",
        alone=True,
    ),
)

RIGHT = {
    "only rank 0 receives first": BODY.replace("% 2 == 0 ", ""),
    "irecv, then send": BODY.replace(
        "sending = dist.isend(mine, right", "message = dist.irecv(theirs, left"
    )
    .replace("dist.recv(theirs, left)\n", "dist.send(mine, right)\n")
    .replace("sending", "message"),
    "both are started": BODY.replace(
        "sending = dist.isend(mine, right)",
        "messages = [dist.irecv(theirs, src=left), dist.isend(mine, dst=right)]",
    )
    .replace("dist.recv(theirs, left)\n", "for message in messages:\n")
    .replace("sending", "    message"),
}
