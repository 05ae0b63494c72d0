"""Wrong ways to do PP-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

ALL_FORWARD = "[forward(k) for k in range(micro_batches)]"
GPIPE = f"{ALL_FORWARD}; [backward(k) for k in range(micro_batches)]"


def gpipe(
    first="",
    ask="x.requires_grad_()",
    span='"F", stage=rank, micro_batch=k',
    loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches",
    share="y.detach()",
    send="dist.send(y.detach(), rank + 1)",
    back="outputs.pop(k).backward(gradient)",
    before="dist.send(inputs.pop(k).grad, rank - 1)",
    order=GPIPE,
    give="sum(losses) if rank == last else None",
):
    """GPipe with one of its parts done in another way."""
    return f"""
        {first}

        def forward(k):
            x = parts[k]
            if rank > 0:
                x = torch.empty(shape)
                dist.recv(x, rank - 1)
                {ask}
            with recorder.span({span}):
                y = stage(x)
                if rank == last:
                    y = {loss}
                    losses.append({share})
            inputs[k], outputs[k] = x, y
            if rank < last:
                {send}

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


MISTAKES = (
    PlantedMistake(
        "losses summed",
        gpipe(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)"),
        says="every gradient is 6 times too large",
    ),
    PlantedMistake(
        "divided twice",
        gpipe(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches**2"),
        says="every gradient is 6 times too small: the loss was divided twice",
    ),
    PlantedMistake(
        "divided by the lesson's 3",
        gpipe(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / 3"),
        says="the gradient that rank 3 goes backward with is 2 times what it should be",
    ),
    PlantedMistake(
        "the gradients divided at the end",
        gpipe(
            loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)",
            give="[p.grad.div_(micro_batches) for p in stage.parameters()] and "
            "(sum(losses) / micro_batches if rank == last else None)",
        ),
        says="the gradients that were there before the call were divided too",
    ),
    PlantedMistake(
        "only the last micro-batch",
        gpipe(back="stage.zero_grad(); outputs.pop(k).backward(gradient)"),
        says="only the last micro-batch",
    ),
    PlantedMistake(
        "the ids of another micro-batch",
        gpipe(loss="causalLLMLoss(y, parts[k - 1], stage.config.vocab_size) / micro_batches"),
        says="the loss of micro-batch 0 is computed with the ids of micro-batch 5",
    ),
    PlantedMistake(
        "the same micro-batch each time",
        gpipe(first="parts = [parts[0]] * micro_batches"),
        says="micro-batch 0 goes through rank 0 6 times, and micro-batch 1 never",
    ),
    PlantedMistake(
        "x.grad of another micro-batch",
        gpipe(before="dist.send(inputs[max(k - 1, 0)].grad, rank - 1)"),
        says="with the gradient of micro-batch",
    ),
    PlantedMistake(
        "the loss of the last micro-batch alone",
        gpipe(give="losses[-1] if rank == last else None"),
        says="and the last rank gives the loss",
    ),
    PlantedMistake(
        "the loss not divided",
        gpipe(share="y.detach() * micro_batches"),
        says="the loss that the last rank gives is the sum over the micro-batches",
    ),
    PlantedMistake(
        "spans without a micro-batch",
        gpipe(span='"F"'),
        says="the recorder of rank 0 has F of stage None, micro-batch None",
    ),
    PlantedMistake(
        "no spans",
        gpipe(span='"forward"'),
        says="the recorder of rank 0 has 0 spans F, and there are 6 micro-batches",
    ),
    PlantedMistake(
        "the first micro-batch never comes back",
        gpipe(order=f"{ALL_FORWARD}; [backward(k) for k in range(1, micro_batches)]"),
        says="rank 3 never goes backward through micro-batch 0",
    ),
    PlantedMistake(
        "backward in another order on the last rank",
        gpipe(
            order=f"{ALL_FORWARD}; [backward(k) for k in (range(micro_batches) if rank < last "
            "else reversed(range(micro_batches)))]"
        ),
        says="rank 2 goes backward through micro-batch 0 with the gradient of micro-batch 5",
    ),
    PlantedMistake(
        "one after the other",
        gpipe(order="[(forward(k), backward(k)) for k in range(micro_batches)]"),
        says="each micro-batch comes back before the next goes forward",
    ),
    PlantedMistake(
        "in two halves",
        gpipe(
            order="[do(k) for half in (range(micro_batches // 2), "
            "range(micro_batches // 2, micro_batches)) for do in (forward, backward) for k in half]"
        ),
        says="this is not GPipe's order",
    ),
    PlantedMistake(
        "forgot requires_grad_",
        gpipe(ask="pass"),
        says="exists only where x.requires_grad_() was called before stage(x)",
        alone=True,
    ),
    PlantedMistake(
        "never sends back",
        gpipe(before="pass"),
        says="every rank but the first x.grad to rank - 1",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "plain": gpipe(),
    "the last one comes back first": gpipe(
        order=f"{ALL_FORWARD}; [backward(k) for k in reversed(range(micro_batches))]"
    ),
    "isend": gpipe(
        first="sent = []",
        send="sent.append((dist.isend(y.detach(), rank + 1), y))",
        before="sent.append((dist.isend(inputs[k].grad, rank - 1), inputs[k]))",
        order=f"{GPIPE}; [message.wait() for message, _ in sent]",
    ),
    "a gradient given to backward": gpipe(
        loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)",
        back="outputs.pop(k).backward(torch.tensor(1 / micro_batches) if gradient is None "
        "else gradient)",
        give="sum(losses) / micro_batches if rank == last else None",
    ),
}
