"""Wrong ways to do PP-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def naive(
    ask="x.requires_grad_()",
    forward="dist.send(y.detach(), rank + 1)",
    receive="dist.recv(gradient, rank + 1)",
    compute="y = stage(x)",
    loss="causalLLMLoss(y, ids, stage.config.vocab_size)",
    back="y.backward(gradient)",
    end="loss.backward()",
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
        {compute}
        if rank < last:
            {forward}
            gradient = torch.empty(shape)
            {receive}
            {back}
        else:
            loss = {loss}
            {end}
        if rank > 0:
            {before}
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "the last rank of the lesson",
        naive().replace("rank < last", "rank != 2"),
        says="classes and vocab_size is",
        alone=True,
    ),
    PlantedMistake(
        "a loss of another scale",
        naive(loss="causalLLMLoss(y, ids, stage.config.vocab_size) / dist.get_world_size()"),
        says="the gradient that rank 3 goes backward with is 0.25 times what it should be",
    ),
    PlantedMistake(
        "ones in place of the gradient",
        naive(back="y.backward(torch.ones_like(y))"),
        says="rank 2 goes backward through the batch with ones",
    ),
    PlantedMistake(
        "zeros sent back",
        naive(before="dist.send(torch.zeros(shape), rank - 1)"),
        says="rank 2 goes backward through the batch with zeros",
    ),
    PlantedMistake(
        "something sent back",
        naive(before="dist.send(x.grad + 1, rank - 1)"),
        says="with something else than the x.grad of rank 3",
    ),
    PlantedMistake(
        "zeros for a gradient that was not asked for",
        naive(ask="x.grad = torch.zeros(shape)"),
        says="x on rank 1 does not ask for a gradient: call x.requires_grad_()",
    ),
    PlantedMistake(
        "another batch",
        naive(first="loss, ids = None, ids.flip(1)"),
        says="stage(x) on rank 0 gets something else than the ids of the batch",
    ),
    PlantedMistake(
        "another loss",
        naive(loss="y.square().mean()"),
        says="the loss of the batch on the last rank is not causalLLMLoss of its own logits",
    ),
    PlantedMistake(
        "the gradients doubled first",
        naive(first="loss = [p.grad.mul_(2) for p in stage.parameters() if p.grad is not None]"),
        says="the gradients of the first have changed",
    ),
    PlantedMistake(
        "x sent back in place of x.grad",
        naive(before="dist.send(x.detach(), rank - 1)"),
        says="rank 3 must send x.grad back, not x",
    ),
    PlantedMistake(
        "the gradient of y sent on",
        naive(before="dist.send(x.grad if rank == last else gradient, rank - 1)"),
        says="what rank 2 itself got: rank 2 must send its x.grad back",
    ),
    PlantedMistake(
        "no backward but on the last rank",
        naive(back="x.grad = torch.zeros(shape) if rank > 0 else None"),
        says="rank 2 never goes backward through the batch",
    ),
    PlantedMistake(
        "computed twice",
        naive(compute="y = stage(x); y = stage(x)"),
        says="rank 0 calls stage(x) 2 times: the batch goes through it once",
    ),
    PlantedMistake(
        "what was received is not used",
        naive(ask="x = torch.randn(shape).requires_grad_()"),
        says="stage(x) on rank 1 gets something else than rank 0 has computed for the batch",
    ),
    PlantedMistake(
        "the gradients thrown away first",
        naive(first="loss = stage.zero_grad()"),
        says="a second call without zero_grad() throws away the gradients of the first",
    ),
    PlantedMistake(
        "a loss on every rank",
        naive(give="torch.tensor(0.0) if loss is None else loss"),
        says="rank 0 gives 0.0: only the last rank has a loss",
    ),
    PlantedMistake(
        "no loss given",
        naive(give="None"),
        says="the last rank gives None, and must give the loss",
    ),
    PlantedMistake(
        "forgot requires_grad_",
        naive(ask="pass"),
        says="exists only where x.requires_grad_() was called before stage(x)",
        alone=True,
    ),
    PlantedMistake(
        "forgot to send back",
        naive(before="pass"),
        says="every rank but the first x.grad to rank - 1",
        alone=True,
    ),
    PlantedMistake(
        "both send first",
        naive(first="loss = dist.send(torch.zeros(shape), rank - 1) if rank > 0 else None"),
        says="both send first",
        alone=True,
    ),
    PlantedMistake(
        "the last rank sends on",
        naive(first="loss = dist.send(torch.zeros(shape), rank + 1) if rank == last else None"),
        says="but the ranks are 0 to",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "plain": naive(),
    "isend and irecv": naive(
        forward="message = dist.isend(y.detach(), rank + 1)",
        receive="dist.irecv(gradient, rank + 1).wait(); message.wait()",
        before="dist.isend(x.grad, rank - 1).wait()",
    ),
    "both in one batch": naive(
        forward="gradient = torch.empty(shape)",
        receive="[m.wait() for m in dist.batch_isend_irecv(["
        "dist.P2POp(dist.isend, y.detach(), rank + 1), "
        "dist.P2POp(dist.irecv, gradient, rank + 1)])]",
    ),
    "torch.autograd.backward": naive(
        back="torch.autograd.backward(y, gradient)", give="loss.detach() if rank == last else None"
    ),
    "y sent with its graph": naive(forward="dist.send(y, rank + 1)"),
}
