# %% [markdown]
# # Welcome: what your machine can do
#
# **Needs:** any laptop, no network, no GPU. **Takes:** one minute.
#
# Large language models are trained on thousands of machines. Here you learn how, on the one
# machine that you have. Nothing is faked: every lesson starts real processes that send real
# messages. The same scripts run on a cluster.
#
# **Question.** Can this machine be three machines?

# %% [markdown]
# ## What is here
#
# The next cell looks at your machine. It changes nothing. If something is missing, it says what to
# type. You can copy its text into a question to your teacher.

# %%
from helpers.doctor import doctor

doctor()

# %% [markdown]
# ## Three ranks
#
# A **rank** is one process among several that work together. Ranks are numbered from 0. The number
# of ranks is the **world size**. On a cluster, each rank has a GPU of its own. Here, all ranks
# share your processor.
#
# The line `%%ranks 3` runs a cell three times, in three new processes. Each of them knows its
# `rank` and the `world_size`.

# %%
# %load_ext helpers.ranks

# %%
# %%ranks 3
print(f"I am rank {rank} of {world_size}")

# %% [markdown]
# The lines may come in any order: nobody says who is first. Run the cell again and look.
#
# Now the ranks talk. `dist.all_reduce` adds up one tensor over all ranks and gives **every** rank
# the sum. It is called a **collective**: all ranks must call it.

# %%
from helpers.lesson import predict

predict(
    "Each of the three ranks holds its own number: 0, 1 and 2. What does rank 1 hold after "
    "dist.all_reduce?",
    "1: its own number",
    "3: the sum of all",
    "1.5: the mean of its neighbours",
)

# %%
# %%ranks 3
x = torch.tensor([float(rank)])
dist.all_reduce(x)
x.item()

# %% [markdown]
# Every rank has the sum, 3. No rank has seen the others' memory: the numbers travelled as messages.
#
# ## When something goes wrong
#
# In parallel programs much goes wrong. This lab tells you which rank failed first, and in which
# line. The next cell fails on purpose. (`launch` runs a function of the notebook on ranks;
# `on_error="report"` gives the error as a value, so that the notebook goes on.)

# %%
import torch.distributed as dist

from helpers.ranks import launch


def careless():
    if dist.get_rank() == 2:
        1 / 0  # only rank 2 comes here
    dist.barrier()  # the others wait for it


launch(careless, ranks=3, on_error="report", quiet=True)

# %% [markdown]
# Ranks 0 and 1 would have waited for ever. They were stopped, and nothing was left running.
#
# ## The way through the lessons
#
# | | lesson | you learn |
# |---|---|---|
# | 00 | Welcome | what a rank is, and that your machine can be several |
# | 01 | [One device](01_one_device.ipynb) | batch, loss, gradient, step; how good a model can get |
# | 02 | [Ranks and collectives](02_ranks_and_collectives.ipynb) | how processes talk; deadlocks |
# | 03 | [Data parallel: gradients](03_data_parallel_gradients.ipynb) | many devices, one model |
# | 04 | [Data parallel: weights](04_data_parallel_weights.ipynb) | averaging less often |
# | 05 | [The naive pipeline](05_naive_pipeline.ipynb) | one model on several devices |
# | 06 | [Micro-batches](06_micro_batches.ipynb) | GPipe and 1F1B fill the pipeline |
# | 07 | [Beyond 1F1B](07_beyond_1f1b.ipynb) | chunks, zero bubble, a search for a better order |
# | 08 | [DP x PP](08_dp_x_pp.ipynb) | both at once, and a plan of your own |
# | 09 | [DDP](09_ddp.ipynb) | buckets, and sending while computing |
# | 10 | [Profiling and input](10_profiling_and_input.ipynb) | where the time of a step goes |
# | 11 | [Sharding](11_sharding.ipynb) | no rank keeps what another keeps |
# | 12 | [Tensor parallel](12_tensor_parallel.ipynb) | many devices share each layer |
# | 15 | [What training costs](15_what_training_costs.ipynb) | parameters, operations, bytes |
# | 16 | [Training puzzles](16_training_puzzles.ipynb) | a cluster that you can program |
# | 17 | [Design your own](17_design_your_own.ipynb) | a model, a cluster, a layout |
# | 18 | [Beyond one machine](18_beyond_one_machine.ipynb) | launchers, slow links, failures |
# | 20 | [GPT-2](20_gpt2_two_ways.ipynb) | a translator, split in two ways |
#
# Every lesson asks before it shows. Write your prediction down: being wrong is how one learns here.

# %% [markdown]
# ## What to remember
#
# - A rank is one process among several. The world size is their number.
# - Ranks share nothing. They send messages.
# - A collective such as all-reduce is called by every rank, and every rank gets the result.
#
# ## Exercises
#
# **1.** Five ranks each hold their own number, and all-reduce adds them up. Write down what each
# rank gets, in place of `None`. Then run the cell: five real ranks give their answer.

# %%
import torch

from helpers.lesson import answer


def add_up():
    x = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(x)
    return x.item()


mine = None
answer(mine, lambda: launch(add_up, ranks=5, quiet=True)[0])
