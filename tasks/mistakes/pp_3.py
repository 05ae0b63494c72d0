"""Wrong ways to do PP-3, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

WAIT = "[message.wait() for message, _ in sent]"


def ordered(ahead):
    """One forward and one backward in turn, once `ahead` micro-batches went forward."""
    return (
        f"ahead = min({ahead}, micro_batches); [forward(k) for k in range(ahead)]; "
        "[((forward(k + ahead) if k + ahead < micro_batches else None), backward(k)) "
        f"for k in range(micro_batches)]; {WAIT}"
    )


ORDER = ordered("last - rank")


def one_f_one_b(
    first="sent = []",
    ask="x.requires_grad_()",
    span='"F", stage=rank, micro_batch=k',
    loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches",
    share="y.detach()",
    send="sent.append((dist.isend(y.detach(), rank + 1), y))",
    back="outputs.pop(k).backward(gradient)",
    before="sent.append((dist.isend(inputs[k].grad, rank - 1), inputs.pop(k)))",
    order=ORDER,
    give="sum(losses) if rank == last else None",
):
    """1F1B with one of its parts done in another way."""
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
        one_f_one_b(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)"),
        says="every gradient is 6 times too large",
    ),
    PlantedMistake(
        "divided twice",
        one_f_one_b(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches**2"),
        says="every gradient is 6 times too small: the loss was divided twice",
    ),
    PlantedMistake(
        "divided by the lesson's 3",
        one_f_one_b(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / 3"),
        says="the gradient that rank 3 goes backward with is 2 times what it should be",
    ),
    PlantedMistake(
        "the gradients divided at the end",
        one_f_one_b(
            loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)",
            give="[p.grad.div_(micro_batches) for p in stage.parameters()] and "
            "(sum(losses) / micro_batches if rank == last else None)",
        ),
        says="the gradients that were there before the call were divided too",
    ),
    PlantedMistake(
        "only the last micro-batch",
        one_f_one_b(back="stage.zero_grad(); outputs.pop(k).backward(gradient)"),
        says="only the last micro-batch",
    ),
    PlantedMistake(
        "the ids of another micro-batch",
        one_f_one_b(loss="causalLLMLoss(y, parts[k - 1], stage.config.vocab_size) / micro_batches"),
        says="the loss of micro-batch 0 is computed with the ids of micro-batch 5",
    ),
    PlantedMistake(
        "the same micro-batch each time",
        one_f_one_b(first="sent = []; parts = [parts[0]] * micro_batches"),
        says="micro-batch 0 goes through rank 0 6 times, and micro-batch 1 never",
    ),
    PlantedMistake(
        "x.grad of another micro-batch",
        one_f_one_b(
            before="sent.append((dist.isend(inputs[max(k - 1, 0)].grad, rank - 1), inputs))"
        ),
        says="with the gradient of micro-batch",
    ),
    PlantedMistake(
        "the loss of the last micro-batch alone",
        one_f_one_b(give="losses[-1] if rank == last else None"),
        says="and the last rank gives the loss",
    ),
    PlantedMistake(
        "the loss not divided",
        one_f_one_b(share="y.detach() * micro_batches"),
        says="the loss that the last rank gives is the sum over the micro-batches",
    ),
    PlantedMistake(
        "spans without a micro-batch",
        one_f_one_b(span='"F"'),
        says="the recorder of rank 0 has F of stage None, micro-batch None",
    ),
    PlantedMistake(
        "no spans",
        one_f_one_b(span='"forward"'),
        says="the recorder of rank 0 has 0 spans F, and there are 6 micro-batches",
    ),
    PlantedMistake(
        "GPipe's order",
        one_f_one_b(
            order="[do(k) for do in (forward, backward) for k in range(micro_batches)]; " + WAIT
        ),
        says="this is GPipe's order",
    ),
    PlantedMistake(
        "the naive order",
        one_f_one_b(order=ordered("0")),
        says="this is the naive order",
    ),
    PlantedMistake(
        "one too many ahead",
        one_f_one_b(order=ordered("last - rank + 1")),
        says="rank 0 goes forward 5 times before its first backward, which is 1 too many",
    ),
    PlantedMistake(
        "one too few ahead",
        one_f_one_b(order=ordered("max(last - rank - 1, 0)")),
        says="rank 0 goes forward 3 times before its first backward, which is 1 too few",
    ),
    PlantedMistake(
        "the lesson's three stages",
        one_f_one_b(order=ordered("max(2 - rank, 0)")),
        says="rank 0 goes forward 3 times before its first backward, which is 1 too few",
    ),
    PlantedMistake(
        "keeps every graph",
        one_f_one_b(back="outputs[k].backward(gradient, retain_graph=True)"),
        says="the order is right, and still rank 0 keeps the activations of 6 of 6",
    ),
    PlantedMistake(
        "plain sends",
        one_f_one_b(
            send="dist.send(y.detach(), rank + 1)", before="dist.send(inputs[k].grad, rank - 1)"
        ),
        says="both send first",
        alone=True,
    ),
)

RELEASED = one_f_one_b(  # nothing is kept for longer than it must be
    first="sent = {}",
    send="sent['y', k] = dist.isend(y.detach(), rank + 1), y",
    back="sent.pop(('y', k))[0].wait() if rank < last else None; outputs.pop(k).backward(gradient)",
    before="sent.pop(('x', k - 1))[0].wait() if k > 0 else None; "
    "sent['x', k] = dist.isend(inputs[k].grad, rank - 1), inputs.pop(k).grad",
    order=ordered("last - rank").replace("in sent", "in sent.values()"),
)

MISTAKES += (
    PlantedMistake(
        "waits for all messages at the end",
        one_f_one_b(),
        says="and of a message and its tensor as soon as it must have arrived",
    ),
    PlantedMistake(
        "every x and y stays",
        RELEASED.replace(".pop(k)", "[k]"),
        says="after its backward let go of a micro-batch's x and y",
    ),
    PlantedMistake(
        "nobody waits for what goes forward",
        one_f_one_b(send="dist.isend(y.detach(), rank + 1)"),
        says="nobody waits for the isend of rank 0 to rank 1",
    ),
    PlantedMistake(
        "nobody waits for what goes back",
        one_f_one_b(
            send="dist.send(y.detach(), rank + 1)",
            before="dist.batch_isend_irecv([dist.P2POp(dist.isend, inputs.pop(k).grad, rank - 1)])",
        ),
        says="nobody waits for the isend of rank 1 to rank 0",
    ),
)

ALSO_RIGHT = {
    "released in time": RELEASED,
    "a list of actions": RELEASED.replace(
        ordered("last - rank").replace("in sent", "in sent.values()"),
        "ahead = min(last - rank, micro_batches); actions = [(forward, k) for k in "
        "range(ahead)]; [actions.extend(((forward, k + ahead), (backward, k))) for k in "
        "range(micro_batches)]; [do(k) for do, k in actions if k < micro_batches]; "
        "[message.wait() for message, _ in sent.values()]",
    ),
    "only the way back without waiting, and for one at most": one_f_one_b(
        send="dist.send(y.detach(), rank + 1)",
        before="[sent.pop()[0].wait() for _ in list(sent)]; "
        "sent.append((dist.isend(inputs[k].grad, rank - 1), inputs.pop(k)))",
    ),
    "each waits for the one before it": one_f_one_b(
        first="sent, back = [], []",
        send="[sent.pop()[0].wait() for _ in list(sent)]; "
        "sent.append((dist.isend(y.detach(), rank + 1), y))",
        before="[back.pop()[0].wait() for _ in list(back)]; "
        "back.append((dist.isend(inputs[k].grad, rank - 1), inputs.pop(k)))",
        order=ORDER.replace("in sent", "in sent + back"),
    ),
    "in batches of one": RELEASED.replace(
        "dist.isend(y.detach(), rank + 1), y",
        "(dist.batch_isend_irecv([dist.P2POp(dist.isend, y.detach(), rank + 1)])[0], None)",
    ).replace(
        "dist.isend(inputs[k].grad, rank - 1), inputs.pop(k).grad",
        "(dist.batch_isend_irecv([dist.P2POp(dist.isend, inputs.pop(k).grad, rank - 1)])[0], None)",
    ),
    "without functions, names stay until they are taken again": """
        pending, back, ahead = {}, [], min(last - rank, micro_batches)
        todo = [("F", k) for k in range(ahead)]
        for k in range(micro_batches):
            todo += [("F", k + ahead)] * (k + ahead < micro_batches) + [("B", k)]
        for kind, k in todo:
            if kind == "F":
                x = parts[k]
                if rank > 0:
                    x = torch.empty(shape)
                    dist.recv(x, rank - 1)
                    x.requires_grad_()
                with recorder.span("F", stage=rank, micro_batch=k):
                    y = stage(x)
                    if rank == last:
                        y = causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches
                        losses.append(y.detach())
                inputs[k], outputs[k] = x, y
                if rank < last:
                    pending[k] = dist.isend(y.detach(), rank + 1)
            else:
                gradient = None
                if rank < last:
                    gradient = torch.empty(shape)
                    dist.recv(gradient, rank + 1)
                    message = pending.pop(k)
                    message.wait()
                x, y = inputs.pop(k), outputs.pop(k)
                with recorder.span("B", stage=rank, micro_batch=k):
                    y.backward(gradient)
                if rank > 0:
                    back.append((dist.isend(x.grad, rank - 1), x))
                    if len(back) > 1:
                        message, tensor = back.pop(0)
                        message.wait()
        for message, tensor in back:
            message.wait()
        return sum(losses) if rank == last else None
        """,
    "both at once with each neighbor": """
        back, ahead = {}, min(last - rank, micro_batches)

        def exchange(peer, out, into):
            messages = []
            if out is not None:
                messages.append(dist.P2POp(dist.isend, out, peer))
            if into is not None:
                messages.append(dist.P2POp(dist.irecv, into, peer))
            for message in dist.batch_isend_irecv(messages) if messages else ():
                message.wait()
            return into

        def forward(k, x):
            if rank > 0:
                x.requires_grad_()
            with recorder.span("F", stage=rank, micro_batch=k):
                y = stage(x)
                if rank == last:
                    y = causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches
                    losses.append(y.detach())
            inputs[k], outputs[k] = x, y
            return y.detach()

        def backward(k, gradient):
            x, y = inputs.pop(k), outputs.pop(k)
            with recorder.span("B", stage=rank, micro_batch=k):
                y.backward(gradient)
            return x.grad

        def take(k):
            return exchange(rank - 1, None, torch.empty(shape)) if rank > 0 else parts[k]

        for k in range(ahead):
            exchange(rank + 1, forward(k, take(k)), None)
        x = take(ahead) if ahead < micro_batches else None
        for k in range(micro_batches):
            more, empty = k + ahead < micro_batches, torch.empty(shape)
            gradient = None
            y = forward(k + ahead, x) if more else None
            x = None
            if rank < last:
                gradient = exchange(rank + 1, y, empty)
            y = None
            out = backward(k, gradient)
            gradient = None
            coming = k + ahead + 1 < micro_batches
            if rank > 0:
                x = exchange(rank - 1, out, torch.empty(shape) if coming else None)
            elif coming:
                x = parts[k + ahead + 1]
        return sum(losses) if rank == last else None
        """,
    "the library's pipeline": """
        from helpers.pipeline import Pipeline
        from helpers.schedules import one_f_one_b
        pipeline = Pipeline(
            one_f_one_b(last + 1, micro_batches), {rank: stage}, recorder=recorder,
            loss=lambda logits, ids: causalLLMLoss(logits, ids, stage.config.vocab_size),
        )
        return pipeline.step(ids, ids).loss
        """,
}
