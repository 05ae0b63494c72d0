# %% [markdown]
# # Micro-batches: GPipe and 1F1B
#
# *Reading 50 minutes, tasks 75*
#
# *With twenty minutes: read up to the picture of GPipe next to 1F1B, and predict on the way.*
#
# The naive pipeline of lesson 05 lets a model grow beyond one device, but it's a terrible deal:
# with four stages, every device sits idle for three quarters of the time, and each device you add
# makes it worse. No one pays for a thousand GPUs to keep one of them busy.
#
# The cure is as old as the assembly line. A batch holds many sequences, so there's no need to push
# it through the stages in one piece. Cut it into **micro-batches**, and stage 0 can start on the
# second while stage 1 works on the first. Every large pipeline of today rests on this idea; they
# differ mostly in the order of the work.
#
# **Question.** Into how many pieces should we cut the batch, and in which order should each device
# work on them?

# %%
import sys

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.draw import curves, lanes
from helpers.lesson import answer, claim, predict, reveal, show, show_code
from helpers.pipeline import Pace, run_paced
from helpers.ranks import find_place, launch
from helpers.schedules import gpipe, in_flight, messages, naive, one_f_one_b, parse
from helpers.simulate import Costs, simulate
from simplellm.losses import causalLLMLoss
from simplellm.slicing import whole_weights

# %%
sys.path[:0] = ["../primer", "../PP/microbatches", "../PP/1F1B"]
import intro
import intro_PP_1F1B
import intro_PP_microbatches

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## Does cutting the batch change the gradient?
#
# It had better not. It's the **gradient accumulation** of lesson 01: micro-batch $k$ with $t_k$ of
# the $t$ tokens counts $t_k / t$, which is $1/m$ if all $m$ pieces hold the same number of tokens,
# and `backward()` adds to the gradients that are already there. Two mistakes are easy to make. You
# can forget the division, and you can use $1/m$ where the pieces hold different numbers of tokens:

# %%
options = intro.read_flags(["--batch-size", "4"])
tokenizer = intro.make_tokenizer(options)
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
ids = next(intro.stories_of_ranks(options, tokenizer, ranks=1))


# %%
def gradient(parts, weights):
    net.zero_grad()
    for part, weight in zip(parts, weights, strict=True):
        (weight * causalLLMLoss(net(part), part, tokenizer.vocab_size)).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


# %%
whole = gradient([ids], [1])
one_and_three = [ids[:1], ids[1:]]  # one sequence, and three
for name, parts, weights in (
    ("four equal parts, weight 1/4", ids.chunk(4), [1 / 4] * 4),
    ("four equal parts, not divided", ids.chunk(4), [1] * 4),
    ("1 and 3 sequences, weight 1/2", one_and_three, [1 / 2] * 2),
    ("1 and 3 sequences, by tokens", one_and_three, [1 / 4, 3 / 4]),
):
    away = ((gradient(parts, weights) - whole).norm() / whole.norm()).item()
    print(f"{name}: off by {away:.1e} of the gradient")

# %% [markdown]
# With SGD the first mistake shows at once, because every step is four times too long (Adam hides
# it, as in lesson 03). The second is more dangerous: the loss still falls under any optimizer, and
# nothing looks broken. It's the mistake that several trainers shared until 2024 (lesson 01). From
# here on all micro-batches hold the same number of tokens, so $1/m$ is right.
#
# ## Forward first
#
# A **schedule** says which rank computes what, and in which order. In this lab it's plain data: a
# list of actions for each rank. `F2` is the forward of micro-batch 2 and `B2` its backward. The
# simplest schedule with micro-batches runs all forwards and then all backwards. It's called
# **GPipe**, after the paper that popularized it ([1811.06965](https://arxiv.org/abs/1811.06965)).
# (The paper's figure runs the backwards last micro-batch first; with equal micro-batches that takes
# as long.)

# %%
print(gpipe(4, 3))

# %% jupyter={"source_hidden": true}
predict(
    "micro_batches-1",
    "GPipe with four stages and eight micro-batches. Backward takes twice as long as forward, and "
    "messages cost nothing. What share of the time is a rank idle?",
    "3/4, as in the naive pipeline",
    "3/11",
    "1/8",
)

# %%
plan = simulate(gpipe(4, 8))

# %% jupyter={"source_hidden": true}
show(plan.trace)
print(f"idle for {plan.bubble():.4f} of the time")
reveal("micro_batches-1")

# %% [markdown]
# Let's derive that. With $p$ stages and $m$ micro-batches, let one micro-batch take $t_F$ seconds
# forward and $t_B$ backward on each stage. Every rank has the same work to do, $m\,(t_F + t_B)$.
# But the last rank can't start before $p - 1$ forwards have gone by, and when it's done, $p - 1$
# more backwards ripple up to rank 0. So
#
# $$T = (m + p - 1)\,(t_F + t_B), \qquad
# \frac{\text{idle}}{\text{total}} = \frac{p - 1}{m + p - 1}.$$
#
# The idle share is called the **bubble**. Notice that the times have canceled: it doesn't matter
# how much slower backward is. The picture shows where the idle time sits: at the start, while the
# pipeline fills; in the middle, while the last forwards drain and the first backward travels up;
# and at the end, while it empties.
#
# A warning for when you read papers: those of Megatron-LM divide the idle time by the *ideal* time
# $m\,(t_F + t_B)$ instead of the total, which makes the bubble $(p-1)/m$. When two sources disagree
# about a bubble, check the denominator first. The simulator knows both, and the last line of the
# cell holds it to the two formulas:

# %%
for p, m in ((4, 8), (4, 32), (16, 32)):
    done = simulate(gpipe(p, m))
    total, ideal = done.bubble(), done.bubble("ideal")
    print(f"p={p:2}, m={m:2}: {total:.3f} of the total, {ideal:.3f} of the ideal time")
    assert abs(total - (p - 1) / (m + p - 1)) < 1e-9 and abs(ideal - (p - 1) / m) < 1e-9

# %% [markdown]
# More micro-batches shrink the bubble, and more stages make it grow:

# %%
many = [1, 2, 4, 8, 16, 32]
bubbles = {f"{p} stages": {m: simulate(gpipe(p, m)).bubble() for m in many} for p in (2, 4, 8)}

# %% jupyter={"source_hidden": true}
title = "The bubble shrinks with the micro-batches and grows with the stages"
show(curves(bubbles, title, x="micro-batches", y="bubble, as a share of the total", log="x"))

# %% [markdown]
# **Take eight stages. How many micro-batches does a batch need at least, so that the bubble is at
# most one tenth of the total time?** (Replace `None` with your number.)

# %%
mine = None
answer("micro_batches-2", mine)

# %% [markdown]
# How does that compare with the naive pipeline? To make it a fair comparison, let both do the same
# work: the same eight micro-batches' worth of sequences, on the same four stages.

# %%
slow, fast = simulate(naive(4, 8)), simulate(gpipe(4, 8))
for done in (slow, fast):
    name, time, idle = done.schedule.name, done.step_time, done.bubble()
    print(f"{name:5}: {time:.0f} s a step, idle for {idle:.0%} of it")
print(f"GPipe is {slow.step_time / fast.step_time:.2f} times as fast, and four would be perfect")

# %% [markdown]
# ### Your turn: PP-2 · 30 minutes · 15 points
#
# Write `forward_backward()` in `PP/microbatches/intro_PP_microbatches.py`: GPipe for the model of
# this lab. You've already written everything that one micro-batch needs, in the naive pipeline of
# lesson 05. Turn it into two small functions, one that takes micro-batch `k` forward and one that
# takes it backward, and call them in the order of GPipe. Two things are new: what a rank has to
# remember between the two, and how the micro-batch losses add up to the mean over the batch.

# %%
check("PP-2")

# %% [markdown]
# ## Train with it
#
# Now let your GPipe train: three real processes, each with a third of the LLaMA, and a batch of
# twelve sequences in four micro-batches. One device trains on the same batches for comparison. Both
# use plain SGD, because Adam would hide a wrong factor, as we saw in lesson 03.


# %%
def train_rank(script, flags):
    """On a rank: train as the script does that is started with these flags."""
    return script.train(script.read_flags(flags), find_place(), "cpu", lambda step, loss: None)


common = ["--batch-size", "12", "--optimizer", "sgd", "--lr", "0.3"]
common += ["--steps", quick("12", "2")]
alone, whole_model, _ = intro.train(intro.read_flags(common), lambda step, loss: None)
in_pieces = [*common, "--micro-batches", "4"]


# %%
def compare_with_one_device(ranks):
    weights = whole_weights(stage for _, stage, _ in ranks)
    whole = whole_model.state_dict()
    far = {name: (weights[name] - whole[name]).abs().max().item() for name in weights}
    print(f"last loss: one device {alone[-1]:.5f}, pipeline {ranks[-1][0][-1]:.5f}")
    print(f"{len(far)} of {len(whole)} weight tensors compared")
    worst = max(far.values())
    print(f"largest distance of a weight after {len(alone)} steps: {worst:.1e}")
    assert worst < 1e-4


# %%
by_gpipe = launch(train_rank, 3, (intro_PP_microbatches, in_pieces), quiet=True)
compare_with_one_device(by_gpipe)

# %% [markdown]
# That's small enough for rounding, since the micro-batches' gradients are added in another order
# than one device adds them: your pipeline of three processes learns what one device learns.
#
# ## The bill arrives
#
# So why not cut the batch into a thousand pieces and forget about the bubble? One reason is that
# small pieces make small matrix products, which a GPU computes less efficiently, and many messages,
# each with its latency. The other is memory. A backward needs what its forward computed, so a rank
# has to keep the activations of a micro-batch from its forward to its backward. Look at rank 0 in
# the picture of GPipe: when it starts its first backward, it holds all eight.
#
# How much memory is that? Take a stage of eight layers of Llama 3 405B, and micro-batches of one
# sequence of 8,192 tokens. Backward needs the inputs of all matrix products, the queries, keys and
# values, SwiGLU's gate and up, and what goes into the norms, in 2 bytes each. (Fused kernels
# compute the scores and the SiLU again. Lesson 09 counts them one by one.)

# %%
width, inside, keys = 16_384, 53_248, 1_024  # keys: 8 heads of 128, and values the same
numbers = 6 * width + 2 * keys + 3 * inside  # of a token in a layer
one = 8 * 8192 * 2 * numbers  # eight layers, 8,192 tokens, 2 bytes
weights = 8 * 2 * 3.19e9  # 2 bytes for each parameter of eight layers
print(f"one micro-batch {one / 1e9:.0f} GB, the weights {weights / 1e9:.0f} GB")

# %% [markdown]
# So two micro-batches take more memory than the weights, and twelve take as much as the whole
# training state of the stage (408 GB at 16 bytes per parameter). Now suppose your devices have room
# for only *four* micro-batches, not eight. You may reorder the work of each rank as you like, but
# every F and every B has to be done.

# %% jupyter={"source_hidden": true}
predict(
    "micro_batches-3",
    "Four stages, eight micro-batches, and no rank may keep more than four of them. What's the "
    "shortest step now? (With room for eight it was 33 s.)",
    "33 s: as before",
    "more than 40 s: the pipeline has to empty once in the middle",
    "54 s: rank 0 has to pause after every micro-batch",
)

# %% [markdown]
# Try it on paper before you look: four rows, and 33 little squares in each.

# %%
costs = Costs(activation_bytes=one)  # a micro-batch of the stage above
pair = {each.name: simulate(each, costs).trace for each in (gpipe(4, 8), one_f_one_b(4, 8))}

# %% jupyter={"source_hidden": true}
show(lanes(pair, "Same work, same 33 s, and half the activations or less"))
reveal("micro_batches-3")

# %% [markdown]
# The lower order is **1F1B**: one forward, one backward. The trick is to run a backward as soon as
# one is ready, because a backward *frees* memory and a forward takes it. So its picture has three
# phases, and we'll use their names from here on: the **warm-up**, in which the pipeline fills; the
# **steady state**, in which each rank alternates and its memory, the gray strip below it, stops
# growing; and the **cool-down**, in which the last backwards drain.
#
# How high does it get? From the start of its forward on rank $r$ to the end of its backward there,
# a micro-batch passes $p - r$ ranks forward and the same ranks backward, which takes at least
# $(p-r)(t_F+t_B)$. In the steady state one micro-batch leaves every $t_F + t_B$. So $p - r$ of them
# have to be under way: with fewer the rank would starve, and more would only wait. That's why rank
# $r$ begins with $p - 1 - r$ forwards (the warm-up) and one more, and then lets one micro-batch in
# as one leaves:
#
# $$\text{kept on rank } r:\qquad \text{GPipe } m, \qquad \text{1F1B } \min(m,\; p - r).$$
#
# (Slow messages lengthen the round trip, and then a rank would need more than $p - r$.)
#
# So with $m \ge p$ the memory of 1F1B no longer depends on the number of micro-batches. That's the
# whole point: now you *can* make $m$ as large as the batch allows, and drive the bubble down. For a
# given $m$ the bubble is the same as GPipe's, because the chain that decides it (down the stages
# with the first micro-batch, back up with the last one) hasn't changed.

# %%
for m in (8, 32):
    for schedule in (gpipe(4, m), one_f_one_b(4, m)):
        done = simulate(schedule)
        print(f"m={m:2} {schedule.name:5} {done.step_time:4.0f} s, keeps {in_flight(schedule)}")

# %% [markdown]
# With 8 stages and 32 micro-batches, rank 2 keeps at most 6.
#
# And in bytes: Llama 3 405B ran on 16 stages. **How many GB does rank 0 keep in 1F1B at most, if it
# has the stage of eight layers from above and at least 16 micro-batches?**

# %%
mine = None
answer("micro_batches-5", mine)

# %% [markdown]
# Spread evenly over the eight GPUs of a stage (lesson 14 shows what that takes), that's still 68 of
# their 80 GB. The first rank is the one that runs out of memory first, which is one reason why it
# got a layer less.
#
# (Llama itself couldn't make $m$ large. On 16,384 GPUs each pipeline had 16 sequences a step
# ([2407.21783](https://arxiv.org/abs/2407.21783), table 4), so GPipe would have kept 16 as well,
# and the bubble of plain 1F1B would have been 15/31, or 48 %. It ran the chunks of lesson 07.)
#
# Two remarks on history, because you'll meet the names everywhere.
#
# - GPipe's authors knew about the memory, and paid for it in time. They keep only the *input* of a
#   stage for each micro-batch and compute its forward a second time just before its backward. This
#   is **recomputation** (or activation checkpointing), and it costs one more forward, or a third
#   more FLOPs. Lesson 09 counts it; it can be combined with any order, 1F1B as well.
# - One forward, one backward comes from **PipeDream**
#   ([1806.03377](https://arxiv.org/abs/1806.03377)), which never emptied the pipeline at all:
#   there, every mini-batch updates the weights right after its backward, so those in flight use
#   different versions, and rank $r$ has to keep up to $p-r$ of them. What people call 1F1B today is
#   **PipeDream-Flush** ([2006.09503](https://arxiv.org/abs/2006.09503)), the same order with a
#   cool-down before each update, or DAPPLE ([2007.01045](https://arxiv.org/abs/2007.01045)), which
#   arrived at it independently. With it, the gradients are again exactly those of one device.
#
# — *With ninety minutes, stop here.* —
#
# ## What happens to the messages?
#
# GPipe's messages are orderly: first everything flows down, then everything flows up, so
# `dist.send` and `dist.recv` were all we needed. In 1F1B a rank sends an activation to the next
# rank while that rank has a gradient to send back. With blocking sends, that deadlocks. Let's send
# the messages of both orders, and compute nothing:


# %%
def only_messages(schedule):
    """Compute nothing: send and receive what this rank would, in the order of the schedule."""
    x = torch.zeros(4)
    for message in messages(schedule)[dist.get_rank()]:
        if message.kind == "send":
            dist.send(x, message.peer)
        else:
            dist.recv(x, message.peer)


# %% jupyter={"source_hidden": true}
for build in (gpipe, one_f_one_b):
    job = launch(only_messages, 3, (build(3, 4),), timeout=10, on_error="report", quiet=True)
    print(f"{build(3, 4).name}: {'all messages arrived' if job.ok else 'stopped'}")
show(job)

# %% [markdown]
# It's the swap of lesson 02. The order of the *work* is fine; the blocking sends are the mistake.
#
# The cure is in the report: start the send with `dist.isend`, which returns at once, and keep the
# tensor until the message has left. Megatron-LM solves the same problem with a fused call,
# `send_forward_recv_backward`, that starts the send and the receive together.
#
# Here is how the order differs from GPipe's:

# %%
for schedule in (gpipe(4, 8), one_f_one_b(4, 8)):
    print(f"{schedule.name}\n{schedule}\n")

# %% [markdown]
# ### Your turn: PP-3 · 45 minutes · 25 points
#
# Write `forward_backward()` in `PP/1F1B/intro_PP_1F1B.py`. Start from a copy of your GPipe: what a
# rank does with one micro-batch stays as it is. Three things change: the order, the sends, and how
# long you hold on to what you've sent.

# %%
check("PP-3")

# %% [markdown]
# The same training as before, now in your order:

# %%
by_1f1b = launch(train_rank, 3, (intro_PP_1F1B, in_pieces), quiet=True)
compare_with_one_device(by_1f1b)

# %% [markdown]
# As a plan, 1F1B is a few lines. On rank $r$ of $p$, `ahead` is $p - 1 - r$:

# %% jupyter={"source_hidden": true}
show_code("helpers/schedules/builders.py", "_in_turn")

# %% [markdown]
# ## Predicted, then measured
#
# So far the seconds came from a simulator. Does a real pipeline agree? Four ranks can't compute at
# the same time on a laptop with two cores, so a trace of them would show your machine rather than
# the schedule. But they can all *sleep* at the same time. `run_paced` starts a real process for
# each rank and runs one step; instead of computing, each stage sleeps for as long as the
# computation should take. The processes, the messages and the waiting are real.
#
# A forward takes 30 ms on each of four stages, a backward 60 ms, and the batch has eight
# micro-batches. You have the formula for two of the plans, and the naive one takes
# $p\,m\,(t_F+t_B)$: work out all three before you look.

# %% tags=["time"]
pace = Pace(*[quick(0.03, 0.005)] * 3)  # seconds of forward, and of each half of backward


def a_paced_step(schedule):
    predicted, done = simulate(schedule, pace.costs()), []

    def step_time():
        done.append(run_paced(schedule, pace))
        return done[-1].step_time

    claim(f"a step of {schedule.name}", step_time, predicted.step_time, unit=" s")
    print(f"the ranks kept {list(done[-1].most_kept)}")
    assert list(done[-1].most_kept) == in_flight(schedule, until="weights")
    return predicted, done[-1]


for schedule in quick((naive(4, 8), gpipe(4, 8), one_f_one_b(4, 8)), (one_f_one_b(4, 8),)):
    predicted, measured = a_paced_step(schedule)

# %% tags=["time"] jupyter={"source_hidden": true}
from helpers.timeline import timeline

show(timeline({"predicted": predicted.trace, "measured": measured.trace}))

# %% [markdown]
# Four processes ran each plan. All three steps took a few percent longer than simulated, because
# the simulator here knows nothing of messages or of a busy machine, and each rank kept what the
# plan says. So from here on we can use the simulator for the order of work on machines we don't
# have. (We've seen it for equal stages and cheap messages. You have to tell it what a message costs
# there: lesson 07 assumes a cost, lesson 08 takes that of a real network card.)
#
# ## Your plan here
#
# A schedule is data, and you can write it down yourself. Each line is a rank; change the order, and
# the lab tells you what your plan is worth. Here is 1F1B for three stages, to begin with:

# %%
text = """
rank 0: F0 F1 F2 B0 F3 B1 B2 B3
rank 1: F0 F1 B0 F2 B1 F3 B2 B3
rank 2: F0 B0 F1 B1 F2 B2 F3 B3
"""
done = simulate(parse(text))

# %% jupyter={"source_hidden": true}
print(f"{done.step_time:g} s, bubble {done.bubble():.0%}, keeps {in_flight(done.schedule)}")
show(done.trace)

# %% [markdown]
# What if rank 0 is too careful, and wants its first gradient back before it takes a second
# micro-batch? Every action needs its input to be there, and the check reports where it isn't:

# %%
careful = text.replace("F0 F1 F2 B0", "F0 B0 F1 F2")
try:
    simulate(parse(careful))
except ValueError as problem:
    print(problem)

# %% [markdown]
# Now a small puzzle. Rank 0 has memory for only two micro-batches. Change its line, leave the
# others as they are, and find the order that works: if forwards and backwards each go in the order
# of the micro-batches, there's only one. Forward takes 1 s, backward 2 s: how many seconds does a
# step take now?

# %%
mine = None
answer("micro_batches-6", mine)

# %% [markdown]
# It's more fun by hand: in the next cell the lanes are empty, and you place every action yourself.
# An illegal move is refused by the same rule as above, and you see what it waits for. GPipe doesn't
# fit into the memory of this level. The 1F1B above has four micro-batches, and here there are six:
# can you lay it out without looking? (Here a backward takes 1 s, like a forward. Without a kernel
# you see a half-finished plan.)

# %% jupyter={"source_hidden": true}
from helpers.play import play

game = play("cap")
show(game)

# %% [markdown]
# Once your plan is complete, run the next cell: three real processes run it, with sleep in the
# place of a model, at a twentieth of the times.

# %% tags=["time"]
plan = game.schedule or one_f_one_b(3, 6)
seconds = run_paced(plan, Pace(0.05, 0.025, 0.025)).step_time
print(f"{plan.name}: {seconds:.2f} s, 20 times that is {20 * seconds:.1f} s, and par is 16 s")

# %% [markdown]
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Cut the batch into micro-batches, and the stages work at the same time. Weight each micro-batch
#   by its tokens, and the gradient is that of the whole batch.
# - The bubble of GPipe and of 1F1B is $(p-1)/(m+p-1)$ of the total time, or $(p-1)/m$ of the ideal
#   time. More micro-batches, smaller bubble.
# - GPipe keeps the activations of all $m$ micro-batches; 1F1B keeps at most $p - r$ on rank $r$, in
#   the same time. Recomputation is the other way to save memory, and it costs time.
# - In 1F1B messages cross, so blocking sends deadlock. Start them with `isend`, and hold the tensor
#   until it has left.
#
# ## In the wild
#
# - GPipe's authors found the bubble negligible if $m \ge 4p$
#   ([1811.06965](https://arxiv.org/abs/1811.06965), section 2.3). By our formula that's still 16 %
#   of the time with four stages, and almost a fifth with many; they note that recomputation can
#   begin before the gradient arrives, which hides a part of it.
# - BLOOM, 176 billion parameters, ran on 384 A100s as 8 pipelines of 12 stages, each stage split
#   over 4 GPUs. The batch of 2,048 sequences is 256 for each pipeline, in 128 micro-batches of two:
#   a bubble of 11/139, or 8 %. It used recomputation too: look for `PP_SIZE`, `MICRO_BATCH_SIZE`
#   and `--checkpoint-activations` in `train/tr11-176B-ml/tr11-176B-ml.slurm` of
#   [bigscience](https://github.com/bigscience-workshop/bigscience).
# - Megatron-LM ran a model of 530 billion parameters on 2,520 A100s, 35 stages deep
#   ([2104.04473](https://arxiv.org/abs/2104.04473), table 1), with each stage split over 8 GPUs.
#   That leaves 9 pipelines for a batch of 2,520 sequences, so at most 280 micro-batches each, and a
#   bubble of 34/314, or 11 %, in plain 1F1B. (They made it smaller with the chunks of lesson 07.)
#
# Code to read: `forward_backward_pipelining_without_interleaving` in
# `megatron/core/pipeline_parallel/schedules.py` of
# [Megatron-LM](https://github.com/NVIDIA/Megatron-LM) is your `forward_backward`. Find the three
# phases in it; the variable that counts the first one is `num_warmup_microbatches`.
#
# ## Where next
#
# More micro-batches are one way to shrink the bubble, but a batch can't grow indefinitely. [Lesson
# 07](07_beyond_1f1b.ipynb) leaves the batch as it is and attacks the idle time elsewhere: in
# smaller pieces of the model, and inside the backward itself.
