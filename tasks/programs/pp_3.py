"""Programs for PP-3: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

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
    loss="causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches",
    send="sent.append((dist.isend(y.detach(), rank + 1), y))",
    back="outputs.pop(k).backward(gradient)",
    before="sent.append((dist.isend(inputs[k].grad, rank - 1), inputs.pop(k)))",
    order=ORDER,
):
    """1F1B with one of its parts done in another way."""
    return f"""
        {first}

        def forward(k):
            x = parts[k]
            if rank > 0:
                x = torch.empty(shape)
                dist.recv(x, rank - 1)
                x.requires_grad_()
            with recorder.span("F", stage=rank, micro_batch=k):
                y = stage(x)
                if rank == last:
                    y = {loss}
                    losses.append(y.detach())
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
        return sum(losses) if rank == last else None
        """


RELEASED = one_f_one_b(  # nothing is kept for longer than it must be
    first="sent = {}",
    send="sent['y', k] = dist.isend(y.detach(), rank + 1), y",
    back="sent.pop(('y', k))[0].wait() if rank < last else None; outputs.pop(k).backward(gradient)",
    before="sent.pop(('x', k - 1))[0].wait() if k > 0 else None; "
    "sent['x', k] = dist.isend(inputs[k].grad, rank - 1), inputs.pop(k).grad",
    order=ordered("last - rank").replace("in sent", "in sent.values()"),
)

PROGRAMS = (
    Program(
        "losses summed",
        one_f_one_b(loss="causalLLMLoss(y, parts[k], stage.config.vocab_size)"),
        says="every gradient is 6 times too large",
    ),
    Program(
        "x.grad of another micro-batch",
        one_f_one_b(
            before="sent.append((dist.isend(inputs[max(k - 1, 0)].grad, rank - 1), inputs))"
        ),
        says="with the gradient of micro-batch",
    ),
    Program(
        "one too many ahead",
        one_f_one_b(order=ordered("last - rank + 1")),
        says="rank 0 goes forward 5 times before its first backward, which is 1 too many",
    ),
    Program(
        "keeps every graph",
        one_f_one_b(back="outputs[k].backward(gradient, retain_graph=True)"),
        says="the order is right, and still rank 0 keeps the activations of 6 of 6",
    ),
    Program(
        "waits for all messages at the end",
        one_f_one_b(),
        says="and of a message and its tensor as soon as it must have arrived",
    ),
    Program(
        "every x and y stays",
        RELEASED.replace(".pop(k)", "[k]"),
        says="after its backward let go of a micro-batch's x and y",
    ),
    Program(
        "nobody waits for what goes forward",
        one_f_one_b(send="dist.isend(y.detach(), rank + 1)"),
        says="nobody waits for the isend of rank 0 to rank 1",
    ),
    Program(
        "nobody waits for what goes back",
        one_f_one_b(
            send="dist.send(y.detach(), rank + 1)",
            before="dist.batch_isend_irecv([dist.P2POp(dist.isend, inputs.pop(k).grad, rank - 1)])",
        ),
        says="nobody waits for the isend of rank 1 to rank 0",
    ),
    Program(
        "plain sends",
        one_f_one_b(
            send="dist.send(y.detach(), rank + 1)", before="dist.send(inputs[k].grad, rank - 1)"
        ),
        says="both send first",
        alone=True,
    ),
)

RIGHT = {
    "released in time": RELEASED,
    "each waits for the one before it": one_f_one_b(
        first="sent, back = [], []",
        send="[sent.pop()[0].wait() for _ in list(sent)]; "
        "sent.append((dist.isend(y.detach(), rank + 1), y))",
        before="[back.pop()[0].wait() for _ in list(back)]; "
        "back.append((dist.isend(inputs[k].grad, rank - 1), inputs.pop(k)))",
        order=ORDER.replace("in sent", "in sent + back"),
    ),
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
}
