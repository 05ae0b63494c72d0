# %% [markdown]
# # Beyond one machine: launchers, slow links, failures
#
# **Needs:** two cores, no network. **Takes:** two minutes.
#
# All ranks of this course have lived on one machine. Who trains a large model has hundreds of
# machines. Your ranks can be on two laptops already.
#
# **Question.** What changes when the ranks are on different machines?
#
# Three things do. Somebody must start the ranks, everywhere. Messages become slow. And machines
# fail.

# %%
# needs: DP/ddp/intro_DDP.py, DP/ddp/flat.py, DP/ddp/hooks.py, DP/ddp/buckets.py
# needs: DP_PP/survival/intro_survival.py, jobs/torchrun_several_nodes.sh, jobs/hello.py
# needs: jobs/count_ranks.py
import subprocess
import sys
import tempfile

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show
from helpers.network import Link, TwoHosts, slow_link, why_not
from helpers.ranks import PlaceError, discover, find_place, launch

# %% [markdown]
# ## Who am I?
#
# A **launcher** is a program that starts the same script many times, on one machine or on many:
# torchrun, `mpirun`, Slurm's `srun`, and PALS on clusters with PBS. It must tell each process who
# it is. All of them do it in the same way: by **environment variables**, names with a text, which
# a process gets when it starts. But each launcher has names of its own.

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
# The **local rank** counts the ranks of one machine only. It says which GPU to take: rank 5 has no
# GPU number 5 on a machine with four. And one machine must be known to all: there rank 0 listens
# while the ranks find each other. This is the **rendezvous**.
#
# `discover` is the function behind the scripts of this course that run on ranks (those of lesson
# 11 ask MPI, GPT-2 starts its own). So one script runs under all launchers. The folder `jobs` has
# a short job script for each. This one is for several machines:

# %%
print(open("../jobs/torchrun_several_nodes.sh", encoding="utf-8").read())

# %%
predict(
    "In your terminal two variables were left from yesterday: RANK=0 and WORLD_SIZE=1. Today "
    "mpirun starts four processes there, and a careless script believes RANK. What happens?",
    "an error: there are four ranks 0",
    "four trainings, each alone, and nobody notices",
    "the four wait for each other",
)

# %% [markdown]
# Each process thinks that it is alone. Nothing fails; the job only takes four times as long as it
# should, or gives four models in one file. So variables that contradict each other must be an
# error.

# %%
mpirun = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}
try:
    discover(environ=mpirun | {"RANK": "0", "WORLD_SIZE": "1"})
except PlaceError as error:
    print(error)

# %% [markdown]
# ## When is the network the bottleneck?
#
# Between two ranks of one machine, a message is a copy in memory. Between two machines it goes
# through a **link**. Two numbers describe it. The **bandwidth** is how many bits go through in a
# second. The **latency** is how long the first bit is under way. A cable at home carries 1000
# megabits a second; Wi-Fi 50 to 500; a link between the GPU machines of a cluster 400,000.

# %%
predict(
    "The small LLaMA has 1.1 million gradients of 4 bytes. A step computes for about a tenth of a "
    "second here. At which bandwidth do two ranks send for as long as they compute?",
    "near 4 megabits a second",
    "near 400 megabits a second",
    "near 40,000 megabits a second",
)

# %% [markdown]
# We have no second machine. But a rank can act as if: inside `slow_link` a message is handed over
# only when the slow link would have brought it. Everything else is real.


# %%
def train(ways, links):
    sys.path[:0] = ["../DP/ddp"]
    import intro_DDP

    runs, flags = {}, ["--steps", "4", "--seq-l", "128", "--batch-size", "2", "--average"]
    for way, link in ((way, link) for link in links for way in ways):
        options = intro_DDP.read_flags([*flags, way])
        with slow_link(link):
            _, net, trace = intro_DDP.train(options, find_place(), "cpu", lambda *_: None)
        ends = sorted(e.end for e in trace.events if e.kind == "update")
        runs[way, link] = min(b - a for a, b in zip(ends, ends[1:], strict=False)), trace
    size = sum(p.nbytes for p in net.parameters())
    return runs, size


# %%
links = [Link(megabits, milliseconds=0.5) for megabits in (10_000, 800, 400, 200)]
ranks = launch(train, 2, (("flat", "buckets"), links), quiet=True)
runs, size = ranks[0]
send = {link: 1e3 * link.all_reduce_seconds(size, 2) for link in links}
lines = {
    way: {send[link]: 1e3 * runs[way, link][0] for link in links} for way in ("flat", "buckets")
}
lines["sending alone"] = {send[link]: send[link] for link in links}
for link in links:
    print(f"{link.megabits:6,} megabits a second: {send[link]:3.0f} ms to send, by the formula")
flat, buckets = (1e3 * runs[way, links[-1]][0] for way in ("flat", "buckets"))
title = f"At 200 megabits a step takes {flat:.0f} ms flat, {buckets:.0f} ms with buckets"
show(curves(lines, title, x="ms to send", y="ms a step"))

# %% [markdown]
# The formula: in a ring all-reduce of $n$ ranks each sends $2(n-1)/n$ of the bytes, in $2(n-1)$
# messages. With two ranks that is 4.4 MB, or 35 megabits, in two messages. Latency counts once for
# each message; so the worst on a slow link are many small ones.
#
# Flat computes, then sends: the times add up. Buckets send while backward computes, and only the
# longer of the two counts. So overlap helps most where both take the same time, and then it saves
# at most half. Where sending is much longer, the rank is idle all the same. Look at one step at 200
# megabits a second, flat and with buckets:


# %%
def one_step(way, link):
    first, *others = (found[way, link][1] for found, _ in ranks)
    whole = first.merged(*others)
    ends = sorted(e.end for e in whole.events_of(0) if e.kind == "update")
    return whole.between(
        *min(zip(ends, ends[1:], strict=False), key=lambda step: step[1] - step[0])
    )


show(one_step("flat", links[-1]))
show(one_step("buckets", links[-1]))

# %% [markdown]
# What helps then is to **send less**: in 16 bits, half of it; or less often. Lesson 04 averaged the
# weights after many steps. Or every rank takes a larger batch: it computes longer, and sends the
# same.
#
# ## Two hosts, for real
#
# Linux can split its own network. A **network namespace** is a part of the machine with interfaces
# and addresses of its own; it sees nothing of the rest. We make two, put a cable between them, and
# let the kernel slow the cable down. In each, torchrun starts one rank, as on two machines. Then
# they must find each other over the cable.


# %%
def on_two_hosts(link):
    if why := why_not():
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
# A million bytes are 8 megabits; through 100 megabits a second they need 80 ms at least.
#
# ## Machines fail

# %%
predict(
    "Say that a GPU, with all that is around it, works for nearly six years before it fails. "
    "16,384 of them train one model. How long does it take until one fails?",
    "three hours",
    "three weeks",
    "three months",
)

# %% [markdown]
# Nearly six years are 51,000 hours; divide by 16,384. While Llama 3 was trained on so many GPUs,
# it was interrupted 419 times in 54 days by something unexpected
# ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4): once in three hours. When one
# rank is gone, the others wait for it. So the whole job must stop, and start again from what was
# saved: a **checkpoint**.
#
# Two ranks train for 12 steps, and save after every 5. In step 8 rank 1 is killed.


# %%
def survive(folder, *flags):
    sys.path[:0] = ["../DP_PP/survival"]
    import intro_survival

    flags = ["--stages", "1", "--seq-l", "32", "--steps", "12", "--checkpoints", folder, *flags]
    options = intro_survival.read_flags(flags)
    losses, begun, _ = intro_survival.train(options, find_place(), "cpu", lambda *_: None)
    return losses, begun


folder = tempfile.TemporaryDirectory()
report = launch(survive, 2, (folder.name, "--die-at", "8"), quiet=True, on_error="report")
print(report.failure.sentence)

# %% [markdown]
# The rank had no time to say a word. That it was killed was seen from outside, and the other rank
# was stopped at once.
#
# Start again. This time there are *three* ranks: say that the broken machine was replaced by two.

# %%
(losses, begun), *_ = launch(survive, 3, (folder.name,), quiet=True)
with tempfile.TemporaryDirectory() as another:
    (unbroken, _), *_ = launch(survive, 2, (another,), quiet=True)
print(f"goes on with step {begun}: steps {begun} to 7 are computed a second time")
for step in (begun, 11):
    print(f"step {step}: loss {losses[step]:.6f}, and without a failure {unbroken[step]:.6f}")
folder.cleanup()

# %% [markdown]
# The losses are the same. What was saved does not say which rank held what; it has the names of
# the whole model, and each rank takes what it needs. A checkpoint is written under another name and
# gets its own name last, in one moment. So a rank that dies while it saves leaves no half of one.
#
# On a cluster nobody sits there to start again. `torchrun --max-restarts 3` does it: it sees that
# a rank has ended, ends the others, and starts all of them. `jobs/torchrun_elastic.sh` shows it.
#
# ## Two laptops, one model
#
# Try it with a friend. Both laptops are in one network, best by cable, and both have this folder
# with the same version of everything.
#
# 1. Find the address of the first laptop: `hostname -I` (Linux), `ipconfig getifaddr en0` (macOS),
#    `ipconfig` (Windows). Say it is 192.168.1.10. From the other one, `ping 192.168.1.10`.
# 2. The ranks choose ports of their own. A firewall must let the two talk on all ports.
# 3. On the first: `NODE=0 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 4. On the second: `NODE=1 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 5. They say who they are, and what an all-reduce costs. Draw your link into the picture above: is
#    it worth training on two? Then append `DP/ddp/intro_DDP.py --steps 50` to both lines.
#
# If they never meet: the address is not the one of step 1, or a firewall is between them. If they
# meet and then wait, gloo took the wrong one of several networks: set `GLOO_SOCKET_IFNAME` to the
# right one, as `en0` or `wlan0`. And the slower laptop sets the pace: a step ends when the last
# rank has its gradients.
#
# ## What to remember
#
# - Launchers tell a rank its place by environment variables. Contradictions must be errors.
# - The local rank chooses the GPU; the rank chooses the data.
# - Compare two times: computing, and bytes sent divided by bandwidth. Overlap hides the shorter.
# - The more machines, the sooner one fails. Save often enough, and save by the names of the whole
#   model, so that another number of ranks can go on.
#
# ## Exercises
#
# **1. Task LA-1: the environment.** Find the rank in the variables of four launchers.

# %%
check("LA-1")

# %% [markdown]
# **2. Task LA-2: without a launcher's help.** MPI can tell every rank the host names of all. Find
# the local rank from these alone.

# %%
check("LA-2")

# %% [markdown]
# **3. Task LA-3: what it costs.** Two ranks on two machines, or eight, side by side or dealt out
# like cards: how long does an all-reduce take?

# %%
check("LA-3")

# %% [markdown]
# **4. Task CK-1: whole or not at all.** Write a save by two ranks that a kill at any moment cannot
# spoil.

# %%
check("CK-1")

# %% [markdown]
# **5.** Saving takes 30 s, and something fails every 3.1 hours. If you save often, you lose time by
# saving. If you save rarely, you compute much a second time. With $t$ seconds from one save to the
# next the lost share is about $30/t + t/(2 \cdot 3.1\,\text{h})$. Which $t$ is best, in minutes?

# %%
mine = None
answer(mine, lambda: (2 * 30 * 3.1 * 3600) ** 0.5 / 60, tolerance=0.1)
