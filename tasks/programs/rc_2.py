"""RC-2: wrong and right work."""

from helpers.grade.task import Program

EVEN = "rank % 2 == 0"
RECEIVE_AND_WAIT = "dist.recv(theirs, left)\nmessage.wait()"

PROGRAMS = (
    Program(
        "nobody waits for the send",
        {RECEIVE_AND_WAIT: "dist.recv(theirs, left)"},
        says="starts isend and never calls wait() on its result",
    ),
    Program(
        "the deadlock stays",
        {EVEN: "True"},
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
    ),
    Program("all receive first", {EVEN: "False"}, says="all receive first"),
    Program(
        "waits before it receives",
        {RECEIVE_AND_WAIT: "message.wait()\ndist.recv(theirs, left)"},
        says="deadlock: a ring of sends. Ranks 0, 1, 2 and 3 all send first",
    ),
    Program(
        "good for four ranks only",
        {EVEN: "rank in (0, 2) or world_size == 3"},
        says="deadlock: a ring of sends. Ranks 0, 1 and 2 all send first",
    ),
)

RIGHT = {
    "only rank 0 receives first; irecv, then send": {
        EVEN: "rank",
        "dist.isend(mine, right)\n": "dist.irecv(theirs, left)\n",
        RECEIVE_AND_WAIT: "dist.send(mine, right)\nmessage.wait()",
    },
    "both are started": {
        RECEIVE_AND_WAIT: "dist.irecv(theirs, src=left).wait()\nmessage.wait()",
    },
}
