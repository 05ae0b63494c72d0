"""Programs for PP-2: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

ALL_FORWARD = "[forward(k) for k in range(micro_batches)]"
GPIPE = f"{ALL_FORWARD}; [backward(k) for k in range(micro_batches)]"


def gpipe(
    ask="x.requires_grad_()",
    loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches",
    share="y.detach()",
    back="outputs.pop(k).backward(gradient)",
    before="dist.send(inputs.pop(k).grad, rank - 1)",
    order=GPIPE,
    give="sum(losses) if rank == last else None",
):
    """GPipe with one of its parts done in another way."""
    return f"""
        def forward(k):
            x = parts[k]
            if rank > 0:
                x = torch.empty(shape)
                dist.recv(x, rank - 1)
                {ask}
            with recorder.span("F", stage=rank, micro_batch=k):
                y = stage(x)
                if rank == last:
                    y = {loss}
                    losses.append({share})
            inputs[k], outputs[k] = x, y
            if rank < last:
                dist.send(y.detach(), rank + 1)

        def backward(k):
            gradient = None
            if rank < last:
                gradient = torch.empty(shape)
                dist.recv(gradient, rank + 1)
            with recorder.span("B", stage=rank, micro_batch=k):
                {back}
            if rank > 0:
                {before}

        {order}
        return {give}
        """


PROGRAMS = (
    Program(
        "losses summed",
        gpipe(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)"),
        says="every gradient is 6 times too large",
    ),
    Program(
        "divided by the lesson's 3",
        gpipe(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / 3"),
        says="the gradient that rank 3 goes backward with is 2 times what it should be",
    ),
    Program(
        "the gradients divided at the end",
        gpipe(
            loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)",
            give="[p.grad.div_(micro_batches) for p in stage.parameters()] and "
            "(sum(losses) / micro_batches if rank == last else None)",
        ),
        says="the gradients that were there before the call were divided too",
    ),
    Program(
        "only the last micro-batch",
        gpipe(back="stage.zero_grad(); outputs.pop(k).backward(gradient)"),
        says="only the last micro-batch",
    ),
    Program(
        "the ids of another micro-batch",
        gpipe(loss="causalLLMLoss(y, parts[k - 1], stage.config.vocab_size) / micro_batches"),
        says="the loss of micro-batch 0 is computed with the ids of micro-batch 5",
    ),
    Program(
        "backward in another order on the last rank",
        gpipe(
            order=f"{ALL_FORWARD}; [backward(k) for k in (range(micro_batches) if rank < last "
            "else reversed(range(micro_batches)))]"
        ),
        says="rank 2 goes backward through micro-batch 0 with the gradient of micro-batch 5",
    ),
    Program(
        "the loss not divided",
        gpipe(share="y.detach() * micro_batches"),
        says="the loss that the last rank gives is the sum over the micro-batches",
    ),
    Program(
        "forgot requires_grad_",
        gpipe(ask="pass"),
        says="exists only where x.requires_grad_() was called before stage(x)",
        alone=True,
    ),
    Program(
        "never sends back",
        gpipe(before="pass"),
        says="every rank but the first x.grad to rank - 1",
        alone=True,
    ),
)

RIGHT = {
    "plain": gpipe(),
    "the last one comes back first": gpipe(
        order=f"{ALL_FORWARD}; [backward(k) for k in reversed(range(micro_batches))]"
    ),
    "a gradient given to backward": gpipe(
        loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)",
        back="outputs.pop(k).backward(torch.tensor(1 / micro_batches) if gradient is None "
        "else gradient)",
        give="sum(losses) / micro_batches if rank == last else None",
    ),
}
