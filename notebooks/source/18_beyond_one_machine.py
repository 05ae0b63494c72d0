# %% [markdown]
# # Beyond one machine: launchers, slow links, failures
#
# *Reading 35 minutes · tasks 110 · machine 2*
#
# *With twenty minutes: read as far as LA-1, and then from "Machines fail" to the two laptops.*
#
# All ranks of this course have lived on one machine so far. Large models are trained on thousands,
# and even a small one can be trained on your laptop and your friend's. What breaks when the ranks
# move apart? Three things do. Somebody must start the ranks on every machine and tell them who they
# are. Messages that were a copy in memory become slow. And machines fail: with one you may never
# notice, but with thousands you have to plan for it.
#
# **Question.** What must a training run do differently when its ranks are on different machines?

# %%
import subprocess
import sys
import tempfile
from itertools import product

from helpers.draw import compare, curves
from helpers.grade import check
from helpers.lesson import answer, claim, predict, quick, reveal, show, vary
from helpers.network import Link, TwoHosts, slow_link, why_not
from helpers.ranks import PlaceError, discover, find_place, launch

sys.path[:0] = ["../DP/ddp"]
from sweep import predicted

# %% [markdown]
# ## Who am I?
#
# A **launcher** is a program that starts the same script many times, on one machine or on many:
# torchrun, `mpirun`, Slurm's `srun`, or PALS on clusters with PBS. It must tell each process who it
# is, and all launchers do that in the same way, through **environment variables**: named texts that
# a process inherits when it starts. But each launcher has its own names for them.

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
# finds no GPU number 5 on a machine with four. And all ranks must know one machine's address: rank
# 0 listens there while the ranks find each other, which is called the **rendezvous**.
#
# The scripts of this course that run on ranks call `discover`, so each of them runs under all
# launchers. (There are two exceptions: lesson 12's MPI script asks MPI itself, and GPT-2 in lesson
# 20 starts its own ranks.) The folder `jobs` has a short job script for each launcher. This is
# torchrun's, for several machines:

# %%
print(open("../jobs/torchrun_several_nodes.sh", encoding="utf-8").read())

# %% [markdown]
# Variables stay in the terminal in which they were set, even after the job, and that's a trap.

# %%
predict(
    "L18-1",
    "In your terminal two variables are left from yesterday: RANK=0 and WORLD_SIZE=1. Today mpirun "
    "starts four processes there, and a careless script believes RANK. What happens?",
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
reveal("L18-1")

# %% [markdown]
# So variables that contradict each other must be an error. But there's one exception: `srun` may
# start one torchrun on each machine, and then Slurm's variables count the torchruns while
# torchrun's count the ranks, so they differ and both are right. Torchrun marks its own variables
# with `TORCHELASTIC_RUN_ID`, which is how you can tell.
#
# ### Your turn: LA-1 · 25 minutes · 10 points
#
# Write `from_environment()` in `jobs/count_ranks.py`: find the rank, the world size and the local
# rank in the variables of four launchers, and refuse a stale `RANK`.

# %%
check("LA-1")

# %% [markdown]
# Sometimes no launcher counts the ranks of a machine, but MPI can still tell every rank which host
# each of the ranks runs on. That's enough to count them yourself.
#
# ### Your turn: LA-2 · 20 minutes · 10 points
#
# Write `from_hosts()` in `jobs/count_ranks.py`: the local rank from the host names alone.

# %%
check("LA-2")

# %% [markdown]
# ## When is the network the bottleneck?
#
# Between two machines a message goes through a **link**, and the alpha-beta model of lesson 03
# describes it with two numbers: the latency, and the bandwidth. A cable at home carries 1,000
# megabits a second, Wi-Fi 50 to 500, and a link between two machines of a GPU cluster 400,000 for
# each GPU.
#
# We have no second machine, but a rank can act as if there were one: inside `slow_link` a message
# is handed over only when the slow link would have delivered it. Everything else is real. Let's
# first time a step on a link so fast that it hardly counts:


# %%
def train(ways, links, steps):
    """On a rank: the traces of all ways on all links, and the bytes of the gradients."""
    import intro_DDP

    runs, flags = [], ["--steps", str(steps), "--batch-size", "4", "--bucket-mb", "0.5"]
    for link, way in product(links, ways):
        options = intro_DDP.read_flags([*flags, "--average", way])
        with slow_link(link):
            runs.append(intro_DDP.train(options, find_place(), "cpu", lambda *_: None))
    return [trace for *_, trace in runs], sum(p.nbytes for p in runs[0][1].parameters())


def best_step(traces):
    """All ranks' traces of the fastest step of a run, from one update of rank 0 to the next."""
    whole = traces[0].merged(*traces[1:])
    ends = sorted(e.end for e in whole.events_of(0) if e.kind == "update")
    steps = zip(ends, ends[1:], strict=False)
    return whole.between(*min(steps, key=lambda step: step[1] - step[0]))


# %% tags=["time"]
ranks = launch(train, 2, (["flat"], [Link(100_000)], quick(10, 3)), quiet=True, checked=False)
size, step = ranks[0][1], best_step([runs[0] for runs, _ in ranks])
t_b = max(e.duration for e in step.events_of(0) if e.kind == "B")
rest = step.duration - t_b
print(f"{size / 4:,.0f} gradients of 4 bytes")
print(f"backward {1e3 * t_b:.0f} ms, forward and all the rest {1e3 * rest:.0f} ms")

# %%
predict(
    "L18-2",
    "At which bandwidth does the all-reduce of these gradients, between two ranks, take just as "
    "long as the backward?",
    "near 2 megabits a second",
    "near 200 megabits a second",
    "near 20,000 megabits a second",
)

# %% [markdown]
# In a ring all-reduce of $n$ ranks, each sends $2\frac{n-1}{n}$ of the bytes in $2(n-1)$ messages.
# With size $S$, latency $\alpha$ and bandwidth $1/\beta$, as in lesson 03, that takes
#
# $$t_S = 2(n-1)\,\alpha + 2\,\frac{n-1}{n}\,\beta S.$$

# %% tags=["time"]
equal = 8 * size / t_b / 1e6  # two ranks send 2 (2 - 1) / 2 = once the size
links = [Link(equal / times, milliseconds=0.5) for times in (0.1, 0.5, 1, 2)]
for link in links:
    t_s = link.all_reduce_seconds(size, 2)
    print(f"{link.megabits:6,.0f} megabits a second: {1e3 * t_s:4.0f} ms to send")
reveal("L18-2", megabits=equal)

# %% [markdown]
# So far each machine has had a single rank. If several ranks of a machine share its cable, the time
# also depends on which ranks are neighbors in the ring: eight ranks on two hosts can be numbered
# side by side, or dealt out to the hosts like cards.
#
# ### Your turn: LA-3 · 30 minutes · 15 points
#
# Write `ring_seconds()` in `jobs/count_ranks.py`: how long an all-reduce takes, given the host of
# each rank.

# %%
check("LA-3")

# %% [markdown]
# ## What can overlap save?
#
# `flat`, which averages all gradients in one message after backward, computes and then sends, so
# the times add up: $t_F + t_B + t_S$. The buckets of lesson 09 send while backward is still
# computing. Suppose backward takes twice as long as forward, and sending takes just as long as
# backward.

# %%
predict(
    "L18-3",
    "How much shorter can a step with perfect overlap be than the flat one?",
    "20 %",
    "40 %",
    "50 %: sending disappears behind computing",
)

# %% tags=["time"]
t_s = [link.all_reduce_seconds(size, 2) for link in links]
for link, sending in zip(links, t_s, strict=True):
    together, hidden = rest + t_b + sending, rest + max(t_b, sending)
    saves = f"{1e3 * hidden:4.0f} ms overlapped: {1 - hidden / together:.0%} less"
    print(f"{link.megabits:6,.0f} megabits: {1e3 * together:4.0f} ms in turn, {saves}")
reveal("L18-3")

# %% [markdown]
# Only backward can hide anything, because there are no gradients during forward. So the step takes
# at least $t_F + \max(t_B, t_S)$, and the saving is largest where $t_S = t_B$: three units instead
# of five, if backward takes two and forward one. (The table shows less, because its steps also
# contain everything besides forward and backward, such as the update, and nothing is hidden behind
# that.) Where sending takes much longer than backward, the rank is idle no matter what.
#
# With a running kernel, two sliders change the link. Watch which step gets longer, and why. (This
# is lesson 09's prediction, with your machine's times and eight buckets.)


# %% tags=["time"]
def on_a_link(megabits, milliseconds):
    each = [(rest + t_b * n / 8, size / 8) for n in range(1, 9)]
    ways = {"flat": 1e6, "overlap": 0.001}  # MB of a bucket
    link = Link(megabits, milliseconds)
    return compare({way: predicted(each, rest + t_b, link, 2, mb) for way, mb in ways.items()})


vary(on_a_link, megabits=(round(equal), 10, 50, 100, 500, 1000, 10_000), milliseconds=(0.5, 5, 20))

# %% [markdown]
# And now for real: two ranks train both ways on each of the four links, `flat` and with your
# `Buckets` of DP-4 (lesson 09). The line "at least" is the bound from above.

# %% tags=["time"]
ways = ("flat", "buckets")
done = launch(train, 2, (ways, links, quick(10, 3)), quiet=True, checked=False)
steps = [best_step([runs[i] for runs, _ in done]) for i in range(len(links) * len(ways))]
flat_steps, bucket_steps = steps[::2], steps[1::2]
x = [1e3 * sending for sending in t_s]
bound = [1e3 * (rest + max(t_b, sending)) for sending in t_s]
measured = {"flat": flat_steps, "buckets": bucket_steps}
lines = {name: dict(zip(x, [1e3 * s.duration for s in each], strict=True))
         for name, each in measured.items()}  # fmt: skip
lines["at least"] = dict(zip(x, bound, strict=True))
saved = 1 - bucket_steps[2].duration / flat_steps[2].duration
words = "where sending takes as long as backward: ms with buckets, and flat"
claim.below(words, 1e3 * bucket_steps[2].duration, 1e3 * flat_steps[2].duration)
title = f"Where sending takes as long as backward, buckets save {100 * saved:.0f} %"
show(curves(lines, title, x="ms to send", y="ms a step"))

# %% [markdown]
# Here is the step on the third link, where sending takes as long as backward, both ways on one
# scale:

# %% tags=["time"]
pictures = {"flat": flat_steps[2], "buckets": bucket_steps[2]}
show(compare(pictures))

# %% [markdown]
# No overlap can beat the bound, and in practice buckets stay above it, for two reasons. The last
# bucket is full only when backward ends, so its message has nothing to hide behind. And here the
# CPU that computes backward also has to carry the messages, so backward itself takes longer while
# they're in transit. On a fast link, where there's little to hide, that can cost more than the
# overlap saves.
#
# What helps on a much slower link is to **send less**: 16 bits instead of 32 halve the bytes, and
# DiLoCo (lesson 04) communicates only once every few hundred steps. Or let each rank take a larger
# batch, so that it computes for longer and sends the same.
#
# ## Two hosts, for real
#
# Linux can split its own network. A **network namespace** is a part of the machine with its own
# interfaces and addresses, and it sees nothing of the rest. We make two of them, put a cable
# between them, and let Linux slow the cable down. In each namespace torchrun starts one rank,
# exactly as on two machines, and then the two ranks must find each other over the cable.


# %% tags=["time"]
def on_two_hosts(link):
    if why := why_not() or quick("", "two launchers take a while"):
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
# ## Machines fail

# %%
predict(
    "L18-4",
    "Say that a GPU, with everything around it, works for nearly six years on average before it "
    "fails, and 16,384 of them train one model. How long does it take until one of them fails?",
    "three hours",
    "three weeks",
    "three months",
)

# %%
hours = 5.8 * 365 * 24
print(f"nearly six years are {hours:,.0f} hours; divided by 16,384: {hours / 16_384:.1f} hours")
reveal("L18-4")

# %% [markdown]
# While Llama 3 was trained on so many GPUs, it was interrupted 419 times in 54 days by something
# unexpected ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4), which is about once in
# three hours. When one rank is gone, the others can only wait for it. So the whole job stops, and
# starts again from what was saved last, a **checkpoint**.
#
# Here two ranks are to train for 12 steps, and they save a checkpoint after every 5. In step 8 we
# kill rank 1.


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
# The rank had no time to report anything. Its end was noticed from outside, and the other rank was
# stopped at once.
#
# Now start again, with *three* ranks, as if the broken machine had been replaced by two, and
# compare the losses with those of a run that nothing has interrupted.

# %%
(losses, begun), *_ = launch(survive, 3, (folder.name,), quiet=True)
with tempfile.TemporaryDirectory() as another:
    (unbroken, _), *_ = launch(survive, 2, (another,), quiet=True)
print(f"continues with step {begun}: steps {begun} to 7 are computed a second time")
for step in (begun, 11):
    print(f"step {step}: loss {losses[step]:.6f}, and without a failure {unbroken[step]:.6f}")
apart = max(abs(losses[step] - unbroken[step]) for step in range(begun, 12))
claim.below("the losses differ by less than", apart, 1e-4)
folder.cleanup()

# %% [markdown]
# Kill it yourself. With a running kernel a slider chooses the step, and the button kills rank 1 in
# the middle of it; then three ranks start again:


# %%
def kill(in_step):
    with tempfile.TemporaryDirectory() as place:
        flags = place, "--die-at", str(in_step)
        report = launch(survive, 2, flags, quiet=True, on_error="report")
        begun = launch(survive, 3, (place,), quiet=True)[0][1]
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
# And there's never half a checkpoint. It's written under a draft's name, and it gets its final name
# last, by a rename, which is atomic: the file system does all of it or nothing. That protects
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
# On a cluster nobody sits there to start the ranks again, but `torchrun --max-restarts 3` does it:
# it notices that a rank has ended, stops the others, and starts all of them anew.
# `jobs/torchrun_elastic.sh` shows how.
#
# ## How often should you save?
#
# If you save often, you lose time by saving. If you save rarely, you lose what must be computed a
# second time. Say a save takes $C$ seconds, failures come every $M$ seconds on average, and $t$
# seconds pass from one save to the next. A failure comes somewhere in the interval, so on average
# it costs half of it, and the lost share is
#
# $$\frac{C}{t} + \frac{t}{2M}, \qquad\text{which is smallest where}\quad \frac{C}{t^2} =
# \frac{1}{2M},\quad\text{so}\quad t = \sqrt{2CM}.$$
#
# This is **Young's formula** (1974; Daly refined it in 2006). A save takes 30 s, and something
# fails every 3.1 hours. What's the best $t$, in minutes?

# %%
mine = None
answer("L18-5", mine)

# %% [markdown]
# Some failures don't stop anything, and they're the nastier ones. A **straggler** is a GPU that has
# become slow, for example because it's hot. Every step waits for it, so one slow GPU makes
# thousands slow, without an error. Only the trace of a step shows it: all ranks wait for one. And
# in a **silent data corruption** a chip computes a wrong result. Llama 3's team counts it among
# its causes of interruptions (6 of 419, table 5), and Gemini's expected one to affect training
# every week or two ([2312.11805](https://arxiv.org/abs/2312.11805), section 3). A checkpoint
# doesn't help if it has saved the wrong numbers, so you keep several, and you watch the norm of the
# gradients.
#
# ## Two laptops, one model
#
# Try it with a friend. Both laptops must be on the same network, best by cable, and both need this
# folder with the same version of everything.
#
# 1. Find the address of the first laptop: `hostname -I` (Linux), `ipconfig getifaddr en0` (macOS),
#    `ipconfig` (Windows). Say it's 192.168.1.10. From the other one, `ping 192.168.1.10`.
# 2. The ranks choose their own ports, so a firewall must let the two talk on all ports.
# 3. On the first: `NODE=0 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 4. On the second: `NODE=1 MASTER_ADDR=192.168.1.10 jobs/torchrun_several_nodes.sh`
# 5. The ranks say who they are, and what an all-reduce costs. Find your link in the picture above:
#    is it worth training on two? Then append `DP/ddp/intro_DDP.py --steps 50` to both lines.
#
# If they never meet, the address isn't the one of step 1, or a firewall is between them. If they
# meet and then wait, gloo may have taken the wrong one of several networks: set
# `GLOO_SOCKET_IFNAME` to the right one, such as `en0` or `wlan0`. (On Windows, `set USE_LIBUV=0`
# first. We haven't tried it there.) And don't be surprised that the slower laptop sets the pace: a
# step ends when the last rank has its gradients.
#
# ## What to remember
#
# - Launchers tell a rank its place through environment variables, and contradictions between them
#   must be errors.
# - The local rank chooses the GPU; the rank chooses the data.
# - Compare two times: computing, and bytes sent divided by bandwidth. Overlap hides at most the
#   backward, so it helps most where both take the same time.
# - The more machines, the sooner one fails. Save every $\sqrt{2CM}$ seconds, and by the names of
#   the whole model, so that another number of ranks can continue.
# - A rename makes a checkpoint whole or absent; `fsync` of files *and* folders makes it last.
#
# ## In the wild
#
# - Llama 3 405B: 419 unexpected interruptions in 54 days, about 78 % of them confirmed or suspected
#   hardware, and still more than 90 % of effective training time
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.4).
# - Each of its GPUs had 400 gigabits a second to the network (section 3.3.1): four hundred times
#   your gigabit cable.
# - In version 22.05, Slurm stopped passing `--cpus-per-task` on from `sbatch` to `srun`, and
#   training jobs became slow without an error. `jobs/slurm.sh` has the line that cures it.
#
# Go and read `SimpleElasticAgent._invoke_run` in PyTorch's
# `torch/distributed/elastic/agent/server/api.py`: the loop behind `--max-restarts`. What does it do
# if a worker has failed, and what if a new machine has joined?
#
# ## Where next
#
# You've written by hand what torch has ready-made. [Lesson 19](19_torchs_own_words.ipynb) says the
# same in torch's own words.
