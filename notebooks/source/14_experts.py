# %% [markdown]
# # Experts: more parameters than a token pays for
#
# *Reading 40 minutes · tasks 65 · machine 1*
#
# *With twenty minutes: read up to the picture of the dispatch, do EP-1, and look at the heat map.*
#
# Larger models are better, and every parameter of a dense model works on every token. So a model
# with ten times the parameters costs ten times the FLOPs, for the word "the" just as for the
# answer to an exam question. A **mixture of experts** breaks this link. In place of one
# feed-forward network, a layer has many, and a small **router** sends each token to a few of
# them. The others cost that token nothing.
#
# But all those weights still have to be somewhere. DeepSeek-V3 has 256 experts in each of 58
# layers, far too many for one GPU. If every GPU holds some of the experts, each token has to
# travel to the experts it has chosen, and nobody knows beforehand which ones those will be.
#
# **Question.** How do tokens find their experts on other devices, and what does it cost if all of
# them want the same one?

# %%
import sys
import time
from copy import deepcopy
from dataclasses import replace
from itertools import islice

import torch
import torch.distributed as dist

from helpers.cluster import Layout, estimate, preset
from helpers.cost import all_to_all_bytes, expert_parallel_bytes, parameters, read_config
from helpers.draw import collectives, compare, curves
from helpers.draw.experts import heat, routing, words_by_expert
from helpers.grade import check

# %%
from helpers.lesson import answer, claim, predict, quick, reveal, show
from helpers.oracle import between, judge, one_step, snapshot
from helpers.ranks import find_place, keep_warm, launch
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss
from simplellm.moe import Experts, give_experts, moe_layers, run_experts
from simplellm.options import make_optimizer

sys.path[:0] = ["../primer", "../EP/experts"]
import dispatch
import intro
import intro_EP
from balance import adjust_bias, balance_loss

torch.set_num_threads(1)  # in this lab, one device is one core
keep_warm(4)  # ranks get ready while you read

# %% [markdown]
# ## A layer of experts
#
# The router is one small matrix. For a token $x$ it computes a probability for each of the $E$
# experts and chooses the $k$ most likely, and the layer's result is the weighted sum of what
# these return:
#
# $$p = \mathrm{softmax}(W_r\,x), \qquad y = \sum_{e \,\in\, \mathrm{top}\,k} \frac{p_e}{\sum_{j
# \in \mathrm{top}\,k} p_j}\; E_e(x).$$
#
# (Two conventions circulate. Mixtral divides by the sum of the chosen probabilities, as we do
# here; Switch, with $k = 1$, doesn't, because then the weight would always be 1 and the router
# would never get a gradient.) Each $E_e$ is an ordinary feed-forward network. Some models add a
# **shared** expert that every token passes through, so that the others needn't all learn what is
# common.
#
# The name of Mixtral 8x7B suggests eight times seven billion parameters.

# %%
predict(
    "L14-1",
    "Mixtral 8x7B has 8 experts in each layer, and a token is sent to 2. How many parameters does "
    "it have in all, and how many work on one token, in billions?",
    "56 in all, 14 on a token",
    "56 in all, 7 on a token",
    "47 in all, 13 on a token",
)

# %%
mixtral = read_config("../EP/configs/mixtral_8x7b.json")
deepseek = read_config("../EP/configs/deepseek_v3.json")
for name, model in (("Mixtral", mixtral), ("DeepSeek-V3", deepseek)):
    count = parameters(model)
    billions = f"{count.total / 1e9:7.2f} billion in all, {count.active / 1e9:5.2f} on a token"
    print(f"{name:12}  {billions}")
reveal("L14-1")

# %% [markdown]
# A GPU is bad at "each token goes somewhere else" and good at large matrix products, so the layer
# first sorts the rows by expert, then runs each expert once on all of its rows, and finally puts
# the results back. Sorting is called **dispatch**, and putting back **combine**.

# %%
show(routing(places=4))

# %% [markdown]
# The dashed line is the **capacity**. Early systems needed arrays of a fixed size, so an expert
# took at most
#
# $$C = \left\lceil c\,\frac{t\,k}{E} \right\rceil$$
#
# rows of $t$ tokens, where the *capacity factor* $c$ is a little above 1. Rows beyond that are
# **dropped**: the expert contributes nothing to that token, and the residual connection carries
# the token on. A model without a limit is called *dropless*, and that's what we'll use unless we
# say otherwise.
#
# A batch has 4,096 tokens, and each is sent to 6 of 64 experts. The capacity factor is 1.25. How
# many rows does an expert take?

# %%
mine = None
answer("L14-2", mine)

# %% [markdown]
# ## Does it learn?
#
# `simplellm/moe.py` has all of this on one page. `give_experts` replaces the feed-forward network
# of each block by 8 experts of half its width, of which a token takes 2. So a token passes
# through as many weights as before, while the layer has four times as many. We train both models
# on the same stories.

# %%
STEPS = quick(100, 3)
FLAGS = ["--layers", "2", "--lr", "1e-2", "--steps", str(STEPS), "--batch-size", "2"]
options = intro.read_flags(FLAGS)
tokenizer = intro.make_tokenizer(options)


# %%
def learn(sizes=None, way="none"):
    """On one device: the losses and the model. way: how the experts are balanced."""
    torch.manual_seed(0)
    net = intro.make_model(options, tokenizer)
    if sizes:
        give_experts(net, sizes)
    optimizer, losses = make_optimizer(options, net), []
    for ids in islice(intro.stories_of_ranks(options, tokenizer, 1), STEPS):
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        optimizer.zero_grad()
        (loss + extra(net, way)).backward()
        optimizer.step()
        after_step(net, way)
        losses.append(loss.item())
    return losses, net


# %%
def extra(net, way):
    """What is added to the loss."""
    if way != "loss":
        return 0.0
    routings = [layer.routing for layer in moe_layers(net)]
    return 0.01 * sum(balance_loss(each.probabilities, each.wanted) for each in routings)


def after_step(net, way):
    if way == "bias":
        for layer in moe_layers(net):
            adjust_bias(layer.router.bias, layer.routing.wanted, rate=0.01)


# %%
predict(
    "L14-3",
    "Both train for the same few steps, with the same FLOPs per token. Which loss ends lower?",
    "that of the experts: they have four times the weights in their feed-forward layers",
    "the dense one's",
    "they are the same: a token passes through as many weights in both",
)

# %% tags=["training"]
EXPERTS = Experts(experts=8, top_k=2)
dense, _ = learn()
free, free_net = learn(EXPERTS)
show(curves({"dense": dense, "8 experts, 2 a token": free}))
ends = [sum(losses[-10:]) / len(losses[-10:]) for losses in (dense, free)]
reveal("L14-3", dense=ends[0], experts=ends[1])

# %% [markdown]
# The experts learn, but so far each of them has seen only a quarter of the tokens on average, and
# the router first has to find out what to send where. Mixtures pay off in runs far longer than
# ours: Switch reports pre-training up to seven times as fast as a dense model on the same
# resources ([2101.03961](https://arxiv.org/abs/2101.03961), abstract).
#
# Nothing in the loss asks the router to use all of its experts. Its gradient comes only through
# the weights $p_e$ of the chosen experts: one that helped is made more likely next time.

# %%
predict(
    "L14-4",
    "What does that do to the experts? With equal shares, each would get 12.5 % of its layer's "
    "choices. How much does the busiest expert of any layer get after this training?",
    "about its share, up to 1.3 times as much",
    "more than 1.3 times as much, up to 2 times",
    "more than twice as much",
)


# %%
def wanted(net):
    """For each layer, how many choices of 16 unseen sequences fall on each expert."""
    unseen = intro.read_flags([*FLAGS, "--batch-size", "16", "--seed", "7"])
    with torch.no_grad():
        net(next(intro.stories_of_ranks(unseen, tokenizer, 1)))
    return torch.stack([layer.routing.wanted for layer in moe_layers(net)])


def busiest(counts):
    """The largest count of any expert, in times its share."""
    return (counts.max(1).values / counts.double().mean(1)).max().item()


def dropped(counts, c=1.25):
    """The share of the choices that a capacity factor of `c` would drop."""
    room = c * counts.double().mean(1, keepdim=True)
    return ((counts - room).clamp(0).sum() / counts.sum()).item()


# %% tags=["training"]
counts = wanted(free_net)
show(heat({"no balancing": counts.tolist()}, rows="layer", columns="expert"))
reveal("L14-4", ratio=busiest(counts))

# %% [markdown]
# The imbalance feeds on itself: an expert that's chosen more often learns more, and so is chosen
# even more often. In a large run some experts would never wake up: we'd pay for their weights and
# never use them. And with a capacity, many of the rows that crowd at the popular experts would be
# dropped.
#
# ## Two ways to balance
#
# The first is a term of the loss. Let $f_e$ be the share of all choices that fell on expert $e$,
# and $\bar p_e$ its mean probability. Switch ([2101.03961](https://arxiv.org/abs/2101.03961),
# section 2.2) adds $\alpha\,L_b$ with
#
# $$L_b = E \sum_e f_e\,\bar p_e.$$
#
# If everything is even, both factors are $1/E$ and $L_b = 1$; if one expert has everything, $L_b =
# E$. A count has no gradient, so only $\bar p_e$ is pushed, and it's pushed down hardest where
# $f_e$ is largest.
#
# The second way leaves the loss alone, because a gradient that asks for even experts competes
# with the one that asks for good stories. DeepSeek-V3 adds a **bias** $b_e$ to the probabilities
# when the top $k$ are chosen, and nowhere else. After each step it moves the bias a little: down
# for an expert that had more than the mean, up for one that had less
# ([2408.15664](https://arxiv.org/abs/2408.15664)).
#
# ### Your turn: EP-3 · 15 minutes · 10 points
#
# Write `balance_loss()` and `adjust_bias()` in `EP/experts/balance.py`. Each is two lines; think
# about which of the factors may carry a gradient, and in which direction the bias has to go.

# %%
check("EP-3")

# %% [markdown]
# Now let's repeat the training, once with the loss term and once with the bias.

# %% tags=["training"]
by_loss, loss_net = learn(EXPERTS, "loss")
by_bias, bias_net = learn(EXPERTS, "bias")
tables = {"loss": wanted(loss_net), "bias": wanted(bias_net)}
panels = {f"by {way}": table.tolist() for way, table in tables.items()}
show(heat(panels, rows="layer", columns="expert"))
for way, table, losses in (("loss", tables["loss"], by_loss), ("bias", tables["bias"], by_bias)):
    tail = sum(losses[-10:]) / len(losses[-10:])
    print(f"by {way}: the busiest has {busiest(table):.2f} times its share, a capacity of 1.25 "
          f"would drop {dropped(table):.0%}; loss {tail:.2f}")  # fmt: skip
best = min(busiest(table) for table in tables.values())
print(f"without balancing {dropped(counts):.0%} would be dropped")
claim.below("times its share of the busiest: balanced, and not", best, busiest(counts), spread=0.2)

# %% [markdown]
# ## What do experts specialize in?
#
# The word "expert" suggests one for animals and one for the weather. Let's see.

# %%
predict(
    "L14-5",
    "In this model, what decides to which expert a token goes first?",
    "what the story is about",
    "where in the sequence the token stands",
    "which token it is",
)


# %% tags=["training"]
def first_choices(net, layer=0, rows=16):
    unseen = intro.read_flags([*FLAGS, "--batch-size", str(rows), "--seed", "7"])
    ids = next(intro.stories_of_ranks(unseen, tokenizer, 1))
    with torch.no_grad():
        net(ids)
    return ids, moe_layers(net)[layer].routing.chosen[:, 0].view_as(ids)


ids, chosen = first_choices(free_net)
pieces = [tokenizer.decode([token]) for token in ids[0, :60].tolist()]
show(words_by_expert([piece or "·" for piece in pieces], chosen[0, :60].tolist()))

# %% [markdown]
# Let's measure how much three things tell us about the expert: the token, its position, and the
# sequence it's in. **Mutual information** counts that in nats. Small samples seem to tell more
# than they do, so we subtract what we get when the experts are shuffled.


# %% tags=["training"]
def tells(about, experts):
    """The mutual information of two columns of whole numbers, in nats."""
    table = torch.zeros(int(about.max()) + 1, int(experts.max()) + 1, dtype=torch.double)
    table.index_put_((about, experts), torch.ones(len(about)).double(), accumulate=True)
    joint = table / table.sum()
    apart = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    return (joint * (joint / apart).log()).nansum().item()


torch.manual_seed(0)
flat = chosen.flatten()
shuffled = flat[torch.randperm(len(flat))]
row, place = (torch.arange(n) for n in ids.shape)
columns = {"sequence": row[:, None].expand_as(ids), "position": place.expand_as(ids), "token": ids}
nats = {k: tells(v.flatten(), flat) - tells(v.flatten(), shuffled) for k, v in columns.items()}
print(", ".join(f"the {name} tells {value:.2f} nats" for name, value in nats.items()))
reveal("L14-5", best=max(nats, key=nats.get))

# %% [markdown]
# Larger models show the same: Mixtral's authors found no experts for subjects, but consistent
# ones for syntax, such as indentation in code ([2401.04088](https://arxiv.org/abs/2401.04088),
# section 5).
#
# — *A good place for a break* —
#
# ## Experts on four ranks
#
# Now let every rank hold two of the eight experts of each layer, and a full copy of everything
# else, while it reads its own stories as in data parallelism. That's **expert parallelism**. In
# the middle of a layer each rank has rows for every other rank, and exchanging them is an
# **all-to-all**.

# %%
show(collectives(("all-to-all",)))

# %% [markdown]
# Here the parts aren't equal, because how many rows a rank sends where is up to its router. So
# the ranks first tell each other how many rows are coming: an all-to-all of counts, so that
# everybody can make room, and then one of rows.

# %%
predict(
    "L14-6",
    "Count the all-to-alls of rows that one layer of experts needs in one training step, forward "
    "and backward.",
    "1",
    "2",
    "4",
)

# %%
tokens = 2 * 4096 * mixtral.moe.chosen * mixtral.hidden  # bytes of the rows of one sequence
trips = expert_parallel_bytes(mixtral, 1, 4096, ep=4) / all_to_all_bytes(tokens, 4)
print(f"Mixtral on 4 ranks: {trips:.0f} all-to-alls of {tokens / 1e6:.0f} MB for each sequence")
reveal("L14-6")

# %% [markdown]
# Tokens go out and results come home, and in the backward pass every gradient goes back the way
# its row came. So the backward of an all-to-all is an all-to-all, in which the rows to send and
# the rows to receive (`give` and `take` in the code) have changed places.
#
# ### Your turn: EP-1 · 30 minutes · 20 points
#
# Write `AllToAll.forward()`, `AllToAll.backward()` and `Dispatch.run()` in
# `EP/experts/dispatch.py`. The rows arrive sorted by sender, while the experts need them sorted
# by expert, and the results have to go home in the order of arrival. And it has to work even if a
# rank or an expert gets no rows at all.

# %%
check("EP-1")


# %% [markdown]
# `spread` puts a `Dispatch` into each layer and keeps only this rank's experts. We give each rank
# one of four batches, and compare its logits with those of the same model on one device.


# %%
def batch_of(rank, rows=1):
    mine = intro.read_flags([*FLAGS, "--batch-size", str(rows), "--seed", "3"])
    return next(iter(intro_EP.make_stories(mine, tokenizer, rank, 4, quiet=True)))


def forward(net, batches):
    """On a rank: the logits, the kinds of events of a step, and who sent how much to whom."""
    recorder = Recorder(dist.get_rank())
    dispatch.spread(net, None, recorder)
    logits = net(batches[dist.get_rank()])
    logits.sum().backward()
    rows = [layer.routing.counts.view(4, -1).sum(1).tolist() for layer in moe_layers(net)]
    return logits.detach(), [event.kind for event in recorder.trace().events], rows


# %%
batches = [batch_of(rank) for rank in range(4)]
found = launch(forward, ranks=4, args=(free_net, batches), quiet=True)
with torch.no_grad():
    pairs = zip(batches, (logits for logits, _, _ in found), strict=True)
    far = max((free_net(ids) - logits).abs().max().item() for ids, logits in pairs)
claim.below("the logits of four ranks are away from one device's by less than", far, 1e-4)
layers = len(moe_layers(free_net))
print(f"all-to-alls of rows in a step: {found[0][1].count('all-to-all') // layers} a layer")

# %% [markdown]
# ## Who sends how much to whom?
#
# Let's send the same four batches through the model that was never balanced, and through the one
# balanced by its bias. Each cell is the number of rows that one rank (its row) sends to another
# (its column) in the second layer.

# %% tags=["training"]
even = launch(forward, ranks=4, args=(bias_net, batches), quiet=True)
sent = {name: [rank[2][1] for rank in ranks] for name, ranks in (("no balancing", found),
                                                                ("by bias", even))}  # fmt: skip
show(heat(sent))
most = {name: max(map(sum, zip(*table, strict=True))) for name, table in sent.items()}
equal = sum(map(sum, sent["by bias"])) / 4
print(", ".join(f"{name}: the busiest rank gets {n} rows, {n / equal:.2f} of a share"
                for name, n in most.items()))  # fmt: skip

# %% [markdown]
# Read a column from top to bottom: that's the work that arrives at one rank.

# %%
predict(
    "L14-7",
    "In a layer, one of four ranks gets twice its share of the rows, and the other three get the "
    "rest. If only the experts' computing counts, how long does the layer take, compared with even "
    "shares?",
    "just as long: the sum of the rows is the same",
    "1.25 times as long, since only one of four is late",
    "twice as long",
)

# %% [markdown]
# To see it, we use ranks that are **paced**: before they compute, they sleep 0.4 ms for each row,
# however busy this machine is, so that the times can be predicted from the rows. And with the
# router's bias we can make a rank as popular as we like.

# %%
PACE = 4e-4  # seconds a row


def paced(net, batches, crowd):
    """On a rank: a trace of one forward. crowd: added to the bias of the experts of rank 0."""
    recorder, place = Recorder(dist.get_rank()), dist.get_rank()

    def slowly(experts, rows, counts):
        with recorder.span("F"):
            time.sleep(PACE * len(rows))
            return run_experts(experts, rows, counts)

    dispatch.run_experts = slowly
    dispatch.spread(net, None, recorder)
    moe_layers(net)[0].router.bias[:2] += crowd
    with torch.no_grad():
        net(batches[place])
    counts = [layer.routing.counts.view(4, -1).sum(1).tolist() for layer in moe_layers(net)]
    return recorder.trace(), counts


# %% tags=["time"]
traces, took, foretold = {}, {}, {}
for name, crowd in (("nearly even shares", 0.0), ("a popular rank 0", 0.15)):
    ranks = launch(paced, ranks=4, args=(bias_net, batches, crowd), quiet=True)
    trace = ranks[0][0].merged(*(rank[0] for rank in ranks[1:]))
    arriving = [sum(rank[1][0][to] for rank in ranks) for to in range(4)]  # in the first layer
    spans = sorted((e for e in trace.events if e.kind == "F"), key=lambda e: e.start)[:4]
    took[name] = max(e.end for e in spans) - min(e.start for e in spans)
    foretold[name], traces[name] = PACE * max(arriving), trace
    print(f"{name}: rows {arriving}; predicted {1e3 * foretold[name]:.0f} ms for the first layer, "
          f"measured {1e3 * took[name]:.0f} ms")  # fmt: skip
show(compare(traces))
reveal("L14-7")

# %% tags=["time"]
for name in took:
    claim(f"the first layer with {name}", 1e3 * took[name], 1e3 * foretold[name], unit=" ms")

# %% [markdown]
# The ranks meet in every all-to-all, so a layer takes as long as its busiest rank. In the lower
# timeline the three other ranks are hatched for much of the first layer: their rows are done, and
# they wait for rank 0. (The measured layers differ by less than a factor of two, because without
# our push the shares aren't quite even either.)
#
# And how many bytes travel? A row of DeepSeek-V3 has 7,168 numbers of 2 bytes each in bfloat16,
# and a token is sent to 8 experts. If all of them are on other ranks, how many kilobytes (1,000
# bytes) does one token send in one dispatch of one layer?

# %%
mine = None
answer("L14-8", mine)

# %% [markdown]
# ## Whose gradient is it?
#
# The loss is the mean over all $n$ ranks, $L = \frac1n \sum_r L_r$. For the router, attention and
# norms, each rank has the gradient of its own $L_r$ only, so these are averaged over **all**
# ranks, as in data parallelism. An expert is different, because the all-to-all of the backward
# pass has brought it the gradients of the tokens of every rank that sends to it, so after
# backward its `.grad` is already a sum over ranks.
#
# With 4 ranks we can also form two halves of two ranks and let each half hold all experts. Then
# there are two replicas of each expert, which makes it DP x EP. An expert's gradient is now a sum
# over the two ranks of its own half, and what's missing is the other half's:
#
# $$\frac{\partial L}{\partial w} = \frac1n \sum_{\text{replicas}} \Big( \sum_{r \,\in\,
# \text{half}} \frac{\partial L_r}{\partial w} \Big).$$
#
# | weights | equal on | add up over | divide by |
# |---|---|---|---|
# | router, attention, norms, embedding | all ranks | all ranks | $n$ |
# | experts | their replicas | their replicas | $n$, although there are fewer replicas |
#
# ### Your turn: EP-2 · 20 minutes · 15 points
#
# Write `average_gradients()` in `EP/experts/intro_EP.py`. It's easy to get one of the two columns
# on the right wrong.

# %%
check("EP-2")


# %% [markdown]
# Now compare a step of four ranks with a step of one device, in float64, tensor by tensor. An
# expert keeps its number in its name wherever it is, so we can put the ranks' gradients together
# into those of one whole model.


# %%
def step_on_ranks(net, batches, average):
    """On a rank: one step of SGD, with two replicas of two ranks."""
    intro_EP.average_gradients = average or intro_EP.average_gradients
    shared, replicas = intro_EP.make_groups(2)
    dispatch.spread(net, shared)
    before, ids = snapshot(net), batches[dist.get_rank()]
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    intro_EP.average_gradients(net, replicas)
    with torch.no_grad():
        for p in net.parameters():
            p -= 0.3 * p.grad
    return between(before, snapshot(net))


# %%
def verdict(average=None):
    steps = launch(step_on_ranks, ranks=4, args=(wide, batches, average), quiet=True)
    parts = {kind: {} for kind in ("before", "gradients", "after")}
    for kind, whole in parts.items():
        for step in steps:
            whole |= getattr(step, kind)
    return judge(right, replace(steps[0], **parts))


# %%
wide = deepcopy(free_net).double()
right = one_step(
    wide,
    lambda net, ids: causalLLMLoss(net(ids), ids, tokenizer.vocab_size),
    batches,
    lambda ps: torch.optim.SGD(ps, lr=0.3),
)
good = verdict()
claim.same(good.headline, good.ok)

# %% [markdown]
# ## Find the bug
#
# Here's an average that somebody wrote for two replicas on two ranks each. It takes the mean over
# the ranks that hold the same weights, which sounds just right.


# %%
def mean_of_those_who_hold_it(net, replicas):
    for name, p in net.named_parameters():
        group = replicas if intro_EP.is_expert(name) else None
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, group=group)


def train_rank(average):
    """On a rank: the losses of the script, with Adam and two replicas."""
    intro_EP.average_gradients = average or intro_EP.average_gradients
    flags = [*FLAGS, "--steps", str(quick(20, 2)), "--batch-size", "1", "--ep", "2"]
    return intro_EP.train(intro_EP.read_flags(flags), find_place(), "cpu", lambda *_: None)[0]


# %%
predict(
    "L14-9",
    "The mean over two replicas divides by 2 where it should divide by 4, so the gradients of all "
    "experts are twice as large as they should be. What does the loss under Adam look like?",
    "it jumps up and down, as with a learning rate that is too high",
    "like the right one",
    "it falls clearly more slowly, because the experts overshoot",
)

# %% tags=["training"]
runs, theirs = {}, mean_of_those_who_hold_it
for name, average in (("your average", None), ("the mean over replicas", theirs)):
    losses = launch(train_rank, ranks=4, args=(average,), quiet=True)
    runs[name] = [sum(each) / 4 for each in zip(*losses, strict=True)]
show(curves(runs))
gap = max(abs(a - b) for a, b in zip(*runs.values(), strict=True))
reveal("L14-9", gap=gap)

# %% [markdown]
# At first the two curves can't be told apart. Then they scatter, though neither stays ahead: Adam
# adds a tiny constant, $\varepsilon = 10^{-8}$, to the size that it divides by, so the factor
# doesn't cancel to the last bit, and a layer of experts magnifies the least difference as soon as
# it sends one token to another expert. (With $\varepsilon = 10^{-30}$ the two runs are equal to
# the last bit.)
#
# The mistake comes to light as soon as somebody clips by the norm of the whole gradient or
# switches the optimizer. The comparison with one device sees it at once. (Our four ranks hold the
# model together, so to `judge` they're one rank with four micro-batches.)

# %% tags=["training"]
bad = verdict(mean_of_those_who_hold_it)
print(bad.headline)
print(bad.mistake)
wrong = [row.name for row in bad.rows if row.kind == "gradient" and not row.ok]
claim.same("of the wrong gradients, experts'", sum(map(intro_EP.is_expert, wrong)), len(wrong))

# %% [markdown]
# A second bug of this kind lies in the data, before the model. In tensor parallelism all ranks
# read the *same* tokens, and it's easy to carry that over by mistake.

# %%
predict(
    "L14-10",
    "All four ranks read the same batch. What happens in a layer of experts?",
    "the ranks disagree about the splits, and the all-to-all fails",
    "the all-to-all merges equal rows, so nothing is lost",
    "every row is sent and computed four times, and the loss looks fine",
)


# %%
def same_batch(net, ids):
    """On a rank: the rows that all experts compute in the first layer, and what the check says."""
    dispatch.spread(net)
    net(ids)
    rows = moe_layers(net)[0].routing.counts.sum()
    dist.all_reduce(rows)
    try:
        dispatch.require_own_tokens(ids)
    except ValueError as error:
        return rows.item(), str(error)


rows, said = launch(same_batch, ranks=4, args=(free_net, batches[0]), quiet=True)[0]
print(f"{batches[0].numel()} tokens with 2 experts each, and {rows} rows are computed")
print(said)
reveal("L14-10")

# %% [markdown]
# The script makes this check once, in its first step. Where tensor and expert parallelism are
# combined, the ranks of a tensor-parallel group first split their common tokens among themselves.
#
# ## What it saves, and what it costs
#
# Sharing experts saves memory: each rank keeps $1/\mathrm{EP}$ of them, with their gradients and
# their optimizer's state, and ZeRO-1 cuts that state once more, among the replicas of each expert
# (`zero_1` in the script). It also makes the matrix products larger, because an expert gets the
# rows of several ranks at a time, and leaves a rank fewer gradients to average. The price is the
# all-to-all. Here is Mixtral 8x7B in the cluster model, on 64 H100s, 8 of them in each machine: 8
# replicas of 4 stages, with each layer split between 2 GPUs by tensor parallelism.

# %%
common = {"batch": 128, "sequence": 4096, "dp": 8, "pp": 4, "tp": 2, "zero": 1, "flash": True}
for ep in (1, 2, 4, 8):
    layout = Layout(**common, sequence_parallel=True, recompute="none", ep=ep)
    done = estimate(mixtral, layout, preset("H100"))
    print(f"EP {ep}: {done.seconds:.2f} s a step, MFU {done.utilisation.mfu:.0%}, "
          f"{done.memory.total / 1e9:.0f} GB on a GPU")  # fmt: skip

# %% [markdown]
# With 2 GPUs for each layer, EP 4 fills one machine of 8. EP 8 reaches across two machines, so
# half of the rows leave over the slower network: memory keeps falling, but the step gets longer
# again. (The cluster model assumes that all experts are equally busy.)
#
# ## What to remember
#
# - A mixture of experts separates the parameters that exist from those a token pays for.
# - A layer is: route, sort the rows by expert, run each expert once, put the results back. On
#   several ranks there's an all-to-all before the experts and another one after them, and
#   backward does the same with the splits exchanged.
# - A router left alone prefers a few experts. A loss term or a bias keeps them even, and a layer
#   takes as long as the busiest rank.
# - Gradients of router and attention are added up over all ranks, those of experts over their
#   replicas, and both are divided by the number of *all* ranks. Adam hides it if you don't.
# - Every rank needs tokens of its own; otherwise each token is computed once per rank.
#
# ## In the wild
#
# - DeepSeek-V3: 256 routed experts and 1 shared one in each of 58 layers, 8 chosen; 671 billion
#   parameters, of which 37 billion work on a token; experts spread over 64 GPUs on 8 nodes, and a
#   token is sent to at most 4 nodes ([2412.19437](https://arxiv.org/abs/2412.19437), sections
#   2.1.2 and 3.2). It balances by the bias above, beside a term of the loss with a weight of only
#   0.0001 (section 4.2).
# - Mixtral 8x7B: 8 experts, 2 chosen, 47 billion parameters, 13 on a token
#   ([2401.04088](https://arxiv.org/abs/2401.04088)).
# - Switch: up to 1.6 trillion parameters with one expert a token, capacity factors from 1 to 1.25
#   and $\alpha = 0.01$ ([2101.03961](https://arxiv.org/abs/2101.03961), sections 2 and 5).
#
# To read: `_AllToAll` in DeepSpeed's `deepspeed/moe/sharded_moe.py`, which is your autograd
# function for equal splits, and `MoEAlltoAllTokenDispatcher` in Megatron-LM's
# `megatron/core/transformer/moe/token_dispatcher.py`: look for `input_splits` and `output_splits`.
#
# ## Where next
#
# You've now seen all five dimensions: data, pipeline, tensor, context, expert. [Lesson
# 15](15_what_training_costs.ipynb) counts what each of them costs before anybody rents a machine.
