"""PP-3: wrong work, most of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

WAIT_FORWARD, WAIT_BACK = "free(rank + 1, k)", "free(rank - 1, k - 1)"
NO_WAIT = {WAIT_FORWARD: "pass", WAIT_BACK: "pass"}

PROGRAMS = (
    Program(
        "one too many ahead",
        {"min(last - rank,": "min(last - rank + 1,"},
        says="rank 0 goes forward 5 times before its first backward, which is 1 too many",
    ),
    Program(
        "keeps every graph",
        {
            "outputs.pop(k)": "outputs[k]",
            "backward(gradient)": "backward(gradient, retain_graph=True)",
        },
        says="the order is right, and still rank 0 keeps the activations of 6 of 6",
    ),
    Program(
        "waits for all messages at the end",
        NO_WAIT,
        says="and of a message and its tensor as soon as it must have arrived",
    ),
    Program(
        "every x and y stays",
        {".pop(k)": "[k]"},
        says="after its backward let go of a micro-batch's x and y",
    ),
    Program(
        "nobody waits for what goes forward",
        {"send(y.detach(), rank + 1, k)": "dist.isend(y.detach(), rank + 1)", WAIT_FORWARD: "pass"},
        says="nobody waits for the isend of rank 0 to rank 1",
    ),
    Program(
        "nobody waits for what goes back",
        {
            "send(x.grad, rank - 1, k)": (
                "dist.batch_isend_irecv([dist.P2POp(dist.isend, x.grad, rank - 1)])"
            ),
            WAIT_BACK: "pass",
        },
        says="nobody waits for the isend of rank 1 to rank 0",
    ),
    Program(
        "plain sends",
        {"sends[peer, k] = dist.isend(tensor, peer), tensor": "dist.send(tensor, peer)"} | NO_WAIT,
        says="both send first",
    ),
)

RIGHT = {
    "each waits for the one before it": NO_WAIT
    | {
        '    with recorder.span("send"': (
            "    [free(*one) for one in list(sends) if one[0] == peer]\n"
            '    with recorder.span("send"'
        ),
    },
}
