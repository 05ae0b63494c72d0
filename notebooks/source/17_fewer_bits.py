# %% [markdown]
# # Fewer bits: how exact must a number be?
#
# *Reading 65 minutes, tasks 25*
#
# *With twenty minutes: read to the picture of formats, then "Eight bits need a scale" with FB-1.*
#
# A GPU pays for each of its bits in three places: in memory, in the circuits that multiply it, and
# in every message that carries it. An H100 multiplies 8-bit numbers twice as fast as 16-bit ones,
# those twice as fast as TF32, which keeps ten of a float32's 23 bits of mantissa, and full float32
# seven times slower still. So there's a lot to gain, if only the training doesn't notice.
#
# It does notice, in ways that are easy to miss: small gradients turn into zeros, small updates
# disappear, a long sum ignores what is added to it. Each of these has a cure.
#
# **Question.** How few bits can a number have before training notices, and what do they save?

# %%
import math
import sys
from copy import deepcopy

import torch
import torch.distributed as dist

from helpers.check import check, solve
from helpers.cost import ModelConfig, read_config
from helpers.cost.rates import H100
from helpers.cost.rooflines import data_parallel_tokens, expert_width, fsdp_tokens
from helpers.draw import curves
from helpers.lesson import answer, predict, reveal, show, show_code
from helpers.ranks import launch
from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.models import pretrained

# %%
sys.path[:0] = ["../primer/few_bits"]
import train
from blocks import MX, ROW, SQUARE, quantize, restore
from formats import BF16, E4M3, E5M2, FP16, FP32
from recipes import RECIPES, blocks, give, tensor

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## How large, and how exact
#
# With a fixed number of bits one has to choose. A floating-point number has a sign, an exponent
# that says between which two powers of two it lies, and a mantissa that says where between them:
#
# $$x = \pm\, 2^{e} \times 1.m_1 m_2 \dots$$
#
# Bits of the exponent buy **range**, bits of the mantissa buy **precision**: with $m$ of them,
# neighboring numbers lie between half of $2^{-m}$ and $2^{-m}$ of their size apart. Below the
# smallest exponent a format has a few more numbers, evenly spaced to zero, the **subnormals**.
#
# ![Six formats bit by bit, and the magnitudes they reach. fp32: 1 bit of sign, 8 of exponent, 23 of
# mantissa, from 2^-149 to 2^128. bf16: 1, 8 and 7, from 2^-133 to 2^128. fp16: 1, 5 and 10, from
# 2^-24 to 2^16. E4M3: 1, 4 and 3, from 2^-9 to 2^8.81. E5M2: 1, 5 and 2, from 2^-16 to 2^15.8.
# MXFP8: 32 numbers of E4M3 share a scale of 8 bits.](../imgs/formats.svg)
#
# bf16 is fp32 with the last 16 bits cut off: the same range, and much less precise. fp16 is eight
# times as precise as bf16 and has a fraction of its range. The two formats of FP8 are named after
# their bits, E4M3 and E5M2 ([2209.05433](https://arxiv.org/abs/2209.05433)). The last row is a
# trick that we'll come back to: 32 small numbers share one large exponent, so they can be small and
# yet lie anywhere.

# %%
FORMATS = (FP32, BF16, FP16, E4M3, E5M2)
pair = torch.tensor([1000.0, 1001.0])
for f in FORMATS:
    print(f"{f.name}: {f.round(pair).tolist()}")

# %% [markdown]
# fp16 can tell 1,000 from 1,001, and bf16 can't: near 1,000, between $2^9$ and $2^{10}$, neighbors
# lie $2^{9-10} = 1/2$ apart in fp16 and $2^{9-7} = 4$ in bf16. How large is the mistake on average?
# A number $x = s\,2^e$ with $1 \le s < 2$ has a neighbor at a distance of $u = 2^{e-m}$, and
# rounding to the nearest is off by anything up to $u/2$, so its variance is $u^2/12$. Relative to
# $x$ that's $2^{-2m}/(12 s^2)$. Numbers of many sizes have significands spread like $1/s$
# (Benford's law, in base 2), for which $1/s^2$ has the mean $3/(8 \ln 2)$. So rounding changes a
# number by
#
# $$c = 2^{-m} \sqrt{\frac{1}{12} \cdot \frac{3}{8 \ln 2}} \approx 0.212 \times 2^{-m}$$
#
# of itself, root mean square. This one number will tell us most of what follows.


# %%
def away(found, right):
    """How far a tensor is from the right one, as a share of it."""
    return ((found - right).norm() / right.norm()).item()


torch.manual_seed(0)
x = torch.randn(200_000) * 8
for f in (BF16, FP16, E4M3, E5M2):
    off = away(f.round(x), x)
    print(f"{f.name} changes a number by {off:.2%}, the formula says {f.rounding:.2%}")
    assert abs(off / f.rounding - 1) < 0.05

# %% [markdown]
# ## fp16: gradients that vanish
#
# The first GPUs with fast 16-bit products had fp16, and it's a treacherous format. Gradients are
# small. The loss is a mean over all tokens that a replica reads in a step, so the gradient of each
# single activation has the factor one over their number. Let's look at what flows back through the
# layers of our trained model, if its batch is one of 256 that together have 131,072 tokens, so that
# its loss is divided by 256, as in lesson 06.

# %%
tokenizer, net = pretrained("best")
stories = iter(TinyStories(tokenizer, batch_size=4, seq_l=128, world="small", quiet=True))
ids, others = next(stories), next(stories)
SHARE = 131_072 // ids.numel()
copy, flowing = deepcopy(net), []
for module in copy.model.layers.modules():
    if isinstance(module, torch.nn.Linear):
        module.register_full_backward_hook(lambda module, of_x, of_y: flowing.append(of_y[0]))
(causalLLMLoss(copy(ids), ids, tokenizer.vocab_size) / SHARE).backward()
flow = torch.cat([gradient.flatten() for gradient in flowing])
flow = flow[flow != 0].abs()

# %% jupyter={"source_hidden": true}
predict(
    "fewer_bits-2",
    "fp16's smallest number above zero is 6e-8. What share of these gradients becomes zero in it?",
    "about one in a hundred",
    "about a third",
    "about nine in ten",
)


# %%
def histogram(values):
    """The share of the values at each power of two."""
    powers = torch.log2(values).floor().long().clamp(-48, 0)
    counts = torch.bincount(powers + 48, minlength=49) / len(values)
    return {power: counts[power + 48].item() for power in range(-48, 1)}


# %% tags=["training"]
zeros, in_five = ((f.round(flow) == 0).double().mean().item() for f in (FP16, E5M2))
scaled = {"the gradients": histogram(flow), "times 2^20": histogram(flow * 2.0**20)}
print(f"{zeros:.1%} of {len(flow):,} gradients are 0 in fp16, which ends at 2^-24,")
print(f"and {in_five:.1%} in E5M2, which ends at 2^-16")
show(curves(scaled, "Times 2^20, the gradients lie above 2^-24, where fp16 begins",
            x="power of two", y="share of the gradients"))  # fmt: skip
reveal("fewer_bits-2", zeros=zeros)

# %% [markdown]
# The picture shows the way out. If we multiply the loss by $2^{20}$, the chain rule multiplies all
# gradients by the same number; they move to the right as one, to where fp16 has numbers. Before the
# update we divide them again, in float32. This is **loss scaling**
# ([1710.03740](https://arxiv.org/abs/1710.03740)).
#
# By how much? Too small a scale leaves zeros, and too large a one makes infinities. Infinities have
# a virtue: you can't miss them. So let the scale tune itself. Double it from time to time; if a
# gradient becomes infinite, throw that step away and halve it.
#
# In torch this is `torch.amp.GradScaler`, and three lines of a step change: it scales the loss,
# takes the optimizer's step if all gradients are finite, and updates the scale. With several ranks
# there's one more trap. Replicas agree by themselves, since their all-reduce carries an infinity to
# all. But where gradients are sharded, one rank may find an infinity that the others don't see, and
# skip its step alone: there the ranks agree first, with an all-reduce of one number.
#
# Let it find a scale for our model, from a start that's far too high:


# %% tags=["training"]
def found_scales(start, steps):
    """The loss scale after each step of training in fp16, doubling after 8 good steps."""
    model = give(deepcopy(net), RECIPES["fp16, loss scaled"])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3 * SHARE)
    scaler = torch.amp.GradScaler("cpu", init_scale=start, growth_interval=8)
    scales = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = causalLLMLoss(model(ids[:1]), ids[:1], tokenizer.vocab_size) / SHARE
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # divides the gradients, and steps only if all are finite
        scaler.update()  # doubles or halves the scale
        scales.append(scaler.get_scale())
    return scales


scales = found_scales(2.0**45, quick(40, 6))
print("the scale, as a power of two:", *(round(math.log2(scale)) for scale in scales))

# %% [markdown]
# It falls to $2^{30}$, and whenever it tries $2^{31}$ it has to come back, because twice as much is
# infinite. (These steps read one story, so their gradients are four times those of the picture.)
# fp16 ends at $2^{16}$, so the largest number in the backward pass, of an activation or of a
# weight, is between $2^{-15}$ and $2^{-14}$.
#
# To clip gradients, call `scaler.unscale_(optimizer)` first. The scale belongs in the checkpoint: a
# run that starts again with one that's too low loses gradients until it has doubled often enough,
# and you can't see it.
#
# bf16 ended all this. It has the range of fp32, so nothing has to be scaled, and it pays with three
# bits of precision. Training turned out not to miss them, and that's a remarkable fact: a gradient
# from one batch is a noisy estimate anyway, and rounding noise of about one percent, as we'll
# measure below, is small compared with it. A gradient that is *always zero* isn't noise.
#
# ## Updates that vanish
#
# There's one place where training does miss the precision. Around 1, bf16 has the numbers 1,
# 1.0078, 1.0156 and so on, $2^{-7}$ apart. An update changes a weight by perhaps a thousandth.

# %% jupyter={"source_hidden": true}
predict(
    "fewer_bits-3",
    "A weight in bf16 is 1. It gets a thousand updates of +0.002 each. What is it then?",
    "3, or nearly",
    "about 2: from there on the steps are too small",
    "1",
)

# %%
weight, master = torch.ones((), dtype=torch.bfloat16), torch.ones(())
for _ in range(1000):
    weight += 0.002
    master += 0.002
print(f"in bf16: {weight.item()}, and in float32, rounded to bf16 at the end: "
      f"{master.bfloat16().item()}")  # fmt: skip
assert weight == 1
reveal("fewer_bits-3")

# %% [markdown]
# An update smaller than half the distance to the next number rounds back to where it was: for bf16
# everything below $2^{-8}$, or 0.4 %, of a weight just above a power of two, and it happens in
# every step anew. So the optimizer keeps a **master copy** of the weights in float32, adds the
# updates there, and rounds a copy of it for the products. That's where 4 of the 16 bytes a
# parameter of lesson 09 come from.
#
# There's a way without a copy: round up or down by chance, with odds that keep the mean right. A
# bf16 is the upper half of a float32, so **stochastic rounding** adds 16 random bits to the lower
# half and then cuts that half off:

# %%
weight, draw = torch.ones(1000, dtype=torch.bfloat16), torch.Generator().manual_seed(0)
for _ in range(1000):
    bits = (weight.float() + 0.002).view(torch.int32)
    bits += torch.randint(2**16, bits.shape, generator=draw, dtype=torch.int32)
    weight = (bits & -(2**16)).view(torch.float32).bfloat16()
print(f"a thousand such weights: {weight.float().mean():.3f} on average")
assert abs(weight.float().mean() - 3) < 0.05

# %% [markdown]
# Each weight is off by chance, but their mean is right: noise, and not a zero.
#
# ## Eight bits need a scale
#
# With eight bits there's nothing left to choose: E4M3 reaches from $2^{-9}$ to 448, and whatever is
# multiplied has to be moved into that range first. Take the largest magnitude of a tensor, and
# divide by a scale that makes it 448:
#
# $$\text{scale} = \frac{\max |x|}{448}, \qquad \text{code} = \mathrm{round}\!\left(\frac{x}{
# \text{scale}}\right), \qquad x \approx \text{code} \times \text{scale}.$$
#
# This is **current** scaling, which costs a second pass over the tensor. **Delayed scaling** takes
# the largest of the last few steps, and cuts off whatever is larger than all before.
#
# One scale for a whole tensor has an enemy, above all in integers: the **outlier**. Activations of
# large models have single features up to 20 times larger than the rest
# ([2208.07339](https://arxiv.org/abs/2208.07339)), and gradients have rows that matter far more
# than others. The scale follows the largest number, and all others are pushed down toward the end
# of the range. So give each **block** of the matrix a scale of its own. DeepSeek-V3 uses 1 x 128
# for activations and 128 x 128 for weights ([2412.19437](https://arxiv.org/abs/2412.19437), section
# 3.3.2). The MX formats use 1 x 32, and make do with a scale of eight bits, an exponent without
# mantissa that's called E8M0 ([2310.10537](https://arxiv.org/abs/2310.10537)).
#
# ### Your turn: FB-1 · 10 minutes · 5 points
#
# Write `quantize()` and `restore()` in `primer/few_bits/blocks.py`: a matrix into blocks of eight
# bits that share a scale, and back. `tiles()` cuts the matrix for you.

# %%
check("FB-1")

# %% jupyter={"source_hidden": true}
predict(
    "fewer_bits-4",
    "In a matrix of 128 x 1,024 Gaussian numbers, one is made 1,000 times as large as typical. "
    "What happens to the others in E4M3 with one scale for all?",
    "nothing: they're as exact as before",
    "they lose about half of their precision",
    "most of them become zero",
)

# %%
torch.manual_seed(0)
matrix = torch.randn(128, 1024)
CASTS = {
    "one scale": tensor(E4M3),
    "128 x 128": blocks(SQUARE),
    "1 x 128": blocks(ROW),
    "MX, 1 x 32": blocks(MX, powers=True),
}


# %%
def others_away(cast, size):
    """How far all numbers but the outlier are from what they were."""
    x = matrix.clone()
    x[5, 700] = size
    off = cast(x) - x
    off[5, 700] = 0
    return (off.norm() / matrix.norm()).item()


sizes = [10.0**n for n in range(1, 9)]
found = {name: {s: others_away(cast, s) for s in sizes} for name, cast in CASTS.items()}

# %% jupyter={"source_hidden": true}
show(curves(found, "Only an outlier beyond 10,000 hurts, and only what shares its scale",
            x="size of one outlier", y="error of the others", log="xy"))  # fmt: skip
reveal("fewer_bits-4", error=found["one scale"][1000.0])
for name in ("one scale", "1 x 128"):
    kept = [CASTS[name](g)[g != 0] for g in (g.flatten(0, -2) for g in flowing)]
    print(f"{name}: {(torch.cat(kept) == 0).double().mean():.2%} of the gradients become 0")

# %% [markdown]
# E4M3 is more forgiving than its eight bits suggest, because it's a *floating*-point format: 1,000
# times smaller than the largest is still above its subnormals, with all three bits of its mantissa.
# The smallest number it can represent is $2^{-9}$, and half of that rounds to zero. So if the
# outlier is $A$, a number vanishes below
#
# $$\frac{A}{448} \times 2^{-10} = \frac{A}{458{,}752}.$$
#
# With blocks the damage stays in one block: at most 16,383 neighbors, or 127, or 31. What does it
# cost? A float32 scale for 128 numbers adds a quarter of a bit to each, and so does an E8M0 for 32.
#
# But if E4M3 survives an outlier of 1,000, who needs blocks? Gradients may, because those in the
# histogram spread over more powers of two than E4M3 has. One scale for each tensor turns 4.7 % of
# them into zeros, and blocks almost none. (These are the smallest, and our model won't miss them.)
#
# ## A layer in eight bits
#
# Training a linear layer takes three products, one forward and two backward:
#
# $$Y = X W^{\mathsf T}, \qquad \frac{\partial L}{\partial X} = G\, W, \qquad \frac{\partial L}{
# \partial W} = G^{\mathsf T} X,$$
#
# with $X$ of tokens by features and $G = \partial L / \partial Y$. A product runs fast in eight
# bits only if *both* factors are in it. And here the shape of the blocks matters. Each entry of a
# product is a sum over what the factors share: features in, features out, and *tokens* for the last
# one. A scale can be taken out of a sum only if it's the same for all of its terms, so blocks of 1
# x 128 must lie along the sum:
#
# $$\sum_k a_{ik}\, b_{jk} = \sum_{\text{blocks } K} \alpha_{iK}\, \beta_{jK} \sum_{k \in K}
# \hat a_{ik}\, \hat b_{jk}.$$
#
# $X$ is needed along the features for the first product and along the tokens for the third, so it's
# quantized twice, from what it was in 16 bits, and so is the gradient $G$. Square blocks look the
# same from both sides: $W$ and $W^{\mathsf T}$ share them, which is why weights have them.

# %%
for terms in (128, 512, 4096):
    a, b = torch.randn(64, terms), torch.randn(128, terms)
    off = away(restore(quantize(a, ROW)) @ restore(quantize(b, SQUARE)).T, a @ b.T)
    print(f"{terms:5,} terms: the product is off by {off:.2%}")
    assert abs(off / (math.sqrt(2) * E4M3.rounding) - 1) < 0.05

# %% [markdown]
# Errors and result are both sums of random terms, so both grow like the square root of their
# number, and the ratio stays: $\sqrt 2\, c$, one $c$ for each factor. It takes sums whose terms
# mostly cancel, as they do here and in a fresh layer. The sum itself must be kept in more bits:
# DeepSeek moved each partial sum of 128 terms into float32, since Hopper's tensor cores add FP8
# products in about 14 bits (section 3.3.2).
#
# Here is the backward pass. `by` holds the casts; each gets a matrix whose rows lie along the sum:

# %% jupyter={"source_hidden": true}
show_code("primer/few_bits/recipes.py", "Product.backward")

# %% [markdown]
# ## Does training notice?
#
# `give()` in the same file puts such products into the layers of a LLaMA, and rounds what comes out
# to 16 bits. Everything outside stays in float32: embedding, norms, attention's scores, logits,
# master weights. A recipe is short:
#
# ```python
# "FP8, per tensor":    Products(tensor(E4M3), tensor(E4M3), tensor(E5M2))
# "FP8, blocks of 128": Products(blocks(ROW), blocks(SQUARE), blocks(ROW))
# "MXFP8":              Products(*3 * (blocks(MX, powers=True),))
# ```
#
# The second and third use E4M3 for gradients as well. E5M2 was meant for these because of its
# range; with a scale for each block, range isn't scarce, and the third bit of the mantissa is worth
# more.
#
# First the gradients. We know the truth: one device in float64, on the same batch, which is the
# whole step here. How far is each layer's gradient from it? Our weights come from a file in fp16,
# which would have nothing to round, so we move each by a thousandth at random.


# %%
def of_layers(model, ids=ids, scale=1.0):
    """The gradient of each layer's matrices, as one vector a layer, in float64."""
    model.zero_grad()
    (scale * causalLLMLoss(model(ids), ids, tokenizer.vocab_size)).backward()
    return [
        torch.cat([p.grad.flatten() for p in layer.parameters() if p.dim() == 2]).double() / scale
        for layer in model.model.layers
    ]


# %%
moved, draw = deepcopy(net), torch.Generator().manual_seed(0)
with torch.no_grad():
    for p in moved.parameters():
        p *= 1 + 1e-3 * torch.randn(p.shape, generator=draw)
oracle = of_layers(deepcopy(moved).double())


def errors_of(recipe):
    """How far each layer's gradient is off."""
    found = of_layers(give(deepcopy(moved), recipe), scale=2.0**10 if recipe.scaled else 1.0)
    return [away(*pair) for pair in zip(found, oracle, strict=True)]


SHOWN = ("fp16, loss scaled", "bf16", "FP8, blocks of 128", "MXFP8", "FP8, per tensor")
SHOWN += ("FP8, no scales", "FP4, blocks of 16")
errors = {name: errors_of(RECIPES[name]) for name in SHOWN}

# %% tags=["training"]
title = "Fewer bits of the mantissa, a larger error, and larger still without scales"
show(curves(errors, title, x="layer", y="error of the layer's gradient", log="y"))
mean = {name: sum(of) / len(of) for name, of in errors.items()}
print(f"bf16 is off by {mean['bf16'] / mean['fp16, loss scaled']:.1f} times as much as fp16")
print(f"eight bits: one scale and E5M2 for gradients {mean['FP8, per tensor']:.1%}, "
      f"blocks of 128 and E4M3 {mean['FP8, blocks of 128']:.1%}")  # fmt: skip
assert mean["FP8, blocks of 128"] < mean["FP8, per tensor"]

# %% [markdown]
# Three bits of mantissa less make the error about eight times as large. One draw can't rank the two
# recipes in eight bits, so we took five batches: blocks with E4M3 were 1.8 to 3.2 points better
# each time. But E4M3 with *one* scale was 2.1 to 2.4 better, too, so it's the third bit that helps.
# Still, a gradient that is 14 % off sounds broken. What if we take another batch of stories, and no
# rounding at all? If two gradients have the same length and nothing in common, their distance is
# $\sqrt 2$ of either, by Pythagoras:

# %%
another = of_layers(deepcopy(moved).double(), others)
off = sum(map(away, another, oracle)) / len(another)
print(f"another batch's gradient is away by {off:.2f} of its length")
assert abs(off / math.sqrt(2) - 1) < 0.15

# %% [markdown]
# So two batches this small differ ten times as much as eight bits change one of them. Does training
# notice it? We trained a LLaMA of two layers and width 128 in each format for 120 steps, from the
# same weights on the same stories, with three seeds. A step reads 128 tokens, 15,360 in all, and
# its gradients are as small as if these were one of 1,024 parts of a step of 131,072. The score is
# the distance to the entropy of the text, in nats per token.

# %% tags=["training"]
recorded = train.recorded()
behind, mean = {}, {name: sum(ends) / train.SEEDS for name, ends in recorded.items()}
print("distance to the entropy, by seed".rjust(60))
for name, ends in recorded.items():
    behind[name] = mean[name] - mean["fp32"]
    each = "  ".join(f"{end:.2f}" for end in ends)
    print(f"{name:25} {RECIPES[name].bits:5.2f} bits   {each}   {behind[name]:+.2f} from fp32")

# %% [markdown]
# The seeds differ more than most formats do. But each seed has the same weights and stories in all
# of them, so compare within a column.
#
# Look at what failed. Plain fp16 and plain FP8 lose gradients, 90 % and nearly all of them in the
# trained model above, and bf16 without a master copy its small updates: each of them makes
# something *zero*. With the loss scaled, the same fp16 ends where float32 does. Noise does little:
# in eight bits with scales, the mean of three seeds is within about one percent of float32. Four
# bits, with a float32 scale for each 16 numbers and so 6 bits in all, cost a little. With delayed
# scaling one seed lost 0.15. And one scale for a tensor did as well as blocks: this model is too
# small, or the run too short, to need them.
#
# Read this with care. After 15,360 tokens even the best runs are still three nats above the floor,
# where gradients are large and agree more from batch to batch than later. When they agree less,
# their mean becomes small compared with its noise, so nobody trusts a format before it has followed
# bf16 for many billions of tokens.
#
# `python primer/few_bits/train.py` makes this table. Here is one row of it again, live.

# %% tags=["training"]
again = train.train("FP8, blocks of 128", 0, quick(train.STEPS, 2))
print(f"the first seed: {recorded['FP8, blocks of 128'][0]:.3f} recorded, {again:.3f} now")

# %% [markdown]
# — *A good place for a break* —
#
# ## Bytes on the wire
#
# Fewer bits also make shorter messages, and here lies a trap of its own: an all-reduce doesn't only
# send, it *adds*. A ring adds what arrives to what it has and sends the sum on, so in bf16 each of
# $n - 1$ hops rounds a sum that keeps growing.
#
# Let every rank have a random number of variance 1. A sum of $k$ ranks' numbers has variance $k$,
# and rounding adds an error of variance $c^2 k$. Together with the first rounding of each rank's
# own number, and relative to the whole sum of variance $n$,
#
# $$\text{ring: } c \sqrt{1 + \frac{1}{n} \sum_{k=2}^{n} k} \approx c \sqrt{\frac n2}, \qquad
# \text{tree: } c \sqrt{1 + \log_2 n}, \qquad \text{sum in 32 bits: } c \sqrt 2.$$
#
# A tree rounds each number only $\log_2 n$ times. And if only the *messages* are rounded, and the
# sum is kept in float32, there are two roundings, however many ranks there are.

# %% jupyter={"source_hidden": true}
predict(
    "fewer_bits-7",
    "1,024 ranks add up random numbers in bf16 around a ring. How far off is the result?",
    "about 0.2 %, like any number in bf16",
    "about 4 %: as bad as a single number in E4M3, or worse",
    "more than 100 %: nothing is left",
)


# %%
def around_a_ring(x):
    total = BF16.round(x[0])
    for mine in x[1:]:
        total = BF16.round(total + BF16.round(mine))
    return total


def up_a_tree(x):
    x = BF16.round(x)
    while len(x) > 1:
        x = BF16.round(x[::2] + x[1::2])
    return x[0]


def sum_in_32(x):
    return BF16.round(BF16.round(x).sum(0))


# %%
MANY = (2, 8, 32, 128, 1024)
WAYS = {
    around_a_ring: lambda n: math.sqrt(1 + ((n * n + n) / 2 - 1) / n),
    up_a_tree: lambda n: math.sqrt(1 + math.log2(n)),
    sum_in_32: lambda n: math.sqrt(2),
}
lines = {way.__name__.replace("_", " "): {} for way in WAYS}
for n in MANY:
    x = torch.randn(n, 2000)
    for way, line in zip(WAYS, lines.values(), strict=True):
        line[n] = away(way(x).double(), x.double().sum(0))
show(curves(lines, "Rounding the running sum hurts, rounding only the messages doesn't",
            x="ranks", y="error of the sum", log="xy"))  # fmt: skip
for (words, line), formula in zip(lines.items(), WAYS.values(), strict=True):
    expected = BF16.rounding * formula(1024)
    print(f"{words}, 1,024 ranks: {line[1024]:.2%} off, the formula says {expected:.2%}")
    assert abs(line[1024] / expected - 1) < 0.15
reveal("fewer_bits-7", error=lines["around a ring"][1024])

# %% [markdown]
# All of this holds while each addend is larger than the rounding of the sum. If the replicas agree
# and are many, it isn't any more: a small addend vanishes next to a large sum, each time, as 1,024
# ones in bf16 became 256 in lesson 03. Real gradients lie in between.
#
# This is why Megatron-LM can keep its gradients in float32 while they're reduced, at 4 bytes each,
# and why sending in eight bits takes another algorithm. Let each rank be responsible for a part of
# the vector. Everybody sends it their numbers for that part, in blocks of eight bits; it restores
# them, adds in float32, rounds the sum *once*, and sends it to everybody.
#
# ### Your turn: FB-4 · 15 minutes · 10 points
#
# Write `all_reduce()` in `primer/few_bits/eight_bits.py`. It sends as many numbers as a ring does,
# each in about half of bf16's bytes. It has four lines, and one trap: after it, all ranks must have
# *exactly* the same numbers.

# %%
check("FB-4")


# %%
def on_a_rank(length):
    sys.path[:0] = ["../primer/few_bits"]
    from eight_bits import all_reduce

    generator = torch.Generator().manual_seed(dist.get_rank())
    mine = torch.randn(length, generator=generator)
    exact = mine.double()
    dist.all_reduce(exact)
    return all_reduce(mine), exact


# %%
ranks = launch(on_a_rank, ranks=4, args=(64 * 1024,), quiet=True)
off = away(ranks[0][0].double(), ranks[0][1])
print(f"four ranks, eight bits, two roundings: off by {off:.2%}")
assert abs(off / (math.sqrt(2) * E4M3.rounding) - 1) < 0.05
assert all(torch.equal(r[0], ranks[0][0]) for r in ranks), "all ranks should have the same"

# %% [markdown]
# Gradients are the hard case, because they're added up on the way. FSDP's weights and the tokens of
# lesson 16's experts only travel. So if the layer that they travel to multiplies in eight bits, let
# the *sender* round: what arrives is exactly what the product takes, and nothing more is lost in
# forward. What comes *back* from the experts is added up, weighted, so it travels in bf16.
#
# ## What that does to the bounds of lesson 10
#
# In lesson 10, messages hid behind computing if a replica had at least $F/B$ tokens, with gradients
# of 2 bytes. More generally, let a number on the wire have $b$ bytes. Then data parallelism needs
#
# $$t \;\ge\; \frac b2 \cdot \frac FB .$$
#
# FSDP's gathers and an all-to-all have the same factor, so one byte in all messages halves every
# bound. But FP8 has a second effect, and it goes the other way.

# %% jupyter={"source_hidden": true}
predict(
    "fewer_bits-8",
    "A run changes its products from bf16 to FP8, and leaves all messages at 2 bytes. The products "
    "become twice as fast. What becomes of the tokens that data parallelism needs?",
    "half as many: there are fewer bits",
    "as many: the messages are the same",
    "twice as many",
)

# %%
llama = ModelConfig("llama", 16384, 126, 128, 8, 128, 53248, 128256, 8192)  # Llama 3 405B
deepseek = read_config("../EP/configs/deepseek_v3.json")
LINK = H100.between  # bytes a second, a network card of 400 Gbit/s
# Bytes of a number in a block with a float32 scale: 128 x 128 for weights, 1 x 128 for tokens.
WEIGHT, TOKEN = 1 + 4 / 128**2, 1 + 4 / 128
for words, F, w, b in (
    ("16-bit products, 16-bit messages", H100.peak, 2, 2),
    (" 8-bit products, 16-bit messages", 1979e12, 2, 2),
    (" 8-bit products,  8-bit messages", 1979e12, WEIGHT, TOKEN),
):
    data = data_parallel_tokens(llama, F, LINK, gradient=b)
    sharded = fsdp_tokens(llama, F, LINK, weight=w, gradient=2)
    width = expert_width(deepseek, F, LINK, copies=4, dispatch=b, combine=2)
    print(f"{words}: DP {data:6,.0f} tokens, FSDP {sharded:6,.0f}, experts {width:5,.0f} wide")
reveal("fewer_bits-8")

# %% [markdown]
# These are peaks, 989 and 1,979 TFLOP/s of an H100 and 50 GB/s of one network card. (FSDP gathers
# weights in $b$ bytes and keeps its gradients at 2; DeepSeek's tokens go to four nodes in $b$ bytes
# and come back in 2.) A faster device needs *more* work to hide the same messages. Eight bits in
# the products alone double every bound. Eight bits on the wire as well bring data parallelism back
# to where it was; FSDP and the experts, which still send 16 bits one way, need half as much again.
# So a run that goes to FP8 for speed has to send in FP8 too, and even then it stands still at best.
#
# A step of FP8 training has 8-bit products twice as fast as those of 16 bits. In a bf16 step, 70 %
# of the time goes to products that can be in eight bits, and rounding and scales take another 5 %
# of the old step. How many times as fast is the whole step at most? (Two digits after the point.)

# %%
mine = None
answer("fewer_bits-9", mine)

# %% [markdown]
# That's about what published runs gain over bf16:
#
# - Llama 3 of 405 billion parameters on 512 H100s, one scale for a tensor, weights gathered in FP8:
#   up to 1.5 times. A model of 8 billion on 8 H100s: up to 1.25 times
#   ([torchao](https://docs.pytorch.org/ao/main/workflows/training.html)).
# - Llama 3 70B in MXFP8 on 1,856 B200s, where blocks of 32 are a matter of the hardware: 1.22 to
#   1.28 times
#   ([PyTorch](https://pytorch.org/blog/accelerating-2k-scale-pre-training-up-to-1-28x-with-torchao-mxfp8-and-torchtitan-on-crusoe-b200-cluster)).
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - Bits of the exponent buy range, bits of the mantissa precision. Rounding changes a number by
#   $0.21 \times 2^{-m}$ of itself.
# - In our short runs training hardly noticed noise, but it noticed when most gradients became zero.
#   fp16 loses small gradients, and loss scaling brings them back; bf16 doesn't lose them.
# - Updates are added to master weights in float32, or rounded by chance: a bf16 weight ignores a
#   change below $2^{-9}$ of itself, and just above a power of two one of up to $2^{-8}$.
# - Eight bits need scales. The smaller the block that shares one, the less an outlier can break.
# - Blocks lie along the sum of a product, so activations are quantized twice and weights in
#   squares.
# - Send in few bits, add in many: a ring that adds in bf16 is off by about $c\sqrt{n/2}$, two
#   roundings by $c\sqrt 2$.
# - FP8 products halve the time behind which messages can hide; FP8 messages halve what has to hide.
#
# ## In the wild
#
# - DeepSeek-V3 was trained in FP8 with the blocks of this lesson and E4M3 in all products; compared
#   with bf16, the loss of two smaller models stayed within 0.25 %
#   ([2412.19437](https://arxiv.org/abs/2412.19437), section 3.3). Embedding, logits, routers, norms
#   and attention stayed in 16 or 32 bits. Tokens are dispatched to experts in FP8 and combined in
#   bf16, which [DeepEP](https://github.com/deepseek-ai/DeepEP) implements.
# - ZeRO++ exchanges gradients in blocks of few bits with an all-to-all, as you did
#   ([2306.10209](https://arxiv.org/abs/2306.10209)).
#
# To read: `torchao.float8`, whose `Float8Linear` does what our layers do, with one scale for a
# tensor or a row, and `torch.nn.functional.scaled_mm`, whose `ScalingType` lists this lesson's
# blocks.
#
# ## Where next
#
# Fewer bytes are one answer to a slow link. The other is to send while something else is being
# computed, and that's [lesson 18](18_hiding_messages.ipynb).
