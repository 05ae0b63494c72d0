# %% [markdown]
# # Beyond one machine: launchers and slow links
#
# *Reading 15 minutes · tasks 25 · machine 2*
#
# *With twenty minutes: all of it, without the tasks.*
#
# All ranks of this course have lived on one machine so far. Large models are trained on thousands,
# and even a small one can be trained on your laptop and your friend's. What breaks when the ranks
# move apart? Two things: somebody must start the ranks on every machine and tell them who they are,
# and messages that never left the machine become slow. (Machines also fail, and with thousands of
# them you have to plan for it: that is the next lesson.)
#
# **Question.** What must a training run do differently when its ranks are on different machines?

# %%
import subprocess
import sys

from helpers.check import check, solve
from helpers.lesson import claim, predict, reveal
from helpers.network import Link, TwoHosts, why_not
from helpers.ranks import PlaceError, discover

sys.path[:0] = ["../jobs"]
import count_ranks

# %% [markdown]
# ## Who am I?
#
# A **launcher** is a program that starts the same script many times, on one machine or on many:
# torchrun, `mpirun`, Slurm's `srun`, or PALS on clusters with PBS. It must tell each process who it
# is, and all of these say it in **environment variables**: named strings that a process inherits
# when it starts. But each launcher has its own names for them.

# %%
torchrun = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
            "MASTER_ADDR": "10.0.0.7", "TORCHELASTIC_RUN_ID": "none"}  # fmt: skip
slurm = {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1", "SLURM_NODEID": "1",
         "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_STEP_NODELIST": "node[07,09]",
         "SLURM_STEP_ID": "0"}  # fmt: skip
pals = {"PALS_RANKID": "5", "PMI_SIZE": "8", "PALS_LOCAL_RANKID": "1", "PMI_LOCAL_SIZE": "4",
        "MASTER_ADDR": "x1000"}  # fmt: skip

for environ in (torchrun, slurm, pals):
    p = discover(environ=environ)
    print(f"{p.launcher:8}: rank {p.rank} of {p.world_size}, local rank {p.local_rank} of "
          f"{p.local_world_size}, rank 0 is on {p.address}")  # fmt: skip

# %% [markdown]
# The **local rank** counts the ranks of one machine only. It says which GPU to take, because rank 5
# finds no GPU number 5 on a machine with four. And all ranks must know one machine's address: there
# rank 0 listens (or the torchrun that started it) while the ranks find each other, which is called
# the **rendezvous**.
#
# Most scripts of this course call `discover`, which understands all of these (we've only read about
# PALS), and the folder `jobs` has a short job script for each. Exported variables outlive the job,
# and that's a trap.

# %% jupyter={"source_hidden": true}
predict(
    "beyond_one_machine-1",
    "In your terminal two variables are left from yesterday: RANK=0 and WORLD_SIZE=1. Today mpirun "
    "starts four processes there, and a careless script believes RANK, and makes a process group "
    "only if WORLD_SIZE is above 1. What happens?",
    "an error: there are four ranks 0",
    "four training runs, each alone, and no message",
    "the four wait for each other",
)

# %%
mpirun = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
stale = mpirun | {"RANK": "0", "WORLD_SIZE": "1"}
print(f"the careless script: rank {stale['RANK']} of {stale['WORLD_SIZE']}, in all four processes")
try:
    discover(environ=stale)
except PlaceError as error:
    print(f"\ndiscover: {error}")
reveal("beyond_one_machine-1")

# %% [markdown]
# So variables that contradict each other must be an error. But there's one exception: `srun` may
# start one torchrun on each machine, and then Slurm's variables count the torchruns while
# torchrun's count the ranks, so they differ and both are right. Torchrun marks its own variables
# with `TORCHELASTIC_RUN_ID`, which is how you can tell.
#
# ### Your turn: LA-1 · 25 minutes · 15 points
#
# Write `from_environment()` in `jobs/count_ranks.py`: find the rank, the world size and the local
# rank in the variables of four launchers, and refuse a stale `RANK`.

# %%
check("LA-1")

# %% [markdown]
# ### What a real Slurm did
#
# We tried it once with Slurm 22.05, on two nodes that were network namespaces of one machine.
# `sbatch jobs/slurm.sh` put ranks 0 and 1 on the
# first node and 2 and 3 on the second, and the ranks found each other. When a rank raised an error,
# its traceback came first and `--kill-on-bad-exit` ended the others at once. Two things are worth
# knowing before they happen to you:
#
# - A node lost its network in the middle of training. After 24 seconds Slurm ended the job (we had
#   set its `SlurmdTimeout` to 30 seconds; the default is 300), and when the node was back it
#   started the job *again*, from step 0, over the same log file. That's its default. `#SBATCH
#   --no-requeue` in `jobs/slurm.sh` switches it off; use `--requeue` if your script loads its
#   checkpoint.
# - Two steps of one job that ran at once picked the same port, because both derived it from the
#   job's ID. The step's ID has to go in, too: `SLURM_STEP_ID` above.
#
# ## When is the network the bottleneck?
#
# Between two machines a message goes through a **link**, and the alpha-beta model of lesson 03
# describes it with two numbers: the latency, and the bandwidth. A cable at home carries 1,000
# megabits a second, Wi-Fi 50 to 500, and a link between two machines of a GPU cluster 400,000 for
# each GPU.
#
# In a ring all-reduce of $n$ ranks, each sends $2\frac{n-1}{n}$ of the bytes in $2(n-1)$ messages.
# With size $S$, latency $\alpha$ and bandwidth $1/\beta$, as in lesson 03, that takes
#
# $$t_S = 2(n-1)\,\alpha + 2\,\frac{n-1}{n}\,\beta S.$$
#
# The 2.2 MB of gradients of lesson 10's script, between two ranks over Wi-Fi of 50 megabits a
# second, take 350 ms. If that's longer than a backward pass, no bucket can hide it all, and
# communication sets the pace (lesson 10).
#
# If several ranks of a machine share its cable, the time also depends on which ranks are neighbors
# in the ring: eight ranks on two hosts can be numbered side by side, or dealt out to the hosts like
# cards.
#
# `ring_seconds()` in `jobs/count_ranks.py` says how long an all-reduce takes, given the host of
# each rank: in each step, the slowest message, where those that leave one host share its cable.

# %%
SIDE_BY_SIDE, DEALT_OUT = 4 * ["left"] + 4 * ["right"], 4 * ["left", "right"]
links_of_hosts = 2.2e6, Link(100_000), Link(1000)  # inside of a host, and the cable of each
near, far = (
    count_ranks.ring_seconds(hosts, *links_of_hosts) for hosts in (SIDE_BY_SIDE, DEALT_OUT)
)

# %% jupyter={"source_hidden": true}
print(f"side by side {1e3 * near:.0f} ms, dealt out {1e3 * far:.0f} ms")
claim("times as long if eight ranks are dealt out", far / near, 4, within=0.01, how="computed")

# %% [markdown]
# Side by side, two of the ring's eight connections cross the cable, one in each direction, so each
# direction carries $2\frac{n-1}{n}S$, as much as the link of any one rank. Dealt out, all eight
# cross it, and a cable that carries four of them each way takes four times as long. That's why the
# ranks of a machine are neighbors. Better still is the two-level all-reduce of lesson 03: the ranks
# of a host add first, so that between two hosts the cable carries $S$ each way instead of
# $1.75\,S$, and with a card for each GPU the cards split it. And collectives that run in every
# layer with nothing to hide behind, such as those of lesson 13, wait for their messages each time,
# so they stay inside a machine.
#
# What helps on a much slower link is to **send less**: 16 bits instead of 32 halve the bytes, and
# DiLoCo (lesson 04) communicates only once in many steps: 16 or 64 there, 500 in its paper. Or let
# each rank take a larger batch, so that it computes for longer and sends the same. None of these is
# free: 16 bits round the sums (lesson 16), averaging less often cost loss in lesson 04, and a
# larger batch means fewer updates for the same text.
#
# ## Two hosts, for real
#
# Linux can split its own network. A **network namespace** is a part of the machine with its own
# interfaces and addresses, and it sees nothing of the rest. We make two of them, put a cable
# between them, and let Linux slow the cable down. In each namespace torchrun starts one rank,
# exactly as on two machines, and then the two ranks must find each other over the cable.


# %% tags=["time"]
def on_two_hosts(link):
    if why := quick(why_not(), "two launchers take a while"):
        return f"Not on this machine: {why}."
    call = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1",
            f"--master-addr={TwoHosts.addresses[0]}"]  # fmt: skip
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with TwoHosts() as hosts:
        hosts.slow(link)
        nodes = [
            hosts.start(node, [*call, f"--node-rank={node}", "../jobs/hello.py"], **options)
            for node in (0, 1)
        ]
        return "\n".join(node.communicate(timeout=100)[0] for node in nodes)


print(on_two_hosts(Link(megabits=100)))

# %% [markdown]
# A million bytes are 8 megabits, so at 100 megabits a second they need 80 ms at least.
#
# ## Two laptops, one model
#
# Try it with a friend. Both laptops must be on the same network, best by cable, and both need this
# folder with the same version of everything.
#
# 1. Find the address of the first laptop: `hostname -I` (Linux), `ipconfig getifaddr en0` (macOS),
#    `ipconfig` (Windows). Say it's 192.168.1.10. From the other one, `ping 192.168.1.10`.
# 2. Rank 0 listens on `MASTER_PORT`, and gloo chooses more ports by itself, so a firewall must let
#    the two talk on all of them. Nothing here is encrypted and few things ask who you are: do it in
#    a network that you trust.
# 3. On the first: `NODE=0 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 4. On the second: `NODE=1 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 5. The ranks say who they are, and what an all-reduce costs. Multiply those milliseconds by 2.2,
#    for the 2.2 MB of `intro_DDP`'s gradients, and compare them with a backward pass: is it worth
#    training on two? Then append `DP/ddp/intro_DDP.py --steps 50` to both lines.
#
# If they never meet, the address isn't the one of step 1, or a firewall is between them. If they
# meet and then wait, gloo may have taken the wrong one of several networks: set
# `GLOO_SOCKET_IFNAME` to the right one, such as `en0` or `wlan0`. (NCCL chooses in the same way:
# `NCCL_SOCKET_IFNAME`, and `NCCL_DEBUG=INFO` prints whether it found InfiniBand, `NET/IB`, or only
# TCP, `NET/Socket`.) (On Windows, in PowerShell, say `$env:USE_LIBUV = 0`, and type the command
# after `exec` in that file, with your own numbers. We haven't tried it there.) And don't be
# surprised that the slower laptop sets the pace: a step ends when the last rank has its gradients.
#
# A whole room does it without numbers. On each laptop, with HOST for the address of one of them and
# MINE for its own:
#
# `torchrun --nnodes=1:20 --rdzv-backend=c10d --rdzv-endpoint=HOST:29400 --local-addr=MINE SCRIPT`
#
# On HOST add `--rdzv-conf=is_host=1`. Without these two flags torchrun looks up the machine's name,
# which often stands for 127.0.0.1: then nobody opens the port, or the others are sent to
# themselves. Training begins thirty seconds after the first laptop has come. One that comes later
# is let in only if all have set `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1` (torch 2.13), and then all
# begin anew.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Launchers tell a rank its place through environment variables, and contradictions between them
#   must be errors.
# - The local rank chooses the GPU.
# - Compare two times: computing, and bytes sent divided by bandwidth. Buckets hide at most as much
#   as backward lasts, which is the largest share where both take the same time.
# - Number the ranks of a machine side by side: then a ring crosses each cable once each way.
#   Collectives that run in every layer and can't hide stay inside a machine; replicas can be far
#   apart.
#
# ## In the wild
#
# - In version 22.05, Slurm stopped passing `--cpus-per-task` on from `sbatch` to `srun`, and
#   training jobs became slow without an error. `jobs/slurm.sh` has the line that cures it.
#
# Go and read `SimpleElasticAgent._invoke_run` in PyTorch's
# `torch/distributed/elastic/agent/server/api.py`: the loop behind `--max-restarts`. What does it do
# if a worker has failed, and what if a new machine has joined?
#
# ## Where next
#
# With more machines something fails more often. [Lesson 21](21_training_never_stops.ipynb) trains
# on as if nothing had.
