# %% [markdown]
# # In torch's own words
#
# *Reading 45 minutes, tasks 45*
#
# *With twenty minutes: look at the drawing and the dictionary, and read which pieces don't fit.*
#
# You've averaged gradients, cut layers and filled pipelines by hand. In a real code base you'll
# meet `init_device_mesh`, `fully_shard`, `parallelize_module` and `PipelineStage`, and each of them
# is a lesson of this course behind one name. So this lesson is a translation, in both directions:
# it says which of your functions each of them replaces, and it checks that they take the same step.
#
# Why check? Each piece has been tested by itself, but where two meet, wrong numbers can come out
# without an error. You know how to notice: compare any layout with one device, tensor by tensor.
#
# **Question.** Do torch's pieces, put together, take the step that you have written by hand? And
# where they don't, does anything tell you?

# %%
import re
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from IPython.display import Markdown
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleavedZeroBubble
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from helpers.check import check, solve

# %%
from helpers.grid import Grid
from helpers.lesson import answer, predict, reveal, show_code
from helpers.pipeline import Pipeline
from helpers.ranks import find_place, keep_warm, launch
from helpers.schedules import from_csv, save_csv, zb_h1, zb_h2
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories, prepare
from simplellm.slicing import whole_name

# %%
sys.path[:0] = ["../DP_PP"]
import torchs_words

torch.set_num_threads(1)  # in this lab, one device is one core
keep_warm(quick(8, 4), imports=["torch._dynamo"])  # ranks get ready while you read

# %% [markdown]
# ## A mesh is a grid
#
# `Grid(dp=2, pp=2, tp=2)` of lesson 08 is an array of ranks, and a group is a slice of it. In torch
# this array is called a **DeviceMesh**. Every rank calls
# `init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("dp", "pp", "tp"))`, and then `mesh["dp"]` is
# the slice along "dp" that this rank belongs to. The last dimension changes fastest, as in our
# grid.

# %%
grid = Grid(dp=2, pp=2, tp=2)
print(grid)

# %%
for name in ("dp", "pp", "tp"):
    print(f"{name}: rank 5 is with {grid.group(5, name)}")


def slices():
    """On a rank: the ranks that torch's mesh gives it, by dimension."""
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("dp", "pp", "tp"))
    return {name: tuple(mesh[name].mesh.tolist()) for name in mesh.mesh_dim_names}


# %% jupyter={"source_hidden": true}
torchs = launch(slices, ranks=8, quiet=True, checked=False)[5]
print(f"by torch's mesh rank 5 is with {torchs}")
assert torchs == {n: grid.group(5, n) for n in torchs}

# %% [markdown]
# ## A tensor that knows its place
#
# In lesson 14 a rank's part of a matrix was an ordinary tensor, and only our plan knew that it was
# a part. Torch writes the plan on the tensor itself. A **DTensor** has a mesh and, for each of the
# mesh's dimensions, a *placement*: `Shard(0)`, a part of the rows; `Replicate()`, all of it; or
# `Partial()`, one term of a sum that is still to be added up. Its `.shape` is the whole tensor's,
# `.to_local()` is what this rank holds, and `.full_tensor()` gathers the whole. When an operation
# needs another placement, torch calls `redistribute`: from `Partial` to `Replicate` is an
# all-reduce, from `Shard` to `Replicate` an all-gather, from `Partial` to `Shard` a reduce-scatter.
# That's where the collectives of tensor parallelism have gone: `parallelize_module` sets hooks
# around a layer, which redistribute its input or output. Those of `fully_shard` are in hooks as
# well, and the messages of a pipeline in its schedule.
#
# A weight of $n \times k$ numbers that is cut by tensor parallelism and then sharded over data
# parallelism leaves each rank
#
# $$\frac{n\,k}{T \cdot D}$$
#
# of them, for $T$ parts and $D$ replicas. Which ones? `parallelize_module` comes first, and
# `fully_shard` then cuts the rows of what's left. (Torch keeps a weight as outputs × inputs, so the
# columns of lesson 14 are rows here: `ColwiseParallel` cuts the first weight's rows in halves.)

# %% jupyter={"source_hidden": true}
predict(
    "torchs_own_words-2",
    "Four ranks form a mesh of dp 2 x tp 2, so that tp changes fastest. Which ranks hold the four "
    "quarters of the rows, from top to bottom?",
    "ranks 0, 2, 1, 3",
    "ranks 0, 1, 2, 3",
    "in any order: nothing depends on it",
)


# %%
def look():
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    pair = nn.Sequential(nn.Linear(4, 8, bias=False), nn.Linear(8, 4, bias=False))
    with torch.no_grad():
        pair[0].weight.copy_(torch.arange(8.0)[:, None])  # each row holds its number
    parallelize_module(pair, mesh["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
    fully_shard(pair, mesh=mesh["dp"])
    local = pair[0].weight.to_local()
    return local[:, 0].int().tolist(), tuple(pair[1].weight.to_local().shape)


# %% jupyter={"source_hidden": true}
for rank, (rows, shape) in enumerate(launch(look, ranks=4, quiet=True)):
    print(f"rank {rank}: rows {rows} of the first weight (8 x 4), {shape} of the second (4 x 8)")
reveal("torchs_own_words-2")

# %% [markdown]
# ![A weight of outputs times inputs in three steps. Column parallel: the upper half of its rows
# goes to tp 0, the lower to tp 1; then each half is cut once more, so from top to bottom the
# quarters belong to ranks 0, 2, 1 and 3. Row parallel: the left half of its columns goes to tp 0,
# the right to tp 1; then the rows are cut, so the quadrants belong to ranks 0 and 1 above, 2 and 3
# below.](../imgs/cut_weights.svg)
#
# The order matters as soon as the parts are put together without asking the tensor. For example, a
# checkpoint that joins the ranks' files by rank number would shuffle the rows. That's why a DTensor
# carries its placements with it (torch's `_StridedShard` stands for this order of the cuts), and
# why each part in a checkpoint of lesson 21 knows its place in the whole tensor.
#
# ## The trainer of lesson 08, ported
#
# | by hand | in torch's words | lesson |
# |---|---|---|
# | `Grid`, `make_groups` | `init_device_mesh`, `mesh["pp"].get_group()` | 08 |
# | `average_gradients` down the column | `fully_shard(module, mesh=mesh["dp"])`: shards too | 13 |
# | `cut(stage, LLAMA, group)` | `parallelize_module(stage, mesh["tp"], plan)` | 14 |
# | `Pipeline(one_f_one_b(p, m), …)` | `Schedule1F1B(PipelineStage(…), m, loss_fn=…)` | 06 |
#
# The loop keeps `zero_grad`, its step and its update, and needs no average any more. `step()` takes
# the inputs on the first stage, the targets on the last, and nothing between them. Two habits of
# torch are worth knowing before you write it. `fully_shard` replaces the parameters, so the
# optimizer comes after it. And after the forward of a block it frees the weights it had gathered,
# so in a pipeline they have to be gathered anew for every micro-batch. With
# `reshard_after_forward=False` they stay until the step is over, at a price: during a step each
# rank holds all weights of its stage. (All its gradients too, since torch's pipeline adds them up
# whole and reduces them once, after the last micro-batch.)
#
# ### Your turn: TW-1 · 45 minutes · 25 points
#
# Write `train()` in `DP_PP/torchs_words.py`: DP x PP on a mesh, for any grid. The docstring names
# the calls, and most of the dimensions of the mesh that they take. The check compares every weight
# with one device's, in float64.

# %%
check("TW-1")

# %% [markdown]
# ## Is it the same step?
#
# Now add tensor parallelism: `cut_layers` is in the same file, so `--tp 2` turns your trainer into
# DP x PP x TP on eight ranks.

# %% jupyter={"source_hidden": true}
show_code("DP_PP/torchs_words.py", "cut_layers")

# %% [markdown]
# The gradient is put together in three places. Tensor-parallel ranks add up the terms of
# activations and of their gradients, torch's pipeline divides by its $m$ micro-batches at the end
# of `step()`, and `fully_shard` divides by the $D$ replicas. The last two make the mean
#
# $$\nabla L = \frac1D \sum_{d=1}^{D} \frac1m \sum_{i=1}^{m} \nabla \ell(x_{d,i}).$$
#
# Let one device take the same step, with the same eight sequences.

# %% jupyter={"source_hidden": true}
SMALL = ["--dmodel", "32", "--heads", "4", "--layers", "4", "--seq-l", "16"]
SMALL += ["--steps", "1", "--optimizer", "sgd", "--lr", "0.5"]

# %%
DP = quick(2, 1)  # replicas
torch.set_default_dtype(torch.float64)
options = torchs_words.read_flags(SMALL)
tokenizer, model = prepare(options, "cpu")
batches = [next(iter(make_stories(options, tokenizer, d, DP, quiet=True))) for d in range(DP)]


ids = torch.cat(batches)
causalLLMLoss(model(ids), ids, tokenizer.vocab_size).backward()
torch.optim.SGD(model.parameters(), lr=options.lr).step()
alone = {name: (p.grad, p.detach()) for name, p in model.named_parameters()}
torch.set_default_dtype(torch.float32)

# %% jupyter={"source_hidden": true}
predict(
    "torchs_own_words-3",
    "Eight ranks take the step with a mesh, FSDP, tensor parallelism and a pipeline at once, in "
    "float64. How far is the worst gradient or new weight from one device's, relative to the "
    "largest entry of its tensor?",
    "not at all: the same bits",
    "about 1e-15: the same numbers, added in another order",
    "about 1e-7: somewhere in there torch computes in float32",
)


# %%
def step_on_a_rank(schedule):
    """The gradients and the new weights of this rank's stage, whole, by name."""
    torch.set_default_dtype(torch.float64)
    options = torchs_words.read_flags([*SMALL, "--tp", "2", "--schedule", schedule])
    _, stage, _ = torchs_words.train(options, find_place(), "cpu", lambda *_: None)
    return {
        whole_name(name, stage.first_layer): (p.grad.full_tensor(), p.detach().full_tensor())
        for name, p in stage.named_parameters()
    }


# %%
for schedule in ("1F1B", "zero-bubble"):
    ranks = launch(step_on_a_rank, 4 * DP, (schedule,), quiet=True, checked=False)
    worst = max(
        ((found - right).abs().max() / right.abs().max()).item()
        for of_rank in ranks
        for name, pair in of_rank.items()
        for found, right in zip(pair, alone[name], strict=True)
    )
    print(f"{schedule}: {len(alone)} gradients and weights, the worst {worst:.0e} off")
    assert worst < 1e-12 and set().union(*ranks) == set(alone)
reveal("torchs_own_words-3")

# %% [markdown]
# That's 39 gradients and 39 weights, all there are, on all ranks and for both schedules. So the
# answer to the first half of our question is yes: torch's pieces take the step that one device
# takes, as your own did.
#
# ## Torch's plan on our timeline
#
# In torch, too, a schedule is a table: a list of actions for each rank, in `pipeline_order`, where
# `2F0` is the forward of micro-batch 0 in stage 2. The classes for several stages on a rank are
# such tables, and one runtime executes them. (`ScheduleGPipe` and `Schedule1F1B` are loops, and
# their table is for display only.) Our `from_csv` reads torch's order.


# %%
def stage_of(rank):
    torch.manual_seed(rank)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh()).double()


def torchs_order(m):
    part = PipelineStage(stage_of(dist.get_rank()), dist.get_rank(), 4, torch.device("cpu"))
    schedule = ScheduleInterleavedZeroBubble([part], m, loss_fn=nn.functional.mse_loss)
    rows = schedule.pipeline_order.values()
    return "\n".join(",".join(str(action or "") for action in row) for row in rows)


# %%
csv = launch(torchs_order, ranks=4, args=(8,), quiet=True)[0]
plans = {"torch": from_csv(csv, "InterleavedZeroBubble"), "ours": zb_h2(4, 8)}
print(plans["torch"])
assert plans["torch"].ranks == zb_h1(4, 8).ranks, "torch's zero bubble should be ZB-H1"

# %% [markdown]
# Torch's zero bubble is the ZB-H1 of lesson 07 (its docstring calls it ZB1P, the paper's name for
# an automatic schedule with 1F1B's memory), and ZB-H2 isn't among its classes. But the runtime can
# read an order from a CSV file with a row for each rank, and writing such a file takes one line:
# `save_csv(plan, path)`.


# %%
def run_torch(schedule, part, x):
    inputs = [x] if part.is_first else []
    schedule.step(*inputs, **({"target": x} if part.is_last else {}))


def by_both(plan, path):
    rank, loss = dist.get_rank(), nn.functional.mse_loss
    x = torch.randn(16, 8, generator=torch.Generator().manual_seed(1)).double()
    theirs, mine = stage_of(rank), stage_of(rank)
    part = PipelineStage(theirs, rank, 4, torch.device("cpu"))
    runtime = _PipelineScheduleRuntime([part], plan.micro_batches, loss_fn=loss)
    runtime._load_csv(path, format="compute_only")
    run_torch(runtime, part, x)
    Pipeline(plan, {rank: mine}, loss=loss).step(x, x)
    pairs = zip(theirs.parameters(), mine.parameters(), strict=True)
    return all(torch.equal(a.grad, b.grad) for a, b in pairs)


# %%
with tempfile.TemporaryDirectory() as folder:
    paths = [str(save_csv(plan, f"{folder}/{name}.csv")) for name, plan in plans.items()]
    pairs = list(zip(plans.values(), paths, strict=True))
    both = launch(lambda: [by_both(*pair) for pair in pairs], ranks=4, quiet=True, checked=False)

# %%
for number, plan in enumerate(plans.values()):
    equal = [each[number] for each in both]
    print(f"{plan.name}: on ranks 0 to 3, the same bits by torch and by us: {equal}")

# %% [markdown]
# Torch's runtime checks that every action has what it needs, adds the messages, and runs the rows
# as they are. The other direction works too: as the line InterleavedZeroBubble shows, our executor
# runs torch's order. (The same bits need a power of two: torch divides the sum of the gradients by
# the number of micro-batches, eight here, and we divide before. With seven the last bits differ.)
# So you can search for an order (lesson 07), prove it with `helpers.schedules.check`, simulate it
# for machines you don't have, and hand it to torch's runtime. (Its name and `_load_csv` begin with
# an underscore: they may change with any version.)
#
# ## When a rank leaves early
#
# With torch's pieces you no longer call collectives yourself. That's comfortable as long as all
# ranks do the same. But suppose there are three ranks, and rank 2 has one batch fewer than the
# others.

# %% jupyter={"source_hidden": true}
predict(
    "torchs_own_words-5",
    "Rank 2 leaves its loop one batch early. At which line do the other ranks stop?",
    "none: their gradients are averaged over two ranks from then on",
    "the end of the program, where all ranks wait for each other",
    "the line of the model or of backward(), inside of which a collective waits for rank 2",
)


# %%
def train_with(wrap, batches=3):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    if wrap == "DDP":
        net = nn.parallel.DistributedDataParallel(net)
    else:
        fully_shard(net, mesh=init_device_mesh("cpu", (3,)))
    for _ in range(batches - (dist.get_rank() == 2)):
        net(torch.ones(2, 4)).sum().backward()


# %% jupyter={"source_hidden": true}
for wrap in quick(("DDP", "fully_shard"), ("fully_shard",)):
    report = launch(train_with, ranks=3, args=(wrap,), quiet=True, on_error="report")
    print(f"{wrap}: {report.failure}\n")
reveal("torchs_own_words-5")

# %% [markdown]
# The program doesn't mention those collectives, because hooks start them in the middle of a forward
# or a backward. But they're the ones of lessons 11 and 13, and the explanation names them with the
# line that led there. Under `torchrun`, while the process of rank 2 lives on, you'd see nothing for
# 10 minutes with NCCL or 30 with gloo, and then a time-out. DDP starts its all-reduce in C++, so we
# know of it only from torch's own *flight recorder*, which keeps each rank's latest collectives:
# 2,000 of them in torch 2.13, unless `TORCH_FR_BUFFER_SIZE` says otherwise. With NCCL, recent
# versions write them down at a time-out by themselves; older ones need this variable, under its
# earlier name `TORCH_NCCL_TRACE_BUFFER_SIZE`, and `TORCH_NCCL_DUMP_ON_TIMEOUT=1`. With gloo they
# aren't written at a time-out, but `torch.distributed.debug.start_debug_server` can write them
# every minute. And with NCCL a collective is only queued, so a rank stops later, at the first line
# that needs a number, such as `loss.item()`: the time-out names the kind and the size of the
# collective, and only the recorder the line that started it. (If ranks can't have the same number
# of batches, DDP's context `join()` lets the others go on.)
#
# ## Where the pieces don't fit together
#
# **Three pairs of torch's pieces go wrong in silence, and a pipeline alone does in two more ways.**
# We look at two pairs; the table below has all. The trainer above passes
# `reshard_after_forward=False`, which looks like a matter of speed. Here's zero bubble over two
# stages, once with it and once with `True`, the default of every block inside a model. Nothing
# complains.


# %%
def missing(reshard):
    """On a rank: which of its stage's gradients are missing after a step."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "dp"))
    number = mesh["pp"].get_local_rank()
    stage = stage_of(number)
    fully_shard(stage, mesh=mesh["dp"], reshard_after_forward=reshard)
    part = PipelineStage(stage, number, 2, torch.device("cpu"), group=mesh["pp"].get_group())
    schedule = ScheduleInterleavedZeroBubble([part], 4, loss_fn=nn.functional.mse_loss)
    run_torch(schedule, part, torch.ones(8, 8).double())
    return number, [name for name, p in stage.named_parameters() if p.grad is None]


# %%
for reshard in (False, True):
    found = dict(launch(missing, 4, (reshard,), quiet=True, checked=False))
    print(f"reshard_after_forward={reshard}: without a gradient "
          f"{found[0] or 'none'} in stage 0, {found[1] or 'none'} in stage 1")  # fmt: skip

# %% [markdown]
# The split backward looks up its weights before it begins. After a forward these are the shards
# again, which took no part in it, so the second stage has no gradients, and would keep its first
# weights forever. The first stage is spared because its input needs no gradient, so torch runs an
# ordinary backward there.
#
# The second pair is in every training loop. Gradient clipping scales all gradients down if their
# norm is too large. What counts is the norm of *all* of them together, and squares of norms add up
# over the $p$ stages:
#
# $$\lVert g \rVert = \sqrt{\textstyle\sum_{s=1}^{p} \lVert g_s \rVert^2}.$$
#
# On one device everybody writes `torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)`.

# %% jupyter={"source_hidden": true}
predict(
    "torchs_own_words-6",
    "Two stages, and each rank calls clip_grad_norm_ on its own stage. What does torch do?",
    "each stage divides by a norm of its own, and no error is raised",
    "it adds the squares up over the stages, since it knows that this is a pipeline",
    "it raises an error on a model that is only a part",
)


# %%
def clip_and_repeat():
    rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,), mesh_dim_names=("pp",))
    stage, x = stage_of(rank), torch.ones(8, 8).double()
    part = PipelineStage(stage, rank, 2, torch.device("cpu"), group=mesh["pp"].get_group())
    schedule = Schedule1F1B(part, 4, loss_fn=nn.functional.mse_loss)
    run_torch(schedule, part, x)
    first = stage[0].weight.grad.clone()
    run_torch(schedule, part, x)  # without zero_grad
    both = stage[0].weight.grad.clone()
    true = torchs_words.clip(stage, 1e9, mesh["pp"]).item()  # over both stages; it scales nothing
    nn.utils.clip_grad_norm_(stage.parameters(), 1.0)
    scaled = (stage[0].weight.grad / both).nanmean().item()
    return scaled, 1 / true, (both / first).nanmean().item()


# %% jupyter={"source_hidden": true}
found = launch(clip_and_repeat, ranks=2, quiet=True, checked=False)
for rank, (scaled, right, _) in enumerate(found):
    print(f"stage {rank}: scaled by {scaled:.3f}; by the norm of both stages, {right:.3f}")
reveal("torchs_own_words-6")

# %% [markdown]
# So each stage's gradients are scaled by a factor of their own, and the step points in a different
# direction. `clip` in `DP_PP/torchs_words.py` is the cure, and torchtitan has a function like it.
# It has a price: no stage can update before all have their gradients, which cancels ZB-H2's gain,
# unless ranks can roll an update back (lesson 07).
#
# The same launch tried something else: it ran `step()` twice on the same batch without `zero_grad`
# in between, as gradient accumulation would. In our own pipeline the gradient doubles. But torch
# divides all of `.grad` by $m$ at the end of a step, including what was there before. With $m = 4$,
# how many times as large as after the first step is `.grad` after the second?

# %%
mine = None
answer("torchs_own_words-7", mine)

# %% [markdown]
# Here is everything we've found with torch 2.13 on a CPU. A test of this project and this lesson
# watch the rows about gradients, so that those go when torch improves.

# %%
page = Path("../docs/torch.md").read_text(encoding="utf-8")
sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
Markdown(sections["Where its pieces don't fit together"])

# %% jupyter={"source_hidden": true}
print(f"after the second step(), .grad is {found[0][2]:g} times the first's")
assert abs(found[0][2] - 1.25) < 1e-9

# %% [markdown]
# Five of these are silent, and you'd look for them in a loss curve for a long time. The comparison
# with one device takes a minute: a small model, SGD, float64, every tensor, and everything switched
# on that you'll use. Two steps that accumulate into `.grad`, with clipping and sequences of
# different lengths, show four of the five. The fifth needs a checkpoint: save one, load it, and
# compare every tensor. Do both whenever you combine two pieces for the first time, and again when
# you change the version of torch. (For two rows torch offers `scale_grads=False`: the schedule then
# divides nothing. Let your loss be a sum, and divide it by the number of all tokens; under
# `fully_shard`, which itself divides by $D$, divide by the mean number of tokens of a replica.)
#
# ## A dictionary
#
# Here is what pipelines, grids, cut and sharded layers and checkpoints are called in torch.
# [docs/torch.md](../docs/torch.md) has the other lessons' ideas too, says where each name is, and
# what Megatron-LM, DeepSpeed and torchtitan call it.

# %%
table = [row.split("|") for row in page.split("\n## ")[0].split("\n\n", 2)[2].splitlines()]
short = [
    re.sub(r"`torch\.[\w.]*?(\w+)`", r"`\1`", "|".join(("", *row[1:3], row[4], "")))
    for row in table
    if row[4].strip() and row[2].strip() in ("lesson", "---", *"05 06 07 08 13 14 15 21".split())
]
Markdown("\n".join(short))

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A mesh is a grid, and a DTensor is a part that knows its place.
# - Cut layers first, shard second, then make the optimizer; the pipeline goes around all of it.
# - Torch's step is yours, to the last few bits of float64, and its runtime takes our tables.
# - Where two pieces meet, and in a pipeline alone, mistakes are mostly silent: freed weights, norms
#   over stages, names in checkpoints, gradients left over from the last step.
# - To find such mistakes, compare two steps of SGD in float64 with one device, tensor by tensor,
#   and a checkpoint with what was saved.
#
# ## In the wild
#
# - torchtitan consists of torch's own pieces and little else. On 128 H100s with FSDP alone it
#   trains Llama 3.1 8B at 5,605 tokens a second for each GPU, and with `torch.compile` and Float8
#   at 8,380, without another dimension of parallelism
#   ([benchmarks/llama3_h100_202412_torchtitan.md](https://github.com/pytorch/torchtitan/blob/main/benchmarks/llama3_h100_202412_torchtitan.md),
#   table 3).
# - torchtitan met the norm over stages too: [issue
#   596](https://github.com/pytorch/torchtitan/issues/596) is why it has a clipping function of its
#   own.
#
# Go and read `clip_grad_norm_` in torchtitan's `torchtitan/distributed/utils.py`, and compare it
# with `clip`. Then look for `_load_csv` in `torchtitan/distributed/pipeline_parallel.py`: that's
# where a plan of yours could go in.
#
# ## Where next
#
# So far, the wrong programs were your own. In [lesson 23](23_forensics.ipynb) they're somebody
# else's, and their mistakes are well hidden.
