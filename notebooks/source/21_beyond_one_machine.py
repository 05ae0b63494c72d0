# %% [markdown]
# # Beyond one machine, and when it fails
#
# *Reading 45 minutes, tasks 80*
#
# *With twenty minutes: "Who am I?" and "How often should you save?"*
#
# All ranks of this course have lived on one machine so far. Large models are trained on thousands,
# and even a small one can be trained on your laptop and your friend's. Three things change when the
# ranks move apart. Somebody must start them on every machine and tell each of them who it is.
# Messages that never left the machine become slow. And with enough machines, one of them is always
# about to fail, so a run must be able to go on from where it was.
#
# **Question.** What must a training run do differently when its ranks are on different machines,
# and when one of them fails every three hours?

# %%
import os
import subprocess
import sys
import tempfile

from helpers.check import check, solve
from helpers.cost import goodput
from helpers.lesson import answer, predict, reveal, show_code, vary
from helpers.network import Link, TwoHosts, why_not
from helpers.ranks import PlaceError, discover, find_place, launch

sys.path[:0] = ["../jobs", "../DP/never_stops", "../DP_PP/survival"]
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
careless = """
import os
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if world_size > 1:
    import torch.distributed
    torch.distributed.init_process_group("gloo")
print(f"rank {rank} of {world_size} trains")
"""
for rank in range(4):
    mpirun = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "4"}
    stale = os.environ | mpirun | {"RANK": "0", "WORLD_SIZE": "1"}
    done = subprocess.run([sys.executable, "-c", careless], env=stale, capture_output=True)
    print(done.stdout.decode().strip())

# %%
try:
    discover(environ=mpirun | {"RANK": "0", "WORLD_SIZE": "1"})
except PlaceError as error:
    print(f"discover: {error}")
reveal("beyond_one_machine-1")

# %% [markdown]
# So variables that contradict each other must be an error. But they may rightly differ where one
# launcher starts another: Slurm may start Open MPI's `mpirun`, or `srun` one torchrun on each
# machine, and then Slurm's variables count the torchruns while torchrun's count the ranks, so they
# differ and both are right. Torchrun marks its own variables with `TORCHELASTIC_RUN_ID`, which is
# how you can tell.
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
# We tried it once with Slurm 22.05, on two nodes that were network namespaces of one machine. The
# ranks found each other, and when a rank raised an error, `--kill-on-bad-exit` ended the others at
# once. Two things are worth knowing before they happen to you:
#
# - A node lost its network in the middle of training. Slurm ended the job, and when the node was
#   back it started the job *again*, from step 0, over the same log file. That's its default.
#   `#SBATCH --no-requeue` in `jobs/slurm.sh` switches it off; use `--requeue` if your script loads
#   its checkpoint.
# - Two steps of one job that ran at once picked the same port, because both derived it from the
#   job's ID. The step's ID has to go in, too: `SLURM_STEP_ID` above.
#
# ## Which ranks should be neighbors?
#
# **Number the ranks of a machine side by side.** Between two machines a message goes through a
# **link**: a cable at home carries 1,000 megabits a second, Wi-Fi 50 to 500, and a link between two
# machines of a GPU cluster 400,000 for each GPU. If several ranks share one, the time of a ring
# depends on who its neighbors are: eight ranks on two hosts can be numbered side by side, or dealt
# out to the hosts like cards.
#
# This is how long an all-reduce takes, given the host of each rank: in each step, the slowest
# message, where those that leave one host share its cable.

# %%
show_code("jobs/count_ranks.py", "ring_seconds")
SIDE_BY_SIDE, DEALT_OUT = 4 * ["left"] + 4 * ["right"], 4 * ["left", "right"]
links_of_hosts = 2.2e6, Link(100_000), Link(1000)  # inside of a host, and the cable of each
near, far = (
    count_ranks.ring_seconds(hosts, *links_of_hosts) for hosts in (SIDE_BY_SIDE, DEALT_OUT)
)
print(f"side by side {1e3 * near:.0f} ms, dealt out {1e3 * far:.0f} ms")

# %% [markdown]
# Side by side, two of the ring's eight connections cross the cable, one in each direction. Dealt
# out, all eight cross it, and a cable that carries four of them each way takes four times as long.
# Better still is the two-level all-reduce of lesson 03: the ranks of a host add first, so the cable
# carries each sum once. And collectives that run in every layer with nothing to hide behind, such
# as those of lesson 14, stay inside a machine.
#
# What helps on a much slower link is to **send less**: 16 bits instead of 32 halve the bytes
# (lesson 17), and DiLoCo (lesson 04) communicates only once in many steps. Or each rank takes a
# larger batch, computes for longer and sends the same (lesson 10).
#
# The **data** must arrive on every machine, too. Nobody copies terabytes of text to each of them.
# The files lie in a shared store, cut into shards, and a rank streams only its own: which shards
# those are, and in which order, follows from the seed and the epoch alone, and a rank takes its
# share of each batch. So the epoch and the number of its batches that have been read are all that a
# restarted run must know, even with another number of ranks.
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
# Of two ranks each sends the million bytes once. That's 8 megabits, so at 100 megabits a second it
# takes at least 80 ms.
#
# ## Two laptops, one model
#
# Try it with a friend. Both laptops must be on the same network, best by cable, and both need this
# folder with the same version of everything.
#
# 1. Find the address of the first laptop: `hostname -I` (Linux), `ipconfig getifaddr en0` (macOS),
#    `ipconfig` (Windows). Say it's 192.168.1.10. From the other one, `ping 192.168.1.10`.
# 2. Rank 0 listens on `MASTER_PORT`, and gloo chooses more ports by itself, so a firewall must let
#    the two talk on all of them. Nothing here is encrypted and almost nothing is authenticated: do
#    it in a network that you trust.
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
# A roomful of laptops needs no node ranks. On each laptop, with HOST for the address of one of them
# and MINE for its own:
#
# `torchrun --nnodes=1:20 --rdzv-backend=c10d --rdzv-endpoint=HOST:29400 --local-addr=MINE SCRIPT`
#
# On HOST add `--rdzv-conf=is_host=1`. Without these two flags torchrun looks up the machine's name,
# which often stands for 127.0.0.1: then nobody opens the port, or the others are sent to
# themselves. Training begins thirty seconds after the first laptop has come. One that comes later
# is let in only if all have set `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1` (torch 2.13), and then all
# begin anew.
#
# ## How often a rank fails
#
# A machine that fails once in six years is reliable. What about thousands of them?

# %% jupyter={"source_hidden": true}
predict(
    "beyond_one_machine-2",
    "Say that a GPU, with everything around it, works for nearly six years on average before it "
    "fails, and 16,384 of them train one model. How long does it take until one of them fails?",
    "three hours",
    "three weeks",
    "three months",
)

# %% jupyter={"source_hidden": true}
reveal("beyond_one_machine-2")

# %% [markdown]
# The six years are nobody's measurement of a single GPU. They follow from what happened to all of
# them: while Llama 3 was trained on 16,384, it was interrupted 419 times in 54 days by something
# unexpected ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4). From one GPU we can
# go on to machines of other sizes:

# %%
between = 54 * 24 * 3600 / 419
years = 16_384 * between / goodput.YEAR
larger = goodput.Failures(devices=100_000, years=years).seconds
print(f"16,384 GPUs: a failure every {between / 3600:.2f} hours, so {years:.1f} years for each GPU")
print(f"100,000 such GPUs: a failure every {larger / 60:.0f} minutes")

# %% [markdown]
# When one rank is gone, its collectives never end. So the whole job usually stops and restarts from
# its last saved state, a **checkpoint**. (Replicas of all weights can do better, as we'll see.)
#
# Here two ranks are to train for 12 steps, and they save a checkpoint after every 5. In step 8 we
# kill rank 1.


# %%
def train_and_save(folder, *flags):
    import intro_survival

    flags = ["--stages", "1", "--seq-l", "32", "--steps", "12", "--checkpoints", folder, *flags]
    options = intro_survival.read_flags(flags)
    losses, begun, _ = intro_survival.train(options, find_place(), "cpu", lambda *_: None)
    return losses, begun


# %%
folder = tempfile.TemporaryDirectory()
flags = folder.name, "--die-at", "8"
report = launch(train_and_save, 2, flags, quiet=True, on_error="report")
print(report.failure.sentence)

# %% [markdown]
# Now start again, with *three* ranks, as if the broken machine had been replaced by two, and
# compare the losses with those of a run that nothing has interrupted. (A step's batch stays the
# same; three ranks share it instead of two.)

# %%
(losses, begun), *_ = launch(train_and_save, 3, (folder.name,), quiet=True)
with tempfile.TemporaryDirectory() as another:
    (unbroken, _), *_ = launch(train_and_save, 2, (another,), quiet=True)
folder.cleanup()
print(f"continues with step {begun}: steps {begun} to 7 are computed a second time")
apart = max(abs(losses[step] - unbroken[step]) for step in range(begun, 12))
print(f"the losses differ by: {apart:.1e}")
assert apart < 1e-4

# %% [markdown]
# Kill it yourself. With a running kernel a slider chooses the step, and the button kills rank 1 in
# the middle of it; then three ranks start again:


# %%
def kill(in_step):
    with tempfile.TemporaryDirectory() as place:
        flags = place, "--die-at", str(in_step)
        report = launch(train_and_save, 2, flags, quiet=True, on_error="report")
        begun = launch(train_and_save, 3, (place,), quiet=True)[0][1]
    from_where = f"from the checkpoint with step {begun}" if begun else "from the start"
    return (
        f"{report.failure.sentence}\nKilled in step {in_step}. Three ranks continue {from_where}, "
        f"so {in_step - begun} complete steps are lost, besides the one that was running."
    )


vary(kill, press="kill rank 1", in_step=(9, 2, 4, 5, 6, 8, 11))

# %% [markdown]
# Three ranks can continue what two have begun because the checkpoint doesn't depend on which rank
# held what. It names the tensors of the whole model, and each rank takes what it needs.
#
# A checkpoint also needs the **place in the data**: the epoch, and how many batches of it have been
# read, counted for the whole run and not per rank. Without it a restarted run reads its first
# batches again and never sees the last ones, and no loss curve shows it.
#
# And a checkpoint is never left half-written. It has a temporary name at first, and gets its final
# one last, by a rename, which is atomic: the file system does all of it or nothing. That protects
# against a rank that dies while it saves. A *power* failure takes more care, because what a program
# has written may still be in the machine's memory. `os.fsync` of a file waits until its bytes are
# on the disk, and `os.fsync` of a folder until the names in it are. Without the second, a complete
# file may come back without its name.
#
# ### Your turn: CK-1 · 35 minutes · 20 points
#
# Write `save_part()` in `DP_PP/survival/by_hand.py`: several ranks save a checkpoint together, and
# neither a killed rank nor a power failure can spoil it.

# %%
check("CK-1")

# %% [markdown]
# ## How often should you save?
#
# If you save often, you lose time by saving. If you save rarely, you lose what must be computed a
# second time. Say a save takes $C$ seconds, failures come every $M$ seconds on average, a restart
# takes $\rho$ seconds, and $\tau$ seconds pass from one save to the next. A failure comes somewhere
# in the interval, so on average it costs half of it, and then the restart. The lost share is
#
# $$\frac{C}{\tau} + \frac{\tau}{2M} + \frac{\rho}{M}, \qquad\text{which is smallest where}\quad
# \frac{C}{\tau^2} = \frac{1}{2M},\quad\text{so}\quad \tau = \sqrt{2CM}.$$
#
# This is **Young's formula** (1974; Daly refined it in 2006). The restart doesn't change
# the best interval, but it adds to the loss. Put the interval back in, and what's lost is
#
# $$\sqrt{2C/M} + \rho/M.$$
#
# The rest of the time, whose work counts, is the **goodput**. If failures are rare, the root
# decides; as they become more frequent, $\rho/M$ grows faster, and from $M = \rho^2/2C$ down it's
# the larger part. With $C = 30$ s and $\rho = 300$ s that's at 25 minutes. To lose a tenth at most,
# saving and redoing alone would require $M \ge 200\,C$, which is 100 minutes; with the restart it
# takes 3.1 hours.
#
# A save takes 30 s, and something fails every 3.1 hours. What's the best $\tau$, in minutes?

# %%
mine = None
answer("beyond_one_machine-3", mine)

# %% [markdown]
# As code, it returns the interval that loses least, and what saving and redoing then lose:

# %% jupyter={"source_hidden": true}
from rules import checkpoint_interval

show_code("DP/never_stops/rules.py", "checkpoint_interval")
predict(
    "beyond_one_machine-4",
    "At the best interval, saving and redoing cost 7 % of the time on 16,384 GPUs. How much is it "
    "with 100,000 such GPUs at their best interval, if a save still takes 30 seconds?",
    "18 %",
    "45 %",
    "7 %",
)

# %%
for name, failures in {"16,384": between, "100,000": larger}.items():
    _, share = checkpoint_interval(30, failures)
    print(f"{name} GPUs lose {share:.1%}, and with a restart of 300 s {share + 300 / failures:.1%}")
reveal("beyond_one_machine-4")

# %% [markdown]
# The formula is first order: it adds the three shares as if each took its part of the whole time.
# But nothing is saved during a restart, and a save or a restart that another failure hits isn't
# lost twice, so the sum is too high. A simulation counts every second once. It jumps from
# failure to failure, and this is all of it:

# %% jupyter={"source_hidden": true}
show_code("helpers/cost/goodput.py", "restarting")

# %%
for name, failures in {"16,384": between, "100,000": larger}.items():
    every, share = checkpoint_interval(30, failures)
    lost = 1 - goodput.restarting(failures, every, save=30, restart=300)
    print(f"{name} GPUs: lost by the formula {share + 300 / failures:.1%}, simulated {lost:.1%}")

# %% [markdown]
# At 16,384 GPUs the formula is good; at 100,000 it's five points too high.
#
# Llama 3's report says "higher than 90 % effective training time", and our numbers give 90 %. But
# it publishes neither $C$ nor $\rho$, so 30 and 300 seconds are our assumptions: they show what 90
# % takes, and no more than that.
#
# Two things make $C$ smaller, and a third makes the copy safer. An **asynchronous** checkpoint is
# copied into the machine's memory while training stands still, and from there to the disk while it
# goes on. A checkpoint **in memory** skips the disk. And if the copy lies in a *neighbor's* memory,
# it survives the machine (if the neighbor is on another one: rank + 8, say, and not rank + 1).
#
# When is such a copy complete? Only when *all* ranks have sent theirs, and one may die meanwhile,
# so the last two are kept, and a whole one is always there. Each rank's part of the state then lies
# on two ranks. That survives the loss of one of them, and of several that aren't neighbors. If two
# neighbors die at once, both copies of a part are gone, and only a disk helps.
#
# — *With ninety minutes, stop here.* —
#
# ## A replica less, and no restart
#
# If the state isn't sharded across the replicas, as with DDP or between the replicas of HSDP, the
# neighbors hold a copy of everything anyway. Four such replicas hold the same weights. If one dies,
# three copies are left, and all that's lost is the gradient of one batch, which its successor reads
# again. So why go back at all, and why stop?
#
# - **Who is there?** Each replica keeps a connection open and says ten times a second that it's
#   alive. If the connection closes, it's dead. If it falls silent, it's frozen or cut off.
# - **The mean is over those present.** A step closes as soon as all who are there have sent their
#   gradients: they are the step's **quorum**.
# - **A replica that returns heals from a peer.** It takes weights, Adam's means, the step, and how
#   many batches of each replica have been counted, so that it resumes reading where it left off.
#
# The process that keeps track of the replicas is called the **lighthouse**, as in torchft. It's 137
# lines, docstrings included, and this is where it decides:

# %% jupyter={"source_hidden": true}
show_code("DP/never_stops/lighthouse.py", "Lighthouse.mean")

# %% jupyter={"source_hidden": true}
predict(
    "beyond_one_machine-5",
    "A replica is frozen in the middle of step 7 (its laptop's lid is closed), and the others go "
    "on without it. In step 12 it wakes up and sends its gradient for step 7. What should happen?",
    "it isn't counted, and the replica applies the means it has missed",
    "it's averaged into step 12, because a late gradient is better than none",
    "the replica must be killed: its weights are wrong forever",
)

# %% jupyter={"source_hidden": true}
reveal("beyond_one_machine-5")

# %% [markdown]
# Look at the line `if step == self.closed and tokens`. A gradient for a closed step is never
# counted, because it belongs to weights that nobody has any more. But the answer is still useful:
# it's the mean of *that* step. All replicas that apply the same means in the same order hold the
# same weights, to the last bit, so one that was away catches up by asking again, step by step.
#
# The mean goes over the replicas that have sent a gradient, and their batches don't have the same
# number of tokens, so each token counts once:

# %% jupyter={"source_hidden": true}
show_code("DP/never_stops/rules.py", "mean_over_present")

# %% [markdown]
# ### Your turn: NS-2 · 20 minutes · 10 points
#
# Write `heal()` in `DP/never_stops/rules.py`: take everything that training goes on from, from a
# peer that may die meanwhile, and then the steps that the others took while it traveled.

# %%
check("NS-2")

# %% [markdown]
# Now four real processes. In step 3 replica 1 is killed (SIGKILL: no last words), in step 5 replica
# 2 is frozen (SIGSTOP: it notices nothing), then 1 is started again and has to heal, and finally 2
# is thawed and has to catch up. (At "back" the script waits until the replica is counted again, so
# later faults may come a few steps after the step they were planned for.)

# %%
import never_stops

FAULTS = [(3, "kill", 1), (5, "freeze", 2), (6, "start", 1), (6, "back", 1),
          (9, "thaw", 2), (9, "back", 2)]  # fmt: skip
outcome = never_stops.survive(4, 14, FAULTS, silence=1.0, pace=0.1)

# %% tags=["time"]
print("the faults as planned:".rjust(64))
for step, (places, loss) in enumerate(zip(outcome.counted, outcome.losses, strict=True)):
    happened = ", ".join(f"{what} {r}" for at, what, r in FAULTS if at == step and what != "back")
    print(f"step {step:2}: loss {loss:.2f}, counted {sorted(places)}  {happened}")

# %% [markdown]
# A new process takes a moment to start and to heal, so steps close without replica 1 even after it
# was started. The loss proves nothing: it would also fall if a batch were read twice or if one
# replica had wrong momentum. (It does change a little: while two replicas are away, a step reads
# half the batch.) So one device takes exactly the batches that counted, each step's in one forward
# and one backward, in float64:

# %%
apart, away = never_stops.distance(outcome, 4)
print(f"largest difference between the weights of the four replicas: {apart}")
assert apart == 0
print(f"and from those of one device: {away:.1e}")
assert away < 1e-11
places = [[each[r] for each in outcome.counted if r in each] for r in range(4)]
assert all(p == [*range(len(p))] for p in places), "a batch is left out or read twice"

# %% [markdown]
# A replica that is **cut off** keeps running: it finishes its gradient, sends it, and nobody hears
# it, since to TCP a pulled cable is only silence. When the cable is back, the late gradient isn't
# counted, and the replica asks for one missed step after another, as the thawed one did above. If
# the last replica dies, the weights are gone, and a new one says so. So checkpoints don't go away;
# they become rare.
#
# Ours sends all gradients through the lighthouse, so that a step closes in one place, at once or
# not at all. [torchft](https://github.com/pytorch/torchft) sends its lighthouse heartbeats and asks
# it for the step's quorum, but averages among the replicas. The ranks of each replica then vote on
# whether they take the step. [docs/torch.md](../docs/torch.md#training-that-never-stops) has its
# words beside ours.
#
# Some failures don't stop anything, and they're the nastier ones. A **straggler** is a GPU that has
# become slow, for example because it's hot. Every step waits for it, so one slow GPU makes
# thousands slow, without an error. Our replicas wait for it too, since its heartbeats come. And in
# a **silent data corruption** a chip computes a wrong result. Llama 3's team counts it among its
# causes of interruptions (6 of 419, table 5), and Gemini's expected one to affect training every
# week or two ([2312.11805](https://arxiv.org/abs/2312.11805), section 3). A quorum doesn't help if
# the numbers are wrong, and the latest checkpoint may already hold them. So you watch the norm of
# the gradients, and keep several checkpoints to have one from before.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Launchers tell a rank its place through environment variables, and contradictions between them
#   must be errors. The local rank chooses the GPU.
# - Number the ranks of a machine side by side: then a ring crosses each cable once each way.
#   Collectives that run in every layer stay inside a machine; replicas can be far apart.
# - Restarting loses about $\sqrt{2C/M} + \rho/M$ at Young's interval $\sqrt{2CM}$. The more often
#   something fails, the more it's the restart that counts.
# - If replicas hold full copies, the best checkpoint is a neighbor: weights, optimizer, step, and
#   the place in the data.
# - A step's mean is over those present, weighted by tokens, and a gradient for a closed step never
#   counts. Then the weights are those of one device that took exactly these batches.
# - A rename makes a checkpoint whole or absent; `fsync` of files *and* folders makes it last.
#
# ## In the wild
#
# - Llama 3 405B: 419 unexpected interruptions in 54 days, about 78 % of them confirmed or suspected
#   hardware, and still more than 90 % of effective training time
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4).
# - Meta's fault-tolerant HSDP on 100,000 GPUs shortened the stall of a failure from 10 minutes to 3
#   and raised the effective training time from 44 % to 80 %
#   ([2602.00277](https://arxiv.org/abs/2602.00277), abstract).
# - PyTorch's team trained a Llama of 1 billion parameters with torchft on 30 groups of ten GPUs and
#   took no checkpoint ([their post][post]). With a failure every 60 seconds, 1,100 in all, 81 % of
#   the work counted; with one every 15 seconds on average, 1,015 in all, 13 % did, and the loss
#   still fell.
# - `torchrun --max-restarts 3` is the older way: it notices that a rank has ended, stops the
#   others, and starts all of them anew. `jobs/torchrun_elastic.sh` shows how.
#
# [post]:
# https://pytorch.org/blog/fault-tolerant-llama-training-with-2000-synthetic-failures-every-15-seconds-and-no-checkpoints-on-crusoe-l40s/
#
# To read: `Manager.should_commit` in `torchft/manager.py`. Who votes there, and on what?
#
# ## Where next
#
# You've written by hand what torch has ready-made. [Lesson 22](22_torchs_own_words.ipynb) says the
# same in torch's own words.
