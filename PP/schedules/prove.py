"""Train a LLaMA one step by any schedule, and let the oracle judge: is it one device's step?

proof = prove(schedule)        starts a process for each rank
print(proof)                   RIGHT, or WRONG and which mistake; then tensor by tensor
"""

import torch

from helpers.oracle import between, gather, judge, one_step, snapshot
from helpers.pipeline import Pipeline
from helpers.ranks import find_place, launch
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_stories, prepare
from simplellm.slicing import slice_stage, whole_name

LAYERS = 6  # of the model; more where there are more stages


def prove(schedule):
    """Return the judgment, and the loss of the batch. Raises RankFailed if a rank fails."""
    flags = ["--layers", str(max(LAYERS, schedule.stages)), "--seq-l", "32"]
    flags += ["--batch-size", str(schedule.micro_batches)]
    ranks = launch(train_rank, schedule.size, args=(schedule, flags), quiet=True, checked=False)
    options, tokenizer, whole, ids = begin(flags)

    def loss_of(net, part):
        return causalLLMLoss(net(part), part, tokenizer.vocab_size), part[:, 1:].numel()

    right = one_step(whole, loss_of, ids.chunk(schedule.micro_batches), make_sgd)
    steps = gather([step for steps, _ in ranks for step in steps], right.before)
    return judge(right, steps), next(loss for _, loss in ranks if loss is not None)


def begin(flags):
    """Return what is the same on every rank: options, tokenizer, model, batch."""
    torch.set_num_threads(1)
    options = TrainingFlags(__doc__, batch_size=6).parse_args(flags)
    tokenizer, whole = prepare(options, "cpu")
    return options, tokenizer, whole, next(iter(make_stories(options, tokenizer, quiet=True)))


def make_sgd(parameters):
    """SGD, because Adam would hide a wrong factor."""
    return torch.optim.SGD(parameters, lr=0.3)


def train_rank(schedule, flags):
    """One step of this rank's stages: what it changed, and the loss where it is known."""
    options, tokenizer, whole, ids = begin(flags)
    mine = schedule.stages_of(find_place().rank)
    stages = {s: slice_stage(whole, s, schedule.stages, "cpu") for s in mine}

    def loss_of(logits, part):
        return causalLLMLoss(logits, part, tokenizer.vocab_size)

    before = {s: snapshot(stage) for s, stage in stages.items()}
    optimizer = make_sgd([p for stage in stages.values() for p in stage.parameters()])
    outcome = Pipeline(schedule, stages, loss=loss_of).step(ids, ids)
    optimizer.step()
    steps = []
    for s, stage in stages.items():
        step, whole = between(before[s], snapshot(stage)), {}
        for kind in ("before", "gradients", "after"):
            named = getattr(step, kind).items()
            whole[kind] = {whole_name(name, stage.first_layer): tensor for name, tensor in named}
        steps.append(type(step)(**whole))
    return steps, None if outcome.loss is None else float(outcome.loss)
