# %% [markdown]
# # Welcome: what your machine can do
#
# *Reading 20 minutes · tasks 0 · machine 1*
#
# *With twenty minutes: all of it. This is the shortest lesson.*
#
# In 2024 Meta trained Llama 3.1 405B, and wrote down what it took
# ([2407.21783](https://arxiv.org/abs/2407.21783), sections 3.2 and 3.3; [model
# card](https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/MODEL_CARD.md)):
#
# | | |
# |---|---|
# | computation | $3.8 \times 10^{25}$ floating-point operations (FLOPs) |
# | GPUs | up to 16,384 H100s, working on one model |
# | time of all GPUs together | 30.84 million hours |
# | power of a GPU | 700 W, so 11.5 MW for the GPUs alone |
# | interruptions within 54 days | 466; 419 of them unexpected, one every three hours |
#
# Nobody builds a machine with 16,384 GPUs for fun. They do it because one GPU isn't enough, and the
# moment you have two, you have problems that you didn't have with one: which of them holds which
# part of the model, which computes what, what they have to tell each other, how long they wait for
# it, and what happens when one of them dies. This course is about these problems, and you'll meet
# all of them on the machine in front of you.
#
# **Question.** Can this machine be three machines?

# %% [markdown]
# ## One machine against 16,384
#
# First, let's see what we're up against. A product of two $n \times n$ matrices takes $2n^3$ FLOPs
# (each of the $n^2$ results is a sum of $n$ products), so timing one tells us how many FLOPs per
# second this machine manages. The lessons ask before they show: click on your guess. It's
# remembered but not graded, and a wrong guess teaches you more than a right one.

# %%
from helpers.lesson import predict, quick, reveal

predict(
    "L00-1",
    "How long would this machine need for the computation behind Llama 3.1 405B, if it could hold "
    "the model at all?",
    "about 100 years",
    "about 5,000 years, as long as there has been writing",
    "millions of years",
)

# %% tags=["time"]
import time

import torch

n = 1024
a, b = torch.randn(n, n), torch.randn(n, n)
begun, products, seconds = time.perf_counter(), 0, 0.0
while seconds < quick(10, 1) / 20:
    a @ b
    products += 1
    seconds = time.perf_counter() - begun
rate = products * 2 * n**3 / seconds
years = 3.8e25 / rate / (365.25 * 24 * 3600)
print(f"{rate / 1e9:,.0f} GFLOP/s, so {years:,.0f} years")
reveal("L00-1", years=years)

# %% [markdown]
# A GPU is faster, but not that much faster: 30.84 million hours are 3,500 years of one H100. So the
# work has to be divided.
#
# Some questions want a number. Write it in place of `None` and run the cell; the right one isn't in
# the cell, and if you've made a well-known slip, the answer names it.
#
# **How many days do 16,384 GPUs need for 30.84 million GPU hours, if none of them ever stops?**

# %%
from helpers.lesson import answer

mine = None
answer("L00-2", mine)

# %% [markdown]
# ## Four ways to use more devices
#
# Here is most of this course in one picture. Each gray box is a device, and the blue bars are the
# layers of one model.

# %%
from helpers.draw.model import layouts
from helpers.lesson import show

show(layouts())

# %% [markdown]
# - **One device** has all layers and reads all the data. It's the reference: whatever we build
#   later must arrive at the same numbers.
# - **Replicas** each hold the whole model and read a part of the data. After each step they average
#   their gradients, so all copies stay the same. This is *data parallelism*.
# - **A pipeline** cuts the model instead, because it's too large for one device. Activations travel
#   down the stages, gradients travel back up. This is *pipeline parallelism*.
# - **A grid** does both. Real runs do, and they add more directions: they shard what the replicas
#   hold in common (lesson 11), and cut single layers (lesson 12).
#
# The devices on this page are processes. They're real ones: they share no memory, and all they know
# of each other has come as a message. Where a lesson simulates something instead, you'll read it
# there.
#
# ## What is here
#
# The next cell looks at your machine and changes nothing. If something is missing, it prints the
# command that installs it.

# %%
from helpers.doctor import doctor

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
import os

print(f"Hello from rank {rank} of {world_size}, process {os.getpid() % 1000:03}")

# %% [markdown]
# The lines come in any order, because the three processes run at the same time and none waits for
# another. Run the cell again: the order may change, and the process numbers will.
#
# Now let them talk. `dist.all_reduce` adds up a tensor over all ranks. It's a **collective**, which
# means that every rank has to call it. (`launch` is `%%ranks` for a function: it runs the function
# on ranks, and returns what each of them returned.)

# %%
predict(
    "L00-3",
    "Each of the three ranks holds its own number: 0, 1 and 2. What does rank 1 hold after "
    "dist.all_reduce?",
    "1: its own number, because only rank 0 gets the sum",
    "3: the sum of all",
    "1.5: the mean of what its neighbors hold",
)

# %%
import torch.distributed as dist

from helpers.ranks import launch


def add_up():
    x = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(x)
    return x.item()


for rank, result in enumerate(launch(add_up, ranks=3, quiet=True)):
    print(f"rank {rank} holds {result:g}")
reveal("L00-3")

# %% [markdown]
# No rank has looked into another one's memory: the numbers traveled as messages. Lesson 02 shows
# how, and lesson 03 trains a model with this one collective.
#
# ## When one of them fails
#
# With 16,384 GPUs something fails every few hours, and with three processes of your own it will
# too, since you'll be the one who writes them. In plain PyTorch the other ranks then sit and wait,
# often for minutes, and the first error that you see may come from a rank that did nothing wrong.
# So the lab watches its ranks. The next cell fails on purpose. (`on_error="report"` returns the
# error as a value, so the notebook continues.)


# %%
def careless():
    if dist.get_rank() == 2:
        1 / 0  # only rank 2 comes here
    dist.barrier()  # the others wait for it


launch(careless, ranks=3, on_error="report", quiet=True)

# %% [markdown]
# The report names the rank that failed first, the line, and the reason. Ranks 0 and 1 would have
# waited at the barrier; they were stopped, and nothing was left running.
#
# ## How a lesson works
#
# You have met `predict`, `reveal` and `answer`. There are two more things to know.
#
# - Some lessons ask you to write code: a function in a file of this project, of the kind that you'd
#   find inside Megatron-LM or PyTorch. The heading says "Your turn", the task has a name such as
#   TR-1, and the cell `check("TR-1")` tells you whether it's right, or what is wrong with it. There
#   are three hints: `check("TR-1", hint=1)`, and so on.
# - From there on, the lesson runs *your* function. If you haven't written it yet, the cells that
#   need it tell you, and the others run as usual. If you're stuck or short of time, `skip("TR-1")`
#   lends you a finished one until you restart the kernel.
#
# In a terminal, `make progress` lists what you've done and what comes next.
#
# ## The way through the lessons
#
# | | lesson | you learn |
# |---|---|---|
# | 00 | [Welcome](00_welcome.ipynb) | what a rank is, and that your machine can be several |
# | 01 | [One device](01_one_device.ipynb) | how a language model learns, and how good it can get |
# | 02 | [Messages and deadlocks](02_ranks_and_collectives.ipynb) | how processes talk, and hang |
# | 03 | [Averaging gradients](03_data_parallel_gradients.ipynb) | many devices, one model |
# | 04 | [Averaging weights](04_data_parallel_weights.ipynb) | the same, but less often |
# | 05 | [The naive pipeline](05_naive_pipeline.ipynb) | one model on several devices |
# | 06 | [Micro-batches](06_micro_batches.ipynb) | GPipe and 1F1B fill the pipeline |
# | 07 | [Beyond 1F1B](07_beyond_1f1b.ipynb) | chunks, zero bubble, a search for a better order |
# | 08 | [DP x PP](08_dp_x_pp.ipynb) | both at once, on a grid of ranks |
# | 09 | [DDP](09_ddp.ipynb) | buckets, and sending while computing |
# | 10 | [Profiling and input](10_profiling_and_input.ipynb) | where the time of a step goes |
# | 11 | [Sharding](11_sharding.ipynb) | no rank keeps what another keeps |
# | 12 | [Tensor parallel](12_tensor_parallel.ipynb) | many devices share each layer |
# | 13 | [Long context](13_long_context.ipynb) | many devices share one sequence |
# | 14 | [Experts](14_experts.ipynb) | more parameters than a token pays for |
# | 15 | [What training costs](15_what_training_costs.ipynb) | parameters, FLOPs, bytes |
# | 16 | [Training puzzles](16_training_puzzles.ipynb) | a cluster that you can program |
# | 17 | [Design your own](17_design_your_own.ipynb) | a model, a cluster, a layout |
# | 18 | [Beyond one machine](18_beyond_one_machine.ipynb) | launchers, slow links, failures |
# | 19 | [In torch's own words](19_torchs_own_words.ipynb) | the same step in torch's pieces |
# | 20 | [GPT-2](20_gpt2_two_ways.ipynb) | a translator, split in two ways |
# | 21 | [Forensics](21_forensics.ipynb) | twelve training runs that hide a mistake |
#
# 00 to 08 build on each other. After them, go where your curiosity takes you.

# %% [markdown]
# ## What to remember
#
# - A frontier model takes thousands of GPUs for months, because one would take thousands of years.
# - A rank is one process among several, and the world size is how many there are.
# - Ranks share nothing. Whatever one knows of another came as a message.
# - A collective such as all-reduce has to be called by every rank, and all-reduce leaves every rank
#   with the result.

# %% [markdown]
# ## In the wild
#
# | run | devices | GPU hours | source |
# |---|---|---|---|
# | Llama 3.1 405B, 15.6T tokens | up to 16,384 H100s | 30.84 million | [paper], [model card] |
# | DeepSeek-V3, 14.8T tokens | 2,048 H800s | 2.788 million | [2412.19437][v3], table 1 |
# | GPT-2 124M, repeated by nanoGPT | 8 A100s for 4 days | about 800 | [its README][nano] |
#
# [paper]: https://arxiv.org/abs/2407.21783
# [model card]: https://github.com/meta-llama/llama-models/blob/main/models/llama3_1/MODEL_CARD.md
# [v3]: https://arxiv.org/abs/2412.19437
# [nano]: https://github.com/karpathy/nanoGPT
#
# DeepSeek-V3 took a tenth of the hours because each token uses only 37 of its 671 billion
# parameters, and because much of the arithmetic was done in eight bits.
#
# Something to read: `init_process_group` in `torch/distributed/distributed_c10d.py`. Every program
# in this course begins with it, here and on 16,384 GPUs. Its documentation says how the ranks find
# each other, and how long they're prepared to wait.
#
# ## Where next
#
# Before we use three devices, let's see what one does: [01 One device: a small LLaMA learns to tell
# stories](01_one_device.ipynb).
