# %% [markdown]
# # Experts: more parameters than a token pays for
#
# *Reading 60 minutes, tasks 65*
#
# *With twenty minutes: read up to "A router left alone", and look at the heat maps.*
#
# A larger dense model learns more from the same text, but every token pays for every parameter: ten
# times the parameters cost ten times the FLOPs, for the word "the" just as for the answer to an
# exam question. A **mixture of experts** breaks this link. In place of one feed-forward network, a
# layer has many, and a small **router** sends each token to a few of them. The others cost that
# token nothing.
#
# But all those weights still have to be somewhere. DeepSeek-V3 has 256 experts in each of 58
# layers, far too many for one GPU. If every GPU holds some of the experts, each token has to travel
# to the experts it has chosen, and nobody knows beforehand which ones those will be.
#
# **Question.** How do tokens find their experts on other devices, and what does it cost if all of
# them want the same one?

# %%
import sys
import time
from copy import deepcopy
from itertools import islice
from statistics import fmean

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.cost import parameters, read_config
from helpers.cost.rates import H100
from helpers.draw import curves, grid, lanes

# %%
from helpers.lesson import claim, predict, reveal, show, show_code
from helpers.ranks import launch
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss
from simplellm.moe import Experts, give_experts, moe_layers
from simplellm.options import make_optimizer

sys.path[:0] = ["../primer", "../EP/experts"]
import dispatch
import intro
import intro_EP
from balance import adjust_bias, balance_loss

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## A layer of experts
#
# The router is one small matrix. For a token $x$ it computes a probability for each of the $E$
# experts and chooses the $k$ most likely, and the layer's result is the weighted sum of what these
# return:
#
# $$p = \mathrm{softmax}(W_r\,x), \qquad y = \sum_{e \,\in\, \mathrm{top}\,k} \frac{p_e}{\sum_{j
# \in \mathrm{top}\,k} p_j}\; E_e(x).$$
#
# Each $E_e$ is an ordinary feed-forward network. (Mixtral divides by the sum of the chosen, as we
# do here. DeepSeek-V3 does, too, but chooses by sigmoids in place of the softmax. Switch, with
# $k = 1$, doesn't divide: the weight would always be 1, and no gradient of the language-modeling
# loss would reach the router.) Some models add a **shared** expert that every token passes through,
# so that the others needn't all learn what is common.
#
# The name of Mixtral 8x7B suggests eight times seven billion parameters.

# %% jupyter={"source_hidden": true}
predict(
    "experts-1",
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
reveal("experts-1")

# %% [markdown]
# A GPU is bad at "each token goes somewhere else" and good at large matrix products, so the layer
# first sorts the rows by expert, then runs each expert once on all of its rows, and finally puts
# the results back. Bringing the rows to their experts is called **dispatch**, and putting the
# results back **combine**.
#
# ![Seven tokens and four experts. Left, a matrix with a colored cell where a token has chosen an
# expert, two in each row. Right, the same choices as rows, sorted by expert. An expert takes four,
# and what lies beyond is hatched: it is dropped. Experts 0 and 1 are on rank 0, experts 2 and 3 on
# rank 1.](../imgs/routing.svg)
#
# The dashed line is the **capacity** of an expert. Early systems needed arrays of a fixed size, so
# an expert took at most
#
# $$C = \left\lceil c\,\frac{t\,k}{E} \right\rceil$$
#
# rows of $t$ tokens, where the *capacity factor* $c$ is a little above 1. First choices come first,
# and rows beyond the capacity are **dropped**: the expert contributes nothing to that token, and
# the residual connection carries the token on. What the expert would have learned from that token
# is lost, too. A model without a limit is called *dropless*, and that's what we'll use.
#
# This is the whole layer. `order` sorts the choices of all tokens by expert, and `run` runs each
# expert once:

# %% jupyter={"source_hidden": true}
show_code("simplellm/moe.py", "MoE.forward")

# %% [markdown]
# On a GPU a **grouped GEMM** takes the place of the loop inside `run`: one kernel multiplies all
# groups of rows, each by its own matrix. It's fast only if the groups are large. The GPU reads each
# of an expert's weights once, 2 bytes, and uses it once for each row, 2 FLOPs, and an H100 computes
# 295 FLOPs in the time in which it reads a byte. So below some 295 rows an expert takes as long as
# reading its weights. If each of 4,096 tokens is sent to 8 of 256 experts, as in DeepSeek-V3, an
# expert has 128 rows, so it pays to bring it the tokens of many ranks.
#
# ## A router left alone
#
# `give_experts` replaces the feed-forward network of each block by 8 experts of half its width, of
# which a token takes 2. So a token passes through as many feed-forward weights as before, while the
# layer has four times as many. Switch reports pre-training up to seven times as fast as a dense
# model on the same resources ([2101.03961](https://arxiv.org/abs/2101.03961), abstract).
#
# Let's train such a model for 400 steps, and see which of its experts it chooses.

# %%
STEPS = quick(400, 3)
FLAGS = ["--layers", "2", "--dmodel", "32", "--lr", "4e-3", "--steps", str(STEPS)]
FLAGS += ["--batch-size", "2"]
options = intro.read_flags(FLAGS)
tokenizer = intro.make_tokenizer(options)
EXPERTS = Experts(experts=8, top_k=2)


# %%
def learn(way="none", steps=STEPS, seed=0):
    """On one device: losses, how busy the experts were, and the model. way: of balancing."""
    torch.manual_seed(seed)
    net = give_experts(intro.make_model(options, tokenizer), EXPERTS)
    optimizer, losses, chosen = make_optimizer(options, net), [], []
    for ids in islice(intro.stories_of_ranks(options, tokenizer, 1), steps):
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        optimizer.zero_grad()
        (loss + extra(net, way)).backward()
        optimizer.step()
        after_step(net, way)
        losses.append(loss.item())
        chosen.append(torch.stack([layer.routing.wanted for layer in moe_layers(net)]))
    return losses, chosen, net


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


# %% tags=["training"]
free, free_chosen, free_net = learn()

# %% [markdown]
# Nothing in the loss asks the router to use all of its experts. Its gradient comes only through the
# weights $p_e$ of the chosen experts: of those chosen, the one that helped more is made more likely
# next time, at the cost of the other.

# %% jupyter={"source_hidden": true}
predict(
    "experts-4",
    "What does training without balancing do to the experts? With equal shares, each would get "
    "12.5 % of its layer's choices. How much does the busiest expert of any layer get after this "
    "training?",
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
    """How many times its share the busiest expert gets."""
    return (counts.max(1).values / counts.double().mean(1)).max().item()


def dropped(counts, c=1.25):
    """The share of the choices that a capacity factor of `c` would drop."""
    room = c * counts.double().mean(1, keepdim=True)
    return ((counts - room).clamp(0).sum() / counts.sum()).item()


# %% tags=["training"]
def over_time(chosen, size=10):
    """Ten steps at a time: how many times its share the busiest expert of any layer has got."""
    return {k: busiest(sum(chosen[k : k + size])) for k in range(0, len(chosen), size)}


counts = wanted(free_net)
show(grid({"no balancing": counts.tolist()}, rows="layer", columns="expert"))
reveal("experts-4", ratio=busiest(counts))

# %% tags=["training"]
for seed in range(5):
    _, chosen, _ = learn(steps=quick(20, 3), seed=seed)
    share = max(over_time(chosen).values())
    print(f"seed {seed}: within 20 steps the busiest expert gets {share:.1f} times its share")

# %% [markdown]
# **Left alone, a router can collapse: in our tiny model it does in some layer, with each of five
# seeds.** Four times its share is the most that an expert can get: every token then sends one of
# its two choices there. A collapse can feed on itself, because an expert that's chosen more often
# also learns more often. With the seed that we trained on it eases a little later, but 400 steps
# don't undo it. And with a capacity, popular experts drop the rows that don't fit.
#
# ## Two ways to balance
#
# The first is a term of the loss. Let $f_e$ be the share of all choices that fell on expert $e$,
# and $\bar p_e$ its mean probability. Switch ([2101.03961](https://arxiv.org/abs/2101.03961),
# section 2.2) adds $\alpha\,L_b$ with
#
# $$L_b = E \sum_e f_e\,\bar p_e.$$
#
# If everything is even, both factors are $1/E$ and $L_b = 1$; if all tokens choose the same $k$
# experts and give them all their probability, $L_b = E/k$. A count has no gradient, so only
# $\bar p_e$ is pushed, and it's pushed down hardest where $f_e$ is largest. (On several ranks, even
# shares of each rank's own tokens are a stronger demand than even shares of all.)
#
# The second way leaves the loss alone, because a gradient that asks for even experts may compete
# with the one that asks for good stories. DeepSeek-V3 adds a **bias** $b_e$ to the router's scores
# when the top $k$ are chosen, and nowhere else. After each step it moves the bias a little: down
# for an expert that had more than the mean, up for one that had less
# ([2408.15664](https://arxiv.org/abs/2408.15664)).
#
# ### Your turn: EP-3 · 20 minutes · 10 points
#
# Write `balance_loss()` and `adjust_bias()` in `EP/experts/balance.py`. Each is two lines; think
# about which of the factors may carry a gradient, and in which direction the bias has to go.

# %%
check("EP-3")

# %% [markdown]
# Now let's repeat the training, once with the loss term and once with the bias.

# %% tags=["training"]
by_loss, loss_chosen, loss_net = learn("loss")
by_bias, bias_chosen, bias_net = learn("bias")
tables = {"not balanced": counts, "balanced by loss": wanted(loss_net),
          "balanced by bias": wanted(bias_net)}  # fmt: skip
runs = dict(zip(tables, map(over_time, (free_chosen, loss_chosen, bias_chosen)), strict=True))
show(curves(runs, "Unbalanced, one expert keeps more than three times its share",
            y="busiest expert (times its share)"))  # fmt: skip
for way, losses in zip(tables, (free, by_loss, by_bias), strict=True):
    print(f"{way}: the busiest has {busiest(tables[way]):.2f} times its share, "
          f"a capacity factor of 1.25 would drop {dropped(tables[way]):.0%}; "
          f"loss {fmean(losses[-10:]):.2f}")  # fmt: skip
assert max(busiest(tables[f"balanced by {way}"]) for way in ("loss", "bias")) < 2

# %% [markdown]
# The bias needs a few dozen steps to catch up with the router, and then holds it. In this one run,
# the bias leaves the loss where it was without balancing, and the balancing loss raises it by some
# hundredths, but one run can't rank the two.
#
# — *A good place for a break* —
#
# ## Experts on four ranks
#
# Now let every rank hold two of the eight experts of each layer, and a full copy of everything
# else, while it reads its own stories as in data parallelism. That's **expert parallelism**. In the
# middle of a layer each rank has rows for every other rank, and exchanging them is an
# **all-to-all**.
#
# ![All-to-all of three ranks, from each a part for each. Before: a0 a1 a2, b0 b1 b2, c0 c1 c2.
# After: a0 b0 c0, a1 b1 c1, a2 b2 c2.](../imgs/all_to_all.svg)
#
# Here the parts aren't equal, because how many rows a rank sends where is up to its router. So the
# ranks first tell each other how many rows are coming: an all-to-all of counts, so that everybody
# can make room, and then one of rows.
#
# In the backward pass every gradient goes back the way its row came. So the backward of an
# all-to-all is an all-to-all, in which the rows to send and the rows to receive (`give` and `take`
# in the code) have changed places. That makes four all-to-alls of rows a layer: tokens out and
# results home, and the same for their gradients.
#
# ### Your turn: EP-1 · 45 minutes · 25 points
#
# Write `AllToAll.forward()`, `AllToAll.backward()` and `Dispatch.run()` in
# `EP/experts/dispatch.py`. The rows arrive sorted by sender, while the experts need them sorted by
# expert, and the results have to go home in the order of arrival. And it has to work even if a rank
# or an expert gets no rows at all.

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
print(f"the logits of four ranks are away from one device's by: {far:.1e}")
assert far < 1e-4
layers = len(moe_layers(free_net))
print(f"all-to-alls of rows in a step: {found[0][1].count('all-to-all') // layers} a layer")

# %% [markdown]
# ## Who sends how much to whom?
#
# Let's send the same four batches through the model that was never balanced, and through the one
# balanced by its bias. The cell in row $i$ and column $j$ is the number of rows that rank $i$ sends
# to rank $j$ in the second layer.

# %% tags=["training"]
even = launch(forward, ranks=4, args=(bias_net, batches), quiet=True)
sent = {name: [rank[2][1] for rank in ranks] for name, ranks in (("no balancing", found),
                                                                ("by bias", even))}  # fmt: skip
show(grid(sent, rows="from rank", columns="to rank"))
most = {name: max(map(sum, zip(*table, strict=True))) for name, table in sent.items()}
equal = sum(map(sum, sent["by bias"])) / 4
print(", ".join(f"{name}: the busiest rank gets {n} rows, {n / equal:.2f} of a share"
                for name, n in most.items()))  # fmt: skip

# %% [markdown]
# Read a column from top to bottom: that's the work that arrives at one rank.

# %% jupyter={"source_hidden": true}
predict(
    "experts-7",
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


class Paced(torch.nn.Module):
    def __init__(self, expert, recorder):
        super().__init__()
        self.expert, self.recorder = expert, recorder

    def forward(self, rows):
        with self.recorder.span("F"):
            time.sleep(PACE * len(rows))
            return self.expert(rows)


def paced(net, batches, crowd):
    """On a rank: a trace of one forward. crowd: added to the bias of the experts of rank 0."""
    recorder = Recorder(dist.get_rank())
    dispatch.spread(net, None, recorder)
    for layer in moe_layers(net):
        for name, expert in layer.experts.items():
            layer.experts[name] = Paced(expert, recorder)
    moe_layers(net)[0].router.bias[:2] += crowd
    with torch.no_grad():
        net(batches[dist.get_rank()])
    counts = [layer.routing.counts.view(4, -1).sum(1).tolist() for layer in moe_layers(net)]
    return recorder.trace(), counts


# %% tags=["time"]
traces, took, expected = {}, {}, {}
for name, crowd in (("balanced by its bias", 0.0), ("a popular rank 0", 0.15)):
    ranks = launch(paced, ranks=4, args=(bias_net, batches, crowd), quiet=True)
    trace = ranks[0][0].merged(*(rank[0] for rank in ranks[1:]))
    arriving = [sum(rank[1][0][to] for rank in ranks) for to in range(4)]  # in the first layer
    spans = sorted((e for e in trace.events if e.kind == "F"), key=lambda e: e.start)[:8]
    took[name] = max(e.end for e in spans) - min(e.start for e in spans)
    expected[name], traces[name] = PACE * max(arriving), trace
    print(f"{name}: rows {arriving} in the first layer")

# %% tags=["time"] jupyter={"source_hidden": true}
show(lanes(traces, "A layer lasts as long as its busiest rank"))
for name in took:
    claim(f"the first layer, {name}", 1e3 * took[name], 1e3 * expected[name], unit=" ms")
reveal("experts-7")

# %% [markdown]
# The ranks meet in every all-to-all, so a layer takes as long as its busiest rank. In the lower
# timeline the three other ranks are hatched for much of the first layer: their rows are done, and
# they wait for rank 0. (With our push, rank 0 gets nearly all rows, 4.0 times its share, and the
# first layer takes three times as long, not four, because the busiest rank already had 1.3 times
# its share without it.)
#
# ## How wide must an expert be?
#
# **Computing takes longer than sending if experts are wider than $(4/9)\,F/B$**, or $(n-1)/n$ of
# that on $n$ ranks, because a rank's own tokens stay. $F$ is the FLOP/s that a rank reaches, and
# $B$ the bytes a second that it sends, while it receives as many. The number of experts doesn't
# matter, nor the width of the model, nor the tokens, if each expert gets enough rows to reach $F$.
#
# A token meets $k$ experts, each with three matrices of $d \times f$. That's $6kdf$ FLOPs forward
# and twice as many backward, $18kdf$ in all. It travels to each of them and back, and so do its
# gradients, four trips of $k$ rows with $d$ numbers of 2 bytes:
#
# $$\frac{8\,k\,d}{B} \le \frac{18\,k\,d\,f}{F} \qquad\Longleftrightarrow\qquad f \ge \frac49\cdot
# \frac FB.$$
#
# (Attention and a shared expert aren't counted. If backward recomputes the whole layer, there are
# six trips for $24kdf$ FLOPs, and the bound becomes $\frac12\,F/B$.) Forward alone has
# $4kd/B \le 6kdf/F$, so its own bound is $(2/3)\,F/B$, and backward's is half of that. Nothing
# hides by itself: a layer waits for its tokens, computes, and waits for them to come home, so at
# the bound it takes twice as long as its computing.
#
# Now put in DeepSeek-V3, whose experts are 2,048 wide and spread over eight nodes, with network
# cards of 50 GB/s:


# %%
def tell(words, copies=8, there=2, back=2):
    """copies: of a token, for its 8 experts. there, back: bytes a number."""
    width = 4 / 9 * copies / 8 * (there + back) / 4 / H100.between
    reached, peak = width * H100.reached, width * H100.peak
    print(f"{words}: {reached:,.0f} wide at 400 TFLOP/s, {peak:,.0f} at the peak of 989")


tell("a copy for each of 8 experts, 2 bytes a number")
tell("a copy for each of 4 nodes, 2 bytes", copies=4)
tell("a copy for each of 4 nodes, 1 byte to the experts", copies=4, there=1)

# %% [markdown]
# Mixtral's experts are 14,336 wide, which is 4 times the first line's bound at 400 TFLOP/s and 1.6
# times the one at the peak. DeepSeek-V3's are 2,048 wide: with the all-to-all that we've written,
# sending would take 1.7 times as long as computing even at 400 TFLOP/s. So its authors changed the
# all-to-all ([2412.19437](https://arxiv.org/abs/2412.19437), sections 2.1.2, 3.2.2 and 3.3.3). What
# goes to the experts, tokens forward and gradients backward, has 8 bits; what comes back has 16. A
# token crosses the slow network **once for each node**, however many experts it has chosen there,
# and finds them over the fast links inside. And it may choose experts on **four nodes** at most:
# the four where the sum of the token's two best scores is largest. **With all of this the bound is
# 1,333 at 400 TFLOP/s, but 6,597 at the 8-bit peak of 1,979.** Experts 2,048 wide are within the
# first and far outside the second: sending takes 0.65 of the time of computing, or 3.2 times as
# long. What they reach is probably between. (The paper speaks of about 1:1, section 3.2.1, but says
# neither at which rate nor whether attention and the shared expert count.) What's left has to hide
# behind something: in the forward pass, behind a shared expert's work and that of other tokens,
# which is what lesson 18 does.
#
# ## Whose gradient is it?
#
# The loss is the mean over all $n$ ranks, $L = \frac1n \sum_r L_r$. For the router, attention and
# norms, each rank has the gradient of its own $L_r$ only, so these are averaged over **all** ranks,
# as in data parallelism. Experts are different. Backward's all-to-all has already brought each
# expert the gradients of all tokens that it served, so its `.grad` is a sum over ranks.
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
# | experts | their replicas | their replicas | $n$ |
#
# `average_gradients()` in `EP/experts/intro_EP.py` is four lines, and it's easy to get one of the
# columns "add up over" and "divide by" wrong.
#
# Now compare the gradients of four ranks with those of one device, in float64, tensor by tensor. An
# expert keeps its number in its name wherever it is, so we can put the ranks' gradients together
# into those of one whole model.


# %%
def gradients_on_ranks(net, batches, average, ep):
    """On a rank: the gradients of its batch, averaged. ep: ranks that share the experts."""
    shared, replicas = intro_EP.make_groups(ep)
    dispatch.spread(net, shared)
    ids = batches[dist.get_rank()]
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    average(net, replicas)
    return {name: p.grad for name, p in net.named_parameters()}


def gathered(average, ep=2):
    """The gradients of one whole model, put together from those of the ranks."""
    found = {}
    for gradients in launch(gradients_on_ranks, 4, (wide, batches, average, ep), quiet=True):
        found |= gradients
    return found


# %%
wide = deepcopy(free_net).double()
whole = deepcopy(wide)
for ids in batches:
    (causalLLMLoss(whole(ids), ids, tokenizer.vocab_size) / 4).backward()
right = {name: p.grad for name, p in whole.named_parameters()}
found = gathered(intro_EP.average_gradients)
off = max((found[name] - gradient).abs().max().item() for name, gradient in right.items())
print(f"{len(right)} gradients of four ranks are those of one device, up to {off:.1e}")
assert off < 1e-12

# %% [markdown]
# ## Find the bug
#
# Here's an average that somebody wrote. It takes the mean over the ranks that hold the same
# weights, which sounds just right.


# %%
def mean_of_those_who_hold_it(net, replicas):
    for name, p in net.named_parameters():
        group = replicas if intro_EP.is_expert(name) else None
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, group=group)


# %% jupyter={"source_hidden": true}
predict(
    "experts-9",
    "Each of four ranks holds all experts (EP 1), or two of them share a set (EP 2), or all do "
    "(EP 4). For which is this average right?",
    "for EP 1 only",
    "for EP 4 only: an expert is then on one rank, so there's nothing to average",
    "for all three: it's the mean over those who hold a weight",
)

# %% [markdown]
# A comparison with one device will tell us.

# %% tags=["training"]
for ep in (1, 2, 4):
    found = gathered(mean_of_those_who_hold_it, ep)
    wrong = [name for name in right if (found[name] - right[name]).abs().max() > 1e-9]
    each = {f"{(found[name].norm() / right[name].norm()).item():.3g}" for name in wrong}
    told = f", all of experts, and {' or '.join(each)} times too large" if wrong else ""
    print(f"EP {ep}: {len(wrong)} of {len(right)} gradients are wrong{told}")
    assert all(map(intro_EP.is_expert, wrong))
reveal("experts-9")

# %% [markdown]
# **The factor is EP**, the number of ranks that share the experts: the mean over $n/\mathrm{EP}$
# replicas divides by that in place of $n$. No loss curve shows it under Adam, which hides a factor
# (lesson 03). The small difference that we'll measure below comes from the constant $\varepsilon$
# that Adam adds to its denominator, and disappears without it (to the last bit, because a factor of
# 4 is exact in floating point). But whoever clips by the norm of the whole gradient takes a
# different step.


# %%
def train_rank(average, epsilon, steps):
    """On a rank: the losses with Adam, where four ranks share all experts."""
    rank, losses = dist.get_rank(), []
    torch.manual_seed(0)
    net = give_experts(intro.make_model(options, tokenizer), EXPERTS)
    shared, replicas = intro_EP.make_groups(4)
    dispatch.spread(net, shared)
    optimizer = torch.optim.Adam(net.parameters(), lr=options.lr, eps=epsilon)
    for ids in islice(intro_EP.make_stories(options, tokenizer, rank, 4, quiet=True), steps):
        loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        optimizer.zero_grad()
        loss.backward()
        average(net, replicas)
        optimizer.step()
        losses.append(loss.item())
    return torch.tensor(losses)


def gap(epsilon):
    """The largest difference of the mean loss, with the right average and with this one."""
    steps = quick(20, 2)
    right, wrong = (
        sum(launch(train_rank, 4, (average, epsilon, steps), quiet=True)) / 4
        for average in (intro_EP.average_gradients, mean_of_those_who_hold_it)
    )
    return (right - wrong).abs().max().item()


# %% tags=["training"] jupyter={"source_hidden": true}
print(f"in 20 steps with Adam the two losses differ by at most {gap(1e-8):.1e}")
without = gap(1e-30)
print(f"with epsilon = 1e-30 by {without}")
assert without == 0.0

# %% [markdown]
# A second bug of this kind lies in the data. In tensor parallelism all ranks read the *same*
# tokens. Carried over to experts, every row is sent and computed once for each rank, each copy goes
# home to its own rank, and the loss looks fine. So `intro_EP.py` compares the ranks' tokens in its
# first step. Where tensor and expert parallelism are combined, the ranks of a tensor-parallel group
# first split their common tokens among themselves, which is sequence parallelism (lesson 14).
#
# ## What it saves, and what it costs
#
# Sharing experts saves memory: each rank keeps $1/\mathrm{EP}$ of their weights and gradients. In
# bf16 DeepSeek-V3's 654 billion weights of experts are 1.3 TB, and on 64 ranks 20 GB each. (EP
# saves nothing of an optimizer's state that ZeRO-1 cuts anyway.) An expert also gets the rows of
# several ranks at a time, in larger products. The price is the all-to-all: four copies of 7,168
# numbers, 1 byte there and 2 back, in 58 layers forward and backward are 10 MB for each token, or
# 0.2 ms of a network card of 50 GB/s.
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A mixture of experts separates the parameters that exist from those a token pays for.
# - A layer is: route, sort the rows by expert, run each expert once, put the results back. On
#   several ranks there's an all-to-all before the experts and another one after them, and backward
#   does the same with the splits exchanged.
# - With experts narrower than $(4/9)\,F/B$ sending takes longer than computing. Fewer bits, one
#   copy for each node and few nodes bring the bound down: for DeepSeek-V3 below the width of its
#   experts at 400 TFLOP/s, but not at the peak.
# - A router left alone can collapse: nearly every token then sends one of its choices to the same
#   expert. A loss term or a bias counters that (here the busiest then had 1.3 or 1.4 times its
#   share), and a layer takes as long as the busiest rank.
# - Gradients of router and attention are added up over all ranks, those of experts over their
#   replicas, and both are divided by the number of *all* ranks. With the mean over the replicas,
#   those of experts are EP times too large, and Adam hides it.
# - Every rank needs tokens of its own; otherwise each token is computed once per rank.
#
# ## In the wild
#
# - DeepSeek-V3: 256 routed experts and 1 shared one in each of 58 layers, 8 chosen; experts spread
#   over 64 GPUs on 8 nodes ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.2). It
#   balances by the bias above, beside a term of the loss with a weight of only 0.0001 (section
#   4.2).
# - Switch: up to 1.6 trillion parameters with one expert a token, best with capacity factors from 1
#   to 1.25, and $\alpha = 0.01$ ([2101.03961](https://arxiv.org/abs/2101.03961), sections 2 and 5).
#
# To read: `_AllToAll` in DeepSpeed's `deepspeed/moe/sharded_moe.py`, which is your autograd
# function for equal splits, and `MoEAlltoAllTokenDispatcher` in Megatron-LM's
# `megatron/core/transformer/moe/token_dispatcher.py`: look for `input_splits` and `output_splits`.
#
# ## Where next
#
# You've now seen all five dimensions: data, pipeline, tensor, context, expert. [Lesson
# 17](17_fewer_bits.ipynb) asks how few bits their products and messages need.
