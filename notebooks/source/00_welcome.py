# %% [markdown]
# # Welcome: what your machine can do
#
# *Reading 25 minutes, tasks 0*
#
# *With twenty minutes: read to "When one of them dies".*
#
# In 2024 Meta trained Llama 3.1 405B, and wrote down what it took
# ([2407.21783](https://arxiv.org/abs/2407.21783), sections 3.2 and 3.3; [model
# card](https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/MODEL_CARD.md)):
#
# | | |
# |---|---|
# | computation | $3.8 \times 10^{25}$ floating-point operations (FLOPs) |
# | GPUs | up to 16,384 H100s, working on one model |
# | GPU hours, summed over all GPUs | 30.84 million |
# | power of a GPU | 700 W, so 11.5 MW for the GPUs alone |
# | interruptions within 54 days | 466, of which 419 unexpected: one every three hours |
#
# Nobody builds a machine with 16,384 GPUs for fun. One GPU isn't enough, and with the second one
# new questions begin. Which of them holds which part of the model, and which computes what? What do
# they tell each other, and how long do they wait for it? What if one of them dies? This course is
# about these questions, and you'll meet all of them on the machine in front of you.
#
# **Question.** Can this machine be three machines? Can three processes that share no memory train
# one model as if they were one?
#
# ## One machine against 16,384
#
# How far is this machine from 16,384 GPUs? A product of two $n \times n$ matrices takes $2n^3$
# FLOPs (each of the $n^2$ results is a sum of $n$ products), so timing some tells us how many FLOPs
# per second your processor manages. The lessons ask before they show: click on your guess. It's
# remembered but not graded, and a wrong guess teaches you more than a right one.

# %%
import os
import sys
import threading
import time
from itertools import islice

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from helpers.doctor import doctor
from helpers.draw import curves
from helpers.lesson import predict, reveal, show
from helpers.ranks import launch
from simplellm.losses import causalLLMLoss
from simplellm.options import prepare, stories_of_ranks

sys.path[:0] = ["../primer"]
import intro

# %% jupyter={"source_hidden": true}
predict(
    "welcome-1",
    "How long would this machine need for the computation behind Llama 3.1 405B, if it could hold "
    "the model at all?",
    "about 100 years",
    "about 5,000 years, as long as there has been writing",
    "more than 100,000 years",
)

# %% tags=["time"]
n = 1024
a, b = torch.randn(n, n), torch.randn(n, n)
a @ b  # once, to get ready
begun, products, seconds = time.perf_counter(), 0, 0.0
while seconds < quick(0.5, 0.05):
    a @ b
    products += 1
    seconds = time.perf_counter() - begun
rate = products * 2 * n**3 / seconds
years = float(f"{3.8e25 / rate / (365.25 * 24 * 3600):.2g}")
print(f"{rate / 1e9:,.0f} GFLOP/s, so {years:,.0f} years")
reveal("welcome-1", years=years)

# %% [markdown]
# An H100 is thousands of times faster than this processor, and one still isn't enough: 30.84
# million hours are 3,500 years of one H100. So the work has to be divided. For how many days must
# 16,384 GPUs share it, if none of them ever stops? (Work it out; the summary has the number.)
#
# ## One device, and three ways to use more
#
# Half of this course is in one picture. Each light box is a device, and the numbered bars in it are
# layers of one model.
#
# ![Four ways to place a model of six layers. One device holds them all. Three replicas hold all of
# them each, read a third of the batch each, and exchange gradients. A pipeline of three devices
# holds two layers on each: activations go right, gradients come back. A grid of two rows, each a
# pipeline of three stages, does both.](../imgs/layouts.svg)
#
# - **One device** has all layers and reads all the data. It's the reference: whatever we build
#   later must arrive at the same numbers.
# - **Replicas** each hold the whole model and read a part of the batch. In each step they average
#   their gradients, so all copies stay the same. This is *data parallelism*.
# - **A pipeline** cuts the model instead, for example because it's too large for one device.
#   Activations travel from stage to stage, and gradients travel back. This is *pipeline
#   parallelism*.
# - **A grid** does both: each row is a pipeline, and the rows are replicas. Real runs do this, and
#   many also shard what the replicas have in common (lesson 13) and split individual layers (lesson
#   14).
#
# Our devices are processes, and they are real ones. They share no memory; whatever one knows about
# another arrived in a message. If a lesson simulates something instead, it says so.
#
# The next cell looks at your machine, and prints the command that installs what is missing.

# %% tags=["time"]
doctor()

# %% [markdown]
# ## Three ranks
#
# A **rank** is one process among several that work together. Ranks are numbered from 0, and the
# **world size** is how many there are. On a cluster each rank would have its own GPU; here they
# share your processor.
#
# The line `%%ranks 3` runs a cell three times, in three new processes. Each of them knows its
# `rank` and the `world_size`.

# %%
# %load_ext helpers.ranks

# %% tags=["time"]
# %%ranks 3
print(f"Hello from rank {rank} of {world_size}, process {os.getpid() % 1000:03}")

# %% [markdown]
# The lines come in any order, because the three processes run at the same time and none waits for
# another. Run the cell again: the order may change, and the process numbers (of which we print the
# last three digits) will.
#
# ## One model, on one rank and on three
#
# Three processes that say hello are not yet one machine that trains a model. So let them train one:
# a small LLaMA that reads children's stories. Each step has a batch of six sequences. One rank
# takes all six; of three ranks, each takes two, computes the gradient of its two, and then all
# three average their gradients. PyTorch's `DistributedDataParallel` does the averaging here, and in
# lesson 03 you write it yourself. The function below runs unchanged on any number of ranks.
# (`launch` is `%%ranks` for a function: it returns a list of what the ranks return.)

# %%
options = intro.read_flags(["--size", "story", "--batch-size", "6"])


def train(steps, uneven=False):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    tokenizer, net = prepare(options, "cpu")  # the same seed; DDP sends rank 0's, too
    net, losses = DistributedDataParallel(net), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    for batch in islice(stories_of_ranks(options, tokenizer, 3), steps):
        mine = batch[rank::ranks]  # every third sequence, if there are three ranks
        if uneven:
            mine = batch.split((3, 2, 1))[rank]
        loss = causalLLMLoss(net(mine), mine, tokenizer.vocab_size)
        optimizer.zero_grad()
        loss.backward()  # meanwhile, the ranks average their gradients
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% jupyter={"source_hidden": true}
predict(
    "welcome-3",
    "We draw the loss of every step twice: as one rank sees it, and as the mean of what three "
    "ranks see. What will the two curves look like?",
    "three ranks fall faster, because each step has three gradients instead of one",
    "three ranks fall more slowly, because each sees only a third of the text",
    "one curve: they can't be told apart",
)

# %%
steps = quick(30, 3)
alone = launch(train, ranks=1, args=(steps,), quiet=True)[0]
of_three = launch(train, ranks=3, args=(steps,), quiet=True)
together = [sum(losses) / 3 for losses in zip(*of_three, strict=True)]
apart = max(abs(a - b) for a, b in zip(alone, together, strict=True))

# %% jupyter={"source_hidden": true}
show(curves({"one rank": alone, "three ranks": together}, "Three ranks learn what one rank learns"))
print(f"nats between the two losses of a step: {apart:.1e}")
assert apart < 1e-4
reveal("welcome-3")

# %% [markdown]
# So the answer to our question is yes. Three processes that share no memory took the same thirty
# steps as one, and what remains between the curves is rounding. That's the standard for everything
# in this course: however we divide the work, the result must be that of one device. It's easy to
# break. Deal out the same six sequences unevenly, 3, 2 and 1:

# %%
unequal = launch(train, ranks=3, args=(steps, True), quiet=True)
means = [sum(losses) / 3 for losses in zip(*unequal, strict=True)]
print(f"now up to {max(abs(a - b) for a, b in zip(alone, means, strict=True)):.2f} nats apart")

# %% [markdown]
# A mean of means is the mean only if the shares are equal. That's true of the losses we print, and
# of the gradients that were averaged, so the weights are wrong, too. (Don't expect three ranks to
# be three times as fast here: they share the cores of one processor.)
#
# ## When one of them dies
#
# With 16,384 GPUs something fails every few hours, and your three processes will fail more often
# than that, because you write them. In plain PyTorch the first error you see may come from a rank
# that did nothing wrong: the others notice a closed connection, or they hang until a time-out. So
# the lab watches its ranks. Let them train once more, and after a second rank 2 gets the signal
# that the operating system sends when memory runs out. (`on_error="report"` returns the error as a
# value.)


# %%
def train_and_die(steps):
    if dist.get_rank() == 2:
        threading.Timer(1, os.kill, (os.getpid(), 9)).start()  # 9 is SIGKILL
    return train(steps)


launch(train_and_die, ranks=3, args=(100_000,), on_error="report", quiet=True)

# %% [markdown]
# The report names the rank that died first, how it died, and the usual cause. Ranks 0 and 1 did
# nothing wrong; they were stopped before they could blame anybody, and nothing is left running.
# Lesson 21 goes further: there the training survives.
#
# ## How a lesson works
#
# - A gray line that ends in three dots is a folded cell. It has to run like any other cell; a click
#   on the line shows its code.
# - Some lessons ask you to write a function in a file of this project, of the kind that you'd find
#   inside Megatron-LM or PyTorch. Such a task has a name, for example TR-1: `check("TR-1")` tells
#   you whether it's right, or what is wrong with it, and `check("TR-1", hint=1)` is the first of
#   two hints. Once it's right, the same cell shows one way to write it.
# - From there on, the lesson runs *your* function. If you haven't written it yet, the cells that
#   need it say so, and the others run as usual. If you're stuck or short of time, `solve("TR-1")`
#   writes the lab's own into the file, and keeps yours beside it.
# - Whenever a lesson claims that something was measured, it prints the numbers, and every try if it
#   took more than one. On two cores three processes take turns, so where a lesson is about
#   *waiting* its ranks sleep for as long as a larger machine would compute.
# - The minutes below a title are estimates: no class has been timed. Save (Ctrl+S) before you close
#   a tab, or its outputs are lost. In a terminal, `make progress` lists what comes next.
#
# ## The way through the lessons
#
# | | lesson | question |
# |---|---|---|
# | 00 | [Welcome](00_welcome.ipynb) | Can this machine be three machines? |
# | 01 | [One device](01_one_device.ipynb) | How does a language model learn, and how good can it get? |
# | 02 | [Messages and deadlocks](02_ranks_and_collectives.ipynb) | Which programs can hang, and how do you find out which rank waits for which? |
# | 03 | [Averaging gradients](03_data_parallel_gradients.ipynb) | What must the devices tell each other, and when does that take longer than computing? |
# | 04 | [Averaging weights](04_data_parallel_weights.ipynb) | When is averaging weights as good, and what does averaging less often cost? |
# | 05 | [The naive pipeline](05_naive_pipeline.ipynb) | How can each device hold only a part of the model? |
# | 06 | [Micro-batches](06_micro_batches.ipynb) | Into how many pieces, and in which order? GPipe and 1F1B |
# | 07 | [Beyond 1F1B](07_beyond_1f1b.ipynb) | Where can the waiting go, and what does each way cost? |
# | 08 | [DP x PP](08_dp_x_pp.ipynb) | Two pipelines, six ranks: who must talk to whom? |
# | 09 | [What training costs](09_what_training_costs.ipynb) | How many FLOPs, how many bytes to keep, and how many to send? |
# | 10 | [Rooflines](10_rooflines.ipynb) | When can a message hide behind computing, and what decides it? |
# | 11 | [Buckets and overlap](11_buckets_and_overlap.ipynb) | Can gradients travel while others are still being computed? |
# | 12 | [Where does the time go?](12_where_time_goes.ipynb) | Of the FLOPs that your devices could compute, how many does training get? |
# | 13 | [Sharding](13_sharding.ipynb) | How much must a rank really keep? ZeRO by hand, and FSDP |
# | 14 | [Tensor parallel](14_tensor_parallel.ipynb) | Each device holds a part of every matrix: what must they tell each other? |
# | 15 | [Long context](15_long_context.ipynb) | One sequence, many devices: how does a token look at those on other ranks? |
# | 16 | [Experts](16_experts.ipynb) | How do tokens find their experts on other devices, and what if all want the same one? |
# | 17 | [Fewer bits](17_fewer_bits.ipynb) | How few bits can a number have before training notices, and what do they save? |
# | 18 | [Hiding messages](18_hiding_messages.ipynb) | Which message can hide behind which computing, and what is left over? |
# | 19 | [Training puzzles](19_training_puzzles.ipynb) | How do you spread a step over ranks you don't have? |
# | 20 | [Design your own](20_design_your_own.ipynb) | How would you spread 175 billion parameters over 512 GPUs? |
# | 21 | [Beyond one machine](21_beyond_one_machine.ipynb) | Who starts the ranks on many machines, and how does training go on when one fails? |
# | 22 | [In torch's own words](22_torchs_own_words.ipynb) | Do torch's own pieces take the step you wrote by hand? |
# | 23 | [Forensics](23_forensics.ipynb) | The loss curve looks right. How do you find out whether the training is? |
#
# 00 to 08 build on each other. After them, go where your curiosity takes you.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - What 16,384 GPUs could do in 78 days if none of them ever stopped would take one of them 3,500
#   years, and a laptop's processor about a million or more.
# - A rank is one process among several, and the world size is how many there are. Ranks share no
#   memory: whatever one knows about another came in a message.
# - Three ranks with equal shares that average their gradients take the same step as one rank with
#   the whole batch.
# - When a rank dies, the others wait or complain. Look for the one that failed first.
#
# ## In the wild
#
# | run | devices | GPU hours | source |
# |---|---|---|---|
# | Llama 3.1 405B, 15.6T tokens | up to 16,384 H100s | 30.84 million | [paper], [model card] |
# | DeepSeek-V3, 14.8T tokens | 2,048 H800s | 2.664 million (pre-training) | [2412.19437][v3] |
# | GPT-2 124M, reproduced by nanoGPT | 8 A100s for 4 days | about 770 | [its README][nano] |
#
# [paper]: https://arxiv.org/abs/2407.21783
# [model card]: https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/MODEL_CARD.md
# [v3]: https://arxiv.org/abs/2412.19437
# [nano]: https://github.com/karpathy/nanoGPT
#
# DeepSeek-V3 took 11.6 times fewer hours for nearly as much text. Can you say why? Training takes 6
# FLOPs for each token and each parameter that the token uses (lesson 01 derives the 6). In Llama
# 3.1 405B every token uses all parameters. In DeepSeek-V3, which is made of experts (lesson 16), a
# token uses 37 of 671 billion. **How many times fewer FLOPs did it take?**

# %%
print(f"{3.8e25 / (6 * 37e9 * 14.8e12):.1f} times fewer FLOPs")

# %% [markdown]
# That the two factors agree is partly chance: V3 computed most products in 8 bits, in which the
# same GPU is up to twice as fast, so it got a smaller share of the peak (lesson 17).
#
# Something to read: `init_process_group` in `torch/distributed/distributed_c10d.py`, with which
# every program in this course that has ranks begins, and so does one on 16,384 GPUs. Its
# documentation says how the ranks find each other, and how long they're prepared to wait.
#
# ## Where next
#
# Before we use three devices, let's see what one does: [01 One device: a small LLaMA learns to tell
# stories](01_one_device.ipynb).
