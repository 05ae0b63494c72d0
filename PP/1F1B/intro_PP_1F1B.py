"""1F1B: one forward, one backward, in turn, so that few micro-batches are kept at a time.

    python intro_PP_1F1B.py 0       one process for each rank: 0, 1 and 2
    ./run.sh                        all three at once (run.bat on Windows)
    torchrun --nproc-per-node 3 intro_PP_1F1B.py

The same bubble as GPipe, and less memory (Fan et al. 2021, arXiv 2007.01045; Narayanan et al. 2021,
arXiv 2104.04473). The last rank prints the loss of each step.
"""

import torch
import torch.distributed as dist

from helpers.hang.monitor import record_messages
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import TrainingFlags, make_optimizer, make_stories, positive, prepare
from simplellm.slicing import layer_counts


def read_flags(arguments=None):
    flags = add_run_flags(TrainingFlags(__doc__, batch_size=3, micro_batches=3), ranks=3)
    text = "batches of one update: gradient accumulation (1)"
    flags.add_argument("--waves", type=positive, default=1, help=text)
    return flags.parse_args(arguments)


def forward_backward(stage, ids, micro_batches, place, recorder):
    """Take one batch through this rank's stage in micro-batches: one forward, one backward, ….

    stage: rank 0 holds the first one, ids (B, S) -> (B, S, dmodel); the last one returns logits.
    ids: the batch, the same on every rank. micro_batches: B must be a multiple of it.
    recorder: each pass forward goes inside recorder.span("F", stage=rank, micro_batch=k), each
    backward inside span("B", ...) with the same names: the trace shows the order. It records
    messages by itself.

    After its backward nothing of a micro-batch is kept, at the borders either: x, y and what was
    sent are let go as soon as the neighbor must have them. Every isend is waited for.

    Adds the gradients of the batch's mean loss to those in the stage's parameters. Returns that
    loss on the last rank, None elsewhere.
    """
    rank, last = place.rank, place.world_size - 1
    parts = ids.chunk(micro_batches)
    shape = (*parts[0].shape, stage.config.dmodel)  # of what one stage sends to the next
    inputs, outputs, losses = {}, {}, []
    # BEGIN SOLUTION PP-3
    sends = {}  # by receiver and micro-batch: the message, and the tensor that it reads

    def send(tensor, peer, k):  # a plain send would meet the neighbor's: both would wait forever
        sends[peer, k] = dist.isend(tensor, peer), tensor

    def free(peer, k):  # the tensor must live until it has been sent, and not longer
        message, _ = sends.pop((peer, k))
        message.wait()

    def forward(k):
        x = parts[k]
        if rank > 0:
            x = torch.empty(shape, device=ids.device)
            dist.recv(x, rank - 1)
            x.requires_grad_()  # so that backward leaves the gradient that the stage before needs
        with recorder.span("F", stage=rank, micro_batch=k):
            y = stage(x)
            if rank == last:  # each micro-batch is one share of the batch's mean
                y = causalLLMLoss(y, parts[k], stage.config.vocab_size) / micro_batches
                losses.append(y.detach())
        inputs[k], outputs[k] = x, y
        if rank < last:
            send(y.detach(), rank + 1, k)

    def backward(k):
        x, y, gradient = inputs.pop(k), outputs.pop(k), None  # not kept any longer
        if rank < last:
            gradient = torch.empty(shape, device=ids.device)
            dist.recv(gradient, rank + 1)
            free(rank + 1, k)  # the next stage has used y, so it has come
        with recorder.span("B", stage=rank, micro_batch=k):
            y.backward(gradient)
        if rank > 0:
            if k > 0:
                free(rank - 1, k - 1)
            send(x.grad, rank - 1, k)

    ahead = min(last - rank, micro_batches)  # how many go forward before the first comes back
    for k in range(ahead):
        forward(k)
    for k in range(micro_batches):
        if k + ahead < micro_batches:
            forward(k + ahead)
        backward(k)
    for peer, k in list(sends):
        free(peer, k)
    return sum(losses) if rank == last else None
    # END SOLUTION


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its stage and the trace.

    say(step, loss): called on the last rank after each step. Other ranks have no losses.
    """
    # Drawn from one seed on every rank: the same whole model, cut alike.
    tokenizer, stage = prepare(options, device, place.rank, place.world_size)
    # The first stage reads the stories, and the last one compares with them.
    stories = iter(make_stories(options, tokenizer, quiet=place.rank > 0))
    optimizer = make_optimizer(options, stage)
    recorder = Recorder(rank=place.rank)
    losses = []
    dist.barrier()  # all ranks begin together

    for step in range(options.steps):
        optimizer.zero_grad()
        for _ in range(options.waves):
            ids = next(stories).to(device)
            with record_messages(recorder):
                loss = forward_backward(stage, ids, options.micro_batches, place, recorder)
        with recorder.span("update"):
            for p in stage.parameters():
                p.grad /= options.waves  # the gradients of all waves were added up
            optimizer.step()
        if loss is not None:
            losses.append(check_finite(loss, step))
            say(step, losses[-1])

    return losses, stage, recorder.trace()


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=lambda options, ranks: layer_counts(options.layers, ranks))
