# %% [markdown]
# # Beyond 1F1B: chunks and zero bubble
#
# *Reading 50 minutes, tasks 95*
#
# *With twenty minutes: read "Two halves of a backward" and "What each way costs".*
#
# At the end of lesson 06 a pipeline of four ranks and eight micro-batches was still idle for 27 %
# of its time. More micro-batches would help, but suppose each is a single sequence already and the
# batch size is fixed: a larger batch means fewer updates for the same number of tokens, and beyond
# some size the model learns less from them. The number of GPUs is fixed as well, and with 1,000 of
# them you'd be paying for 270 that do nothing.
#
# **Question.** With the ranks and the batch given, how else can we reduce the idle time, and what
# does each way cost?

# %%
import sys

import torch

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.pipeline import Pace, run_paced
from helpers.ranks import find_place, launch
from helpers.schedules import in_flight, interleaved, one_f_one_b, waves
from helpers.simulate import Costs, simulate
from simplellm.slicing import whole_weights

# %%
sys.path[:0] = ["../primer", "../PP/schedules"]
import intro
import intro_PP_schedule

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Smaller pieces of the model
#
# Why does the last rank of 1F1B start late? Because the first micro-batch has to pass through all
# the stages before it, and each of them is a quarter of the model. So let's cut the model into
# *eight* stages instead, and give each rank two of them, called its **chunks**. The first
# micro-batch now reaches the last rank after three eighths of the model's forward instead of three
# quarters.
#
# It matters *which* two stages a rank gets. If rank 0 took stages 0 and 1, we'd gain nothing,
# because together they're one large stage again. So the stages go round in a loop: a micro-batch
# visits all four ranks with the first half of the model, and then all four again with the second.
# This is **interleaved 1F1B** ([2104.04473](https://arxiv.org/abs/2104.04473), section 2.2).
#
# | | rank 0 | rank 1 | rank 2 | rank 3 |
# |---|---|---|---|---|
# | 1F1B, four stages | 0 | 1 | 2 | 3 |
# | interleaved, eight stages | 0, 4 | 1, 5 | 2, 6 | 3, 7 |

# %%
half = Costs(forward=0.5, input_grad=0.5, weight_grad=0.5)  # a chunk is half a stage
done = simulate(interleaved(4, 8, chunks=2), half)

# %% jupyter={"source_hidden": true}
print(f"{done.step_time:g} s instead of 33 s, idle for {done.bubble():.1%} of the time")

# %% [markdown]
# With $v$ chunks on each rank, one chunk takes $t_F/v$ forward and $t_B/v$ backward. Filling and
# emptying the pipeline still takes $p - 1$ of these, but now they are $v$ times shorter, while the
# work of a rank hasn't changed:
#
# $$T = \Bigl(m + \frac{p - 1}{v}\Bigr)(t_F + t_B), \qquad
# \frac{\text{idle}}{\text{total}} = \frac{p - 1}{v\,m + p - 1}.$$
#
# This holds if $p$ divides $m$. (Megatron again divides by the ideal time, and writes
# $\frac{1}{v}\cdot\frac{p-1}{m}$.) Here is the picture for four micro-batches, where the boxes are
# large enough to read. Follow F0: down the four ranks in dark blue, and down once more in pale
# blue.

# %% jupyter={"source_hidden": true}
show(simulate(interleaved(4, 4, chunks=2), half).trace)

# %% [markdown]
# What does it cost? Messages, first of all: a micro-batch now crosses $pv - 1$ stage boundaries
# instead of $p - 1$. And what about memory?

# %% jupyter={"source_hidden": true}
predict(
    "beyond_1f1b-2",
    "Rank 0 of 1F1B keeps 4 micro-batches of its stage. Count in the same unit (all chunks of a "
    "rank together are a stage). How does the memory of interleaved 1F1B change with the number of "
    "chunks?",
    "it grows with each further chunk",
    "it grows with the second chunk, and shrinks again with more of them",
    "it stays the same: each rank holds as many layers as before",
)

# %%
cuts = {v: interleaved(4, 8, v) if v > 1 else one_f_one_b(4, 8) for v in (1, 2, 4, 8)}
runs = {v: simulate(plan, Costs(1 / v, 1 / v, 1 / v)) for v, plan in cuts.items()}
most = {v: max(in_flight(plan)) / v for v, plan in cuts.items()}

# %% jupyter={"source_hidden": true}
for v, done in runs.items():
    print(f"{v} chunk(s): {done.step_time:6.3f} s, idle {done.bubble():5.1%}, "
          f"{done.messages:3} messages, keeps {most[v]:.3f} stages' worth")  # fmt: skip
reveal("beyond_1f1b-2")

# %% [markdown]
# Where do these numbers come from? Follow the first micro-batch, and count the forwards of rank 0
# until its gradient is back, because that's what the rank keeps:
#
# - It runs $(v-1)\,p$ forwards of its earlier chunks: a round of $p$ micro-batches through each.
# - It runs the first micro-batch's last chunk: 1.
# - That micro-batch travels through the $p-1$ ranks behind it, and rank 0 runs a forward for each
#   of these hops: $p-1$.
# - Its gradient travels back over the same hops. In this order rank 0 runs a forward for each of
#   them as well: $p-1$ again. (In 1F1B it waits instead. As long as messages are free it could wait
#   here too, and the step would be no longer. A question below asks what these forwards buy.)
#
# Together that's $vp + p - 1$ chunks, and a chunk is $1/v$ of a stage:
#
# $$p + \frac{p-1}{v} \text{ stages.}$$

# %%
for p, v in ((3, 2), (4, 2), (4, 8), (8, 3)):
    most = max(in_flight(interleaved(p, 4 * p, v)))
    print(f"{p} ranks, {v} chunks: rank 0 keeps {most}")
    assert most == v * p + p - 1

# %% [markdown]
# The second term is what rank 0 runs ahead while the first gradient comes back. It falls with $v$
# because each of these forwards is smaller. So the memory jumps with the second chunk, and after
# that it's the messages that limit how far you can go.
#
# How many chunks do you need? With eight ranks and 16 micro-batches, equal times and free messages,
# the bubble $7/(16v + 7)$ is at most a tenth of the total time from four chunks a rank.
#
# ### Your turn: PP-4 · 35 minutes · 20 points
#
# Write `interleaved()` in `PP/schedules/orders.py`: the order of interleaved 1F1B, for any number
# of ranks and chunks. There's nothing to send and nothing to compute this time. You write down, for
# each rank, which actions it takes in which order, and the lab's executor runs them.

# %%
check("PP-4")

# %% [markdown]
# What does all that warm-up buy? In your order for 4 ranks, 8 micro-batches and 2 chunks, let rank
# $r$ go ahead by $p - 1 - r + p$ forwards, not $2(p - 1 - r) + p$. F takes 1 s, B 2 s. With free
# messages the step takes 57 s either way. Now messages take half a second: how much longer is the
# step with the short warm-up than with the full one?

# %%
mine = None
answer("beyond_1f1b-9", mine)

# %% [markdown]
# There is another order for the same loop. **Breadth-first**
# ([2211.05953](https://arxiv.org/abs/2211.05953)) takes all micro-batches through a chunk before
# the next chunk begins, as GPipe does. It keeps all of them, so it needs more memory, and it has
# the same bubble. But all backwards of the second chunk come first, so its gradients are complete
# early, and can be averaged over replicas while the first chunk still computes.
#
# ## Two halves of a backward
#
# Chunks have shortened the idle time at both ends. To get rid of it we have to look inside the
# backward. For a linear layer $y = x W^\top$, let $\delta = \partial L / \partial y$ be the
# gradient that comes from above. Backward then computes two things:
#
# $$\frac{\partial L}{\partial x} = \delta\, W \quad (\mathbf{I}), \qquad
# \frac{\partial L}{\partial W} = \delta^\top x \quad (\mathbf{W}).$$
#
# The first is the gradient of the **input**, the second that of the **weights**. Each is one matrix
# product of the same size as the forward, which is why backward costs about twice as much.
#
# Only one of them is urgent: the stage before needs I, to continue its own backward. Nothing needs
# W until the optimizer updates the weights. So compute I immediately, and save W for moments when
# the rank would otherwise sit idle. That's the whole idea of the **zero-bubble** schedules
# ([2401.10241](https://arxiv.org/abs/2401.10241)). Before you open a paper, note that B has two
# meanings:
#
# | | forward | whole backward | gradient of the input | gradient of the weights |
# |---|---|---|---|---|
# | here, and in PyTorch's pipelining | F | B | I | W |
# | zero bubble, 2401.10241 | F | | B | W |
#
# The first such schedule, **ZB-H1**, is 1F1B with its Ws postponed:

# %%
from helpers.schedules import zb_h1, zb_h2, zb_v

put_off = simulate(zb_h1(4, 8))
show(put_off.trace)
early, idle = simulate(one_f_one_b(4, 8)), {}
for each in (early, put_off):
    idle[each.schedule.name] = sum(each.idle_by_cause()[0].values())

# %% jupyter={"source_hidden": true}
print(f"rank 0 idles for {idle['1F1B']:g} s in 1F1B, and for {idle['ZB-H1']:g} s in ZB-H1")
assert idle["ZB-H1"] == idle["1F1B"] / 3

# %% [markdown]
# And these are the lines that write the plan. On rank $r$ of $p$, ZB-H1 takes `ahead` $= p - 1 - r$
# forwards first, as 1F1B does, and lets W come `late` $= r$ micro-batches after I:

# %% jupyter={"source_hidden": true}
show_code("helpers/schedules/builders.py", "_zero_bubble")

# %% [markdown]
# Where did the other two thirds go? In 1F1B rank 0 waits a B for each of the $p-1$ ranks behind it
# until its first gradient arrives, and an F for each in the cool-down, where it has no forwards
# left: $(p-1)(F + I + W)$ in all. Now it waits only an I for each until the first gradient arrives,
# and in the cool-down a W takes the place of each missing F:
#
# $$\text{idle per rank} = (p - 1)\,(F + I - W), \qquad \frac{\text{ZB-H1}}{\text{1F1B}} = \frac{F +
# I - W}{F + I + W}.$$
#
# This holds as long as W isn't longer than F or I, which is usual, since the products inside
# attention ($QK^\top$ and the one with $V$) have no weights and so no W. Then a third is left only
# where F = I = W. The shorter W is, the less there is to fill gaps with: with W half as long as the
# others it's already three fifths. (And a third of the idle *seconds* isn't a third of the
# *bubble*: the step has become shorter too, so its idle share fell from 27 % to 11 %.)
#
# With F = 2 s, I = 2 s and W = 1 s, on four ranks with eight micro-batches, the work takes 40 s and
# $(4-1)(2+2-1) = 9$ s are idle, so a step of ZB-H1 takes 49 s; 1F1B takes 55.
#
# And the memory? A micro-batch has to be kept until its W. Rank 0 of 1F1B keeps four of them and
# the last rank keeps one; in ZB-H1 all keep four, which is no more than the worst rank had before.
#
# It's tempting to think that after I there's little left to keep. Look at the formulas again: W
# needs $x$, the input of each linear layer, *and* $\delta$, the gradient at its output, which I has
# to leave behind. For a token in a layer of our LLaMA, $d$ wide and $f$ wide inside SwiGLU, with
# fused attention, count as in lesson 06:
#
# | kept after | | numbers |
# |---|---|---|
# | F | inputs of the products, queries, keys, values, gate, up, inputs of the norms | $8d + 3f$ |
# | I | inputs of the products: for Q, K, V together, O, gate and up together, down | $3d + f$ |
# | | gradients at the outputs: of Q, K, V, O and down, and of gate and up | $5d + 2f$ |
#
# What I frees is what lies *between* the linear layers: the inside of attention, of the norms and
# of the activation function. What it adds is a gradient for each layer. Here the two cancel, if K
# and V are as wide as Q, so postponing W really costs memory. When a paper counts a micro-batch as
# "in flight" only until I, ask where it counts what W still needs.
#
# ## Why pay twice the memory?
#
# ZB-H1 is still idle at the beginning, while the first micro-batch is on its way. **ZB-H2** fills
# that time with more forwards, so it keeps up to $2p - 1 = 7$ micro-batches where ZB-H1 keeps 4.
# But look at the time of one step:

# %%
both = [simulate(build(4, 8)) for build in (zb_h1, zb_h2)]

# %% jupyter={"source_hidden": true}
for done in both:
    print(f"{done.schedule.name}: {done.step_time:g} s, "
          f"keeps {in_flight(done.schedule, until='weights')}")  # fmt: skip

# %% jupyter={"source_hidden": true}
predict(
    "beyond_1f1b-6",
    "The same 27 s, for nearly twice the memory. What does ZB-H2 buy?",
    "nothing, as long as the four ranks are equally fast",
    "the next step can begin earlier",
    "it sends fewer messages",
)

# %%
two = {build(4, 8).name: simulate(waves(build(4, 8), 2)).trace for build in (zb_h1, zb_h2)}

# %% jupyter={"source_hidden": true}
title = "Two consecutive steps, the second one pale: a parallelogram leaves no gap"
show(lanes(two, title, pale=lambda event: event.info.get("micro_batch", 0) >= 8))
reveal("beyond_1f1b-6")

# %% [markdown]
# A step of ZB-H2 is a parallelogram. Each rank starts a little later than the previous one and ends
# a little later, by the same amount, so its idle time is all at the ends. Put a second step behind
# the first one, and it fits without a gap. ZB-H1 ends at the same moment on all ranks, so its steps
# can't slide into each other: each of them pays for its warm-up again.
#
# That is what "zero bubble" means. The paper counts from a rank's first action to its last, its
# **span**, and a rank of ZB-H2 is never idle within that. In a long training run, one more step
# costs one more of the longest span:

# %%
named = [build(4, 8) for build in (one_f_one_b, zb_h1, zb_h2)]
further = [simulate(waves(plan, 2)).step_time - simulate(plan).step_time for plan in named]

# %%
print("idle:  of one step   of the span   seconds for each further step")
for plan, seconds in zip(named, further, strict=True):
    one = simulate(plan)
    print(f"{plan.name:6} {one.bubble():11.1%} {one.bubble('span'):13.1%} {seconds:12g}")

# %% [markdown]
# There's a second gain: **room to run ahead buys tolerance of latency.** Here is a step with
# messages of half a second:

# %%
held_up = [simulate(plan, Costs(latency=0.5)).step_time for plan in named]

# %%
for plan, seconds in zip(named, held_up, strict=True):
    free = simulate(plan).step_time
    print(f"{plan.name:5}: {free:g} s, with slow messages {seconds:g} s")

# %% [markdown]
# ## The fine print
#
# Look at the picture of two steps once more. Rank 0 begins its next step, with updated weights,
# while rank 3 is still computing gradients of the last one. Now think of how you train a language
# model: before the update, the gradient is *clipped* by its norm over the **whole** model, and with
# float16 and its loss scaling you also look for infinities everywhere. (bfloat16, today's choice,
# needs no loss scaling.)

# %% jupyter={"source_hidden": true}
predict(
    "beyond_1f1b-7",
    "The norm of the whole gradient must be known before any rank may update. How long do two "
    "steps of ZB-H2 take then? (Without clipping: 51 s; two steps of ZB-H1: 54 s.)",
    "51 s: an all-reduce of a single number costs nothing",
    "54 s",
    "66 s, as with 1F1B",
)

# %%
alone_step = simulate(zb_h2(4, 8)).step_time

# %% jupyter={"source_hidden": true}
print(f"no rank begins its second step before all have ended the first: {2 * alone_step:g} s")
reveal("beyond_1f1b-7")

# %% [markdown]
# The price isn't the message itself but *when* it can be sent: after the last gradient of the last
# rank. All ranks wait for that, the slanted end of the parallelogram becomes a straight edge, and
# the gain is gone.
#
# So the paper does without (section 4). Each rank updates on what it knows at that moment, which is
# the norm of its own stage and of the stages before it. The norm of the whole model comes back up
# the pipeline during the warm-up of the next step. If it shows that an update should have been
# clipped or skipped, the rank *rolls it back* and does it again. This is called post-update
# validation, and it's cheap as long as clipping is rare, as it is late in training.
#
# The second line of fine print: these orders are made for F = I = W and free messages, and other
# times bring the bubble back. With W half as long as F and I, ZB-H2 is idle for 13 % of its span,
# $(p-1)(F+I-2W) = 3$ of 23 s. Real times are never equal. So a program can **search**: simulate
# many orders for the times, messages and memory at hand, and keep the best (`search(4, 8, costs)`
# of `helpers.search`).
#
# ## The same in half the memory: a V
#
# Can a step be a parallelogram without twice the memory? The loop of the interleaved schedule has a
# weakness: a micro-batch ends on the last rank and has to travel all the way back, so rank 0 keeps
# it longest: at its peak it holds eleven chunks, the last rank five. Fold the pipeline instead. In
# **ZB-V** rank 0 holds the first stage *and* the last one, so a micro-batch comes home for its
# loss, and its first backward starts at once on the rank that the loop pressed hardest.
#
# | | rank 0 | rank 1 | rank 2 | rank 3 |
# |---|---|---|---|---|
# | a loop | 0, 4 | 1, 5 | 2, 6 | 3, 7 |
# | a V | 0, 7 | 1, 6 | 2, 5 | 3, 4 |

# %% jupyter={"source_hidden": true}
show(simulate(zb_v(4, 8), half).trace)

# %% [markdown]
# Every rank keeps the same, $2p$ chunks, which is $p$ stages' worth: as much as rank 0 of 1F1B, the
# fullest there.
#
# The V has descendants. V-Half and V-Min take the same fold and give up the zero, though not 1F1B's
# speed: their bubbles are about a half and two thirds of 1F1B's, in about a half and a third of its
# memory ([2405.15362](https://arxiv.org/abs/2405.15362)).
#
# **DualPipeV**, cut from the DualPipe of DeepSeek-V3
# ([2412.19437](https://arxiv.org/abs/2412.19437)), is a V as well. It runs a forward and the
# backward of another micro-batch as one action, so that the messages inside one of them, such as
# those to the experts of lesson 16, can hide behind the computing of the other. [Lesson
# 18](18_hiding_messages.ipynb) builds such a pair.
#
# ## What each way costs
#
# Here are the schedules of this lesson, with F = I = W and free messages again. The horizontal axis
# is what a rank keeps, counting each micro-batch until its W. The vertical axis is the share of a
# long training run in which it's idle, with steps allowed to slide into each other.

# %%
plans = {one_f_one_b(4, 8): 1, interleaved(4, 8): 2, interleaved(4, 8, chunks=4): 4}
plans |= {zb_h1(4, 8): 1, zb_h2(4, 8): 1, zb_v(4, 8): 2}
found = {}
for plan, v in plans.items():
    costs = Costs(1 / v, 1 / v, 1 / v)
    one, two = simulate(plan, costs), simulate(waves(plan, 2), costs)
    idle = 100 * (1 - 24 / (two.step_time - one.step_time))  # 24 s of work in each further step
    found[plan.name] = {max(in_flight(plan, until="weights")) / v: idle}

# %% jupyter={"source_hidden": true}
title = "Memory against idle time: the V needs no more than 1F1B and doesn't idle"
keeps, idles = "activations that a rank keeps (stages)", "idle in a long training run (%)"
show(curves(found, title, x=keeps, y=idles))

# %% [markdown]
# Some of these points have a price that the picture doesn't show. The loops send more than $v$
# times as many messages. ZB-H2 and ZB-V reach zero only if no rank waits for the norm of the whole
# model before it updates.
#
# — *With ninety minutes, stop here.* —
#
# ## Real ranks
#
# All of these are orders of the same work, so the gradients must be those of one device, whether
# the backward is split or not. You know how to make sure: SGD, real ranks, and every weight
# compared with one device. In "interleaved", three processes hold two chunks each, in the order
# that *you* have written.


# %%
def train_rank(flags):
    """On a rank: the same by the script of this lesson."""
    options = intro_PP_schedule.read_flags(flags)
    return intro_PP_schedule.train(options, find_place(), "cpu", lambda step, loss: None)


flags = ["--optimizer", "sgd", "--lr", "0.3", "--batch-size", "6", "--seq-l", "32"]
flags += ["--steps", quick("10", "2")]
_, alone, _ = intro.train(intro.read_flags(flags), lambda step, loss: None)


# %%
def compare_with_one_device(schedule):
    more = [*flags, "--micro-batches", "6", "--schedule", schedule]
    ranks = launch(train_rank, 3, (more,), quiet=True, checked=False)
    weights = whole_weights(stage for _, stages, _ in ranks for stage in stages.values())
    whole = alone.state_dict()
    assert weights.keys() == whole.keys()
    far = max((weights[name] - whole[name]).abs().max().item() for name in whole)
    print(f"{schedule}: largest difference in a weight: {far:.1e}")
    assert far < 1e-4


for schedule in quick(("interleaved", "ZB-H1", "ZB-H2", "ZB-V"), ("ZB-V",)):
    compare_with_one_device(schedule)

# %% [markdown]
# Then the times, predicted and measured. As in lesson 06, the stages sleep instead of computing.
# The line below each time is what the ranks really kept: as many as their plan says, counted in
# chunks for ZB-V and in micro-batches for ZB-H2.

# %% tags=["time"]
cases = ((zb_v(4, 8), 2), (zb_h2(4, 8), 1))


def a_paced_step(plan, v):
    pace, done = Pace(*[quick(0.04, 0.006) / v] * 3), []

    def measured():
        done.append(run_paced(plan, pace))
        return done[-1].step_time

    predicted = simulate(plan, pace.costs()).step_time
    claim(f"a step of {plan.name}", measured, predicted, unit=" s")
    print(f"the ranks kept {list(done[-1].most_kept)}")
    assert list(done[-1].most_kept) == in_flight(plan, until="weights")


for plan, v in quick(cases, cases[:1]):
    a_paced_step(plan, v)

# %% [markdown]
# Where a measured step takes longer than predicted, real messages took time, processes woke up
# late, or something else ran on this machine. The shorter the actions, the more this matters.
#
# ### Your turn: PP-5 · 60 minutes · 30 points
#
# Write `within_memory()` in `PP/schedules/orders.py`: a schedule of your own, as fast as you can
# make it, for ranks that may keep only so many micro-batches. F, I and W take one second each.
# There's no single right answer: it's scored against the best that a computer's search finds.

# %%
check("PP-5")

# %% [markdown]
# There's a limit that no rule can beat. A micro-batch stays on rank 0 until its W is done. With 16
# ranks it goes down and back up, a second each, and then takes its W: 33 s, in which a rank 0 that
# never waits works on 11 micro-batches. So it must hold 11 on average, at least.
#
# Your order trains like any other:

# %%
compare_with_one_device("mine")

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - With $v$ chunks per rank, in a loop, the idle time at the ends is divided by $v$. The price is
#   more than $v$ times as many messages. The usual order also keeps $(p-1)/v$ more stages' worth of
#   activations, which lets it bear more latency.
# - Backward has two halves. Other ranks wait for I only, so W can fill idle time. W needs the
#   inputs of the linear layers *and* the gradients at their outputs.
# - ZB-H1 leaves $(F+I-W)/(F+I+W)$ of 1F1B's idle seconds, a third where all are equal, and no rank
#   needs more memory than 1F1B's first one. ZB-H2 pays nearly twice that memory, so that one step
#   slides into the next and slow messages hurt less. ZB-V slides as well, without the extra memory,
#   with two chunks in a V.
# - Steps slide into each other only if no rank has to hear from all the others before it updates.
#   Clipping by the global norm breaks it, unless the update is validated afterwards.
#
# ## In the wild
#
# - Llama 3 405B was trained with an interleaved schedule on 16 pipeline ranks, with the first and
#   the last stage one layer shorter to make up for the embedding and the head
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2). The paper writes its bubble as
#   $(p-1)/(v\,m)$: which denominator is that?
# - For a GPT of 175 billion parameters on 8 pipeline ranks with 64 micro-batches and $v = 3$
#   ([2205.05198](https://arxiv.org/abs/2205.05198)), the bubble is 7/199, or 3.5 %, where 1F1B
#   would have 7/71, or 10 %.
# - The zero-bubble paper reports up to 23 % more tokens per second than 1F1B in about the same
#   memory, and up to 31 % where memory isn't the limit
#   ([2401.10241](https://arxiv.org/abs/2401.10241), abstract).
#
# Code to read: `_get_1f1b_rank_ops` in `torch/distributed/pipelining/schedules.py` of
# [PyTorch](https://github.com/pytorch/pytorch) builds the order of one rank, for interleaved 1F1B
# and, with `enable_zero_bubble`, for its zero-bubble relative. Compare the first with your PP-4,
# and find the line that decides when a W is due.
#
# ## Where next
#
# You can now keep a pipeline busy. [Lesson 08](08_dp_x_pp.ipynb) puts several of them side by side,
# and asks who has to talk to whom.
