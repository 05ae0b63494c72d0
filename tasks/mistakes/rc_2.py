"""Wrong ways to do RC-2, each to be caught with words of its own; and right ways, to be passed.

The task has three functions, and one body stands in all: `with_ways` puts a choice into it.
"""

from textwrap import dedent, indent

from helpers.grade import PlantedMistake

ORDER = """
    theirs = torch.zeros_like(mine)
    steps = [lambda: dist.send(mine, right), lambda: dist.recv(theirs, left)]
    for step in steps if rank % 2 == 0 else reversed(steps):
        step()
    return theirs
    """
NO_WAIT = """
    theirs = torch.zeros_like(mine)
    sending = dist.isend(mine, right)
    dist.recv(theirs, left)
    sending.wait()
    return theirs
    """
BATCH = """
    theirs = torch.zeros_like(mine)
    pair = (dist.irecv, theirs, left), (dist.isend, mine, right)
    for message in dist.batch_isend_irecv([dist.P2POp(*one) for one in pair]):
        message.wait()
    return theirs
    """


def with_ways(order=ORDER, no_wait=NO_WAIT, batch=BATCH):
    """A body that is right in each of the three functions, but for what is given."""
    told = ["import sys", "way = sys._getframe().f_code.co_name"]
    for name, body in (("in_order", order), ("without_waiting", no_wait), ("in_a_batch", batch)):
        told += [f"if way == 'exchange_{name}':", indent(dedent(body).strip("\n"), "    ")]
    return "\n".join(told)


MISTAKES = (
    PlantedMistake(
        "in order, but with isend",
        with_ways(order=NO_WAIT),
        says="exchange_in_order, rank 0: uses isend: this way has dist.send and dist.recv only",
    ),
    PlantedMistake(
        "in order, but as a batch",
        with_ways(order=BATCH),
        says="exchange_in_order, rank 0: uses batch_isend_irecv",
    ),
    PlantedMistake(
        "without waiting, but in order",
        with_ways(no_wait=ORDER),
        says="which both wait: start the send with dist.isend",
    ),
    PlantedMistake(
        "without waiting, but as a batch",
        with_ways(no_wait=BATCH),
        says="exchange_without_waiting, rank 0: uses batch_isend_irecv",
    ),
    PlantedMistake(
        "no batch",
        with_ways(batch=NO_WAIT),
        says="calls isend outside of a batch",
    ),
    PlantedMistake(
        "half a batch",
        with_ways(
            batch="""
            theirs = torch.zeros_like(mine)
            (sending,) = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, right)])
            dist.recv(theirs, left)
            sending.wait()
            return theirs
            """
        ),
        says="calls recv outside of a batch",
    ),
    PlantedMistake(
        "a collective",
        with_ways(
            order="""
            everybody = [torch.zeros_like(mine) for _ in range(world_size)]
            dist.all_gather(everybody, mine)
            return everybody[left]
            """
        ),
        says="calls dist.all_gather: neighbours exchange messages here",
    ),
    PlantedMistake(
        "left for right",
        "left, right = right, left\n" + with_ways(),
        says="sends to the left and receives from the right",
    ),
    PlantedMistake(
        "no return",
        with_ways(order=ORDER.replace("return theirs", "")),
        says="gives None: is there a return?",
    ),
    PlantedMistake(
        "the own tensor",
        with_ways(no_wait=NO_WAIT.replace("return theirs", "return mine")),
        says="gives back the rank's own tensor",
    ),
    PlantedMistake(
        "received into the own tensor",
        with_ways(
            order="""
            if rank % 2 == 0:
                dist.send(mine, right)
                dist.recv(mine, left)
                return mine
            theirs = mine.clone()
            dist.recv(mine, left)
            dist.send(theirs, right)
            return mine
            """
        ),
        says="`mine` has changed",
    ),
    PlantedMistake(
        "flat",
        with_ways(order=ORDER.replace("zeros_like(mine)", "zeros_like(mine.flatten())")),
        says="receive into torch.empty_like(mine)",
    ),
    PlantedMistake(
        "twice",
        with_ways(order=ORDER.replace("        step()", "        step()\n        step()")),
        says="one message to the right, rank 1, and one from the left, rank 3, are enough",
    ),
    PlantedMistake(
        "not communicated",
        with_ways(batch="return torch.zeros_like(mine)"),
        says="nothing is sent, and nothing is received",
    ),
    PlantedMistake(
        "doubled",
        with_ways(order=ORDER.replace("return theirs", "return 2 * theirs")),
        says="gives other numbers than the left neighbour has sent",
    ),
    PlantedMistake(
        "nobody waits for the send",
        with_ways(no_wait=NO_WAIT.replace("    sending.wait()\n", "")),
        says="starts isend and never calls wait() on its result",
    ),
    PlantedMistake(
        "nobody waits for the batch",
        with_ways(batch=BATCH.replace("message.wait()", "pass")),
        says="and never calls wait() on its result",
    ),
    PlantedMistake(
        "the deadlock stays",
        with_ways(
            order="""
            theirs = torch.zeros_like(mine)
            dist.send(mine, right)
            dist.recv(theirs, left)
            return theirs
            """
        ),
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
        alone=True,
    ),
    PlantedMistake(
        "all receive first",
        with_ways(
            order="""
            theirs = torch.zeros_like(mine)
            dist.recv(theirs, left)
            dist.send(mine, right)
            return theirs
            """
        ),
        says="all receive first",
        alone=True,
    ),
    PlantedMistake(
        "waits before it receives",
        with_ways(
            no_wait="""
            theirs = torch.zeros_like(mine)
            dist.isend(mine, right).wait()
            dist.recv(theirs, left)
            return theirs
            """
        ),
        says="in exchange_without_waiting",
        alone=True,
    ),
    PlantedMistake(
        "good for four ranks only",
        with_ways(order=ORDER.replace("rank % 2 == 0", "rank in (0, 2) or world_size == 3")),
        says="deadlock: a ring of sends. Ranks 0, 1 and 2 all send first",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "odd ranks send first": with_ways(order=ORDER.replace("== 0", "== 1")),
    "only rank 0 receives first": with_ways(order=ORDER.replace("rank % 2 == 0", "rank")),
    "irecv, then send": with_ways(
        no_wait="""
        theirs = torch.zeros_like(mine)
        message = dist.irecv(theirs, left)
        dist.send(mine, right)
        message.wait()
        return theirs
        """
    ),
    "both are started": with_ways(
        no_wait="""
        theirs = torch.zeros_like(mine)
        messages = [dist.irecv(theirs, src=left), dist.isend(mine, dst=right)]
        for message in messages:
            message.wait()
        return theirs
        """
    ),
}
