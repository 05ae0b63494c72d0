"""Programs for PP-1: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program


def naive(
    ask="x.requires_grad_()",
    forward="dist.send(y.detach(), rank + 1)",
    receive="dist.recv(gradient, rank + 1)",
    loss="causalLLMLoss(y, ids, stage.config.vocab_size)",
    back="y.backward(gradient)",
    before="dist.send(x.grad, rank - 1)",
    give="loss if rank == last else None",
    first="loss = None",
):
    """A pipeline's pass with one of its steps done in another way."""
    return f"""
        {first}
        x = ids
        if rank > 0:
            x = torch.empty(shape)
            dist.recv(x, rank - 1)
            {ask}
        y = stage(x)
        if rank < last:
            {forward}
            gradient = torch.empty(shape)
            {receive}
            {back}
        else:
            loss = {loss}
            loss.backward()
        if rank > 0:
            {before}
        return {give}
        """


PROGRAMS = (
    Program(
        "ones in place of the gradient",
        naive(back="y.backward(torch.ones_like(y))"),
        says="rank 2 goes backward through the batch with ones",
    ),
    Program(
        "a loss of another scale",
        naive(loss="causalLLMLoss(y, ids, stage.config.vocab_size) / dist.get_world_size()"),
        says="the gradient that rank 3 goes backward with is 0.25 times what it should be",
    ),
    Program(
        "the gradients thrown away first",
        naive(first="loss = stage.zero_grad()"),
        says="a second call without zero_grad() throws away the gradients of the first",
    ),
    Program(
        "the last rank of the lesson",
        naive().replace("rank < last", "rank != 2"),
        says="classes and vocab_size is",
        alone=True,
    ),
    Program(
        "forgot requires_grad_",
        naive(ask="pass"),
        says="exists only where x.requires_grad_() was called before stage(x)",
        alone=True,
    ),
    Program(
        "forgot to send back",
        naive(before="pass"),
        says="every rank but the first x.grad to rank - 1",
        alone=True,
    ),
    Program(
        "both send first",
        naive(first="loss = dist.send(torch.zeros(shape), rank - 1) if rank > 0 else None"),
        says="both send first",
        alone=True,
    ),
    Program(
        "the last rank sends on",
        naive(first="loss = dist.send(torch.zeros(shape), rank + 1) if rank == last else None"),
        says="but the ranks are 0 to",
        alone=True,
    ),
)

RIGHT = {
    "plain": naive(),
    "both in one batch": naive(
        forward="gradient = torch.empty(shape)",
        receive="[m.wait() for m in dist.batch_isend_irecv(["
        "dist.P2POp(dist.isend, y.detach(), rank + 1), "
        "dist.P2POp(dist.irecv, gradient, rank + 1)])]",
    ),
    "torch.autograd.backward": naive(
        back="torch.autograd.backward(y, gradient)", give="loss.detach() if rank == last else None"
    ),
}
