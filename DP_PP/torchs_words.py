"""DP x PP x TP in torch's own words: a mesh, cut and sharded layers, its pipeline, its checkpoint.

    torchrun --nproc-per-node 8 torchs_words.py --tp 2
    python -m helpers.ranks -n 8 torchs_words.py --tp 2 --schedule zero-bubble

The model, the text and the steps are those of intro_DP_PP.py. With --tp 1, the default, so is the
grid: pipelines of --stages stages each, and every stage shares its gradients with its twins.
"""

from functools import partial

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleavedZeroBubble
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from helpers.grid import Grid
from helpers.ranks.script import add_run_flags, run_as_rank
from helpers.trace import Recorder
from simplellm.blocks import Block
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    TrainingFlags,
    above_zero,
    make_optimizer,
    make_stories,
    positive,
    prepare,
)
from simplellm.slicing import whole_name

MESH = ("dp", "pp", "tp")  # slowest first, as in our grid
SCHEDULES = {
    "1F1B": Schedule1F1B,
    "zero-bubble": lambda part, *rest, **more: ScheduleInterleavedZeroBubble([part], *rest, **more),
}
BLOCK = {  # of one layer: columns first, then rows, so that one all-reduce ends each pair
    "self_attn.[qkv]_proj": ColwiseParallel(),
    "self_attn.o_proj": RowwiseParallel(),
    "mlp.gate_proj": ColwiseParallel(),
    "mlp.up_proj": ColwiseParallel(),
    "mlp.down_proj": RowwiseParallel(),
}


def read_flags(arguments=None):
    flags = TrainingFlags(__doc__, batch_size=4, micro_batches=4, stages=2)
    add = flags.add_argument
    add("--tp", type=positive, default=1, help="ranks that share each layer (1)")
    add("--schedule", choices=SCHEDULES, default="1F1B", help="of each pipeline (1F1B)")
    add("--clip", type=above_zero, help="the largest norm of all gradients together")
    add("--save", metavar="FOLDER", help="leave a checkpoint of the last step there")
    return add_run_flags(flags, ranks=4).parse_args(arguments)


def make_grid(options, ranks):
    """Lay the ranks out as a grid; raise ValueError if the stages and parts don't divide them."""
    replicas = max(1, ranks // (options.stages * options.tp))
    return Grid(dp=replicas, pp=options.stages, tp=options.tp).require(ranks)


def make_mesh(options, ranks, device="cpu"):
    """Return the same grid as torch's DeviceMesh; mesh["dp"] is this rank's slice along "dp"."""
    grid = make_grid(options, ranks)
    shape = tuple(getattr(grid, name) for name in MESH)
    return init_device_mesh(torch.device(device).type, shape, mesh_dim_names=MESH)


def cut_layers(stage, mesh):
    """Cut every matrix of the stage over the ranks of a one-dimensional mesh, as in lesson 14."""
    for name, module in list(stage.named_modules()):
        if isinstance(module, Block):
            parallelize_module(module, mesh, BLOCK)
        elif isinstance(module, nn.Embedding):
            parallelize_module(module, mesh, RowwiseParallel(input_layouts=Replicate()))
        elif name.endswith("lm_head"):
            parallelize_module(module, mesh, ColwiseParallel(output_layouts=Replicate()))


def whole(tensor):
    """Return all of a tensor of which this rank may hold a part; a collective, if it does."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def clip(stage, most, pipeline):
    """Scale all gradients down to a norm of at most `most`, over all stages; return their norm.

    torch.nn.utils.clip_grad_norm_ sees one stage alone, and wants one mesh for all gradients.
    """
    square = sum(whole(p.grad.norm()) ** 2 for p in stage.parameters())
    dist.all_reduce(square, group=pipeline.get_group())
    norm = square.sqrt()
    nn.utils.clip_grads_with_norm_(stage.parameters(), most, norm, foreach=False)
    return norm


def save(stage, folder):
    """Begin to write the stage's weights by their names in the whole model; return a future."""
    first = getattr(stage, "first_layer", 0)
    weights = {whole_name(name, first): p.detach() for name, p in stage.named_parameters()}
    return dcp.async_save(weights, checkpoint_id=folder)


def train(options, place, device, say=print):
    """Train for `options.steps` steps; return this rank's losses, its stage and the trace.

    It's the trainer of intro_DP_PP.py on a mesh, and each of its parts is one call of torch:

    - the place: `make_mesh`; mesh.get_coordinate() is [dp, pp, tp];
    - the stage and its text: `prepare` and `make_stories`, as before;
    - if options.tp > 1: `cut_layers` over mesh["tp"];
    - instead of averaging by hand: `fully_shard` over mesh["dp"], each Block of the stage first and
      then the stage itself, with reshard_after_forward=False (the optimizer comes after it);
    - instead of Pipeline: PipelineStage(stage, number, count, device, group=...) in one of
      SCHEDULES, which takes (part, micro_batches, loss_fn=...). Its step takes the inputs on the
      first stage, and target=..., losses=[] on the last one, which is filled with one loss for each
      micro-batch; nothing in between;
    - if options.clip: `clip` over mesh["pp"]; if options.save: `save` at the end, and its result().

    say(step, loss): called on the last stage after each step. Other ranks have no losses.
    """
    # BEGIN SOLUTION TW-1
    mesh = make_mesh(options, place.world_size, device)
    dp, pp, tp = mesh.get_coordinate()
    tokenizer, stage = prepare(options, device, pp, options.stages)
    stories = iter(make_stories(options, tokenizer, dp, mesh["dp"].size(), quiet=pp > 0 or tp > 0))
    if options.tp > 1:
        cut_layers(stage, mesh["tp"])
    for module in [m for m in stage.modules() if isinstance(m, Block)] + [stage]:
        fully_shard(module, mesh=mesh["dp"], reshard_after_forward=False)
    optimizer = make_optimizer(options, stage)

    part = PipelineStage(stage, pp, options.stages, device, group=mesh["pp"].get_group())
    loss_of = partial(causalLLMLoss, vocab_size=tokenizer.vocab_size)
    schedule = SCHEDULES[options.schedule](part, options.micro_batches, loss_fn=loss_of)
    recorder, losses = Recorder(rank=place.rank), []

    for step in range(options.steps):
        optimizer.zero_grad()
        ids, found = next(stories).to(device), []
        with recorder.span("step"):
            inputs = [ids] if part.is_first else []
            schedule.step(*inputs, **({"target": ids, "losses": found} if part.is_last else {}))
        if options.clip:
            clip(stage, options.clip, mesh["pp"])
        with recorder.span("update"):
            optimizer.step()
        if found:
            losses.append(check_finite(torch.stack(found).mean(), step))
            say(step, losses[-1])

    if options.save:
        save(stage, options.save).result()
    return losses, stage, recorder.trace()
    # END SOLUTION


if __name__ == "__main__":
    run_as_rank(read_flags, train, fits=make_grid)
