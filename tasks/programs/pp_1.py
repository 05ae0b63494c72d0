"""PP-1: wrong work, some of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

BEGIN = "if rank == 0:"

PROGRAMS = (
    Program(
        "ones in place of the gradient",
        {"y.backward(gradient)": "y.backward(torch.ones_like(y))"},
        says="rank 2 goes backward through the batch with ones",
    ),
    Program(
        "a loss of another scale",
        {"stage.config.vocab_size)": "stage.config.vocab_size) / dist.get_world_size()"},
        says="the gradient that rank 3 goes backward with is 0.25 times what it should be",
    ),
    Program(
        "the gradients thrown away first",
        {BEGIN: f"stage.zero_grad()\n{BEGIN}"},
        says="a second call without zero_grad() throws away the gradients of the first",
    ),
    Program(
        "the last rank of the lesson",
        {"rank == last": "rank == 2", "rank < last": "rank != 2"},
        says="classes and vocab_size is",
    ),
    Program(
        "forgot requires_grad_",
        {"x.requires_grad_()": "pass"},
        says="exists only where x.requires_grad_() was called before stage(x)",
    ),
    Program(
        "forgot to send back",
        {"dist.send(x.grad, rank - 1)": "pass"},
        says="every rank but the first x.grad to rank - 1",
    ),
    Program(
        "both send first",
        {BEGIN: f"rank > 0 and dist.send(torch.zeros(shape), rank - 1)\n{BEGIN}"},
        says="both send first",
    ),
    Program(
        "the last rank sends on",
        {BEGIN: f"rank == last and dist.send(torch.zeros(shape), rank + 1)\n{BEGIN}"},
        says="but the ranks are 0 to",
    ),
)

RIGHT = {
    "both in one batch": {
        "dist.send(y.detach(), rank + 1)": "sending = dist.P2POp(dist.isend, y.detach(), rank + 1)",
        "dist.recv(gradient, rank + 1)": (
            "receiving = dist.P2POp(dist.irecv, gradient, rank + 1)\n"
            "        [m.wait() for m in dist.batch_isend_irecv([sending, receiving])]"
        ),
    },
}
