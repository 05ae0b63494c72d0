# %% [markdown]
# # One device: a small LLaMA learns to tell stories
#
# *Reading 45 minutes, tasks 20*
#
# *With twenty minutes: read to "One step", then train under "How good can it get?", and play.*
#
# Nearly every parallel layout in this course has one duty: it must do what one device would have
# done, only faster, or with a model that one device can't hold. If two pipelines of three stages
# arrive at a different gradient from one device, they're wrong, however fast they are. So we need
# to know that one device really well: what the model is made of (because we're going to cut it into
# pieces), what a training step is (because we're going to divide it), and how good a model can get
# (because we want to notice when ours falls short).
#
# **Question.** How does a language model learn, and how good can it possibly get?

# %%
import math
import sys
import time
from itertools import islice

import torch

from helpers.check import check, solve
from helpers.draw import curves
from helpers.lesson import answer, claim, predict, reveal, show, show_code, vary
from simplellm.losses import causalLLMLoss
from simplellm.models import NAMES, facts, pretrained
from simplellm.stories import floor, story

sys.path[:0] = ["../primer"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The text
#
# The model reads children's stories. A small grammar that comes with this lab writes them, so we
# get as many as we want without a download. More important, we know exactly how much of a story is
# chance, and that will soon pay off.

# %%
print(story(4, world="small"))

# %% [markdown]
# A model doesn't read letters. A **tokenizer** cuts the text into pieces, called **tokens**, and
# gives each piece a number. The set of all pieces is the **vocabulary**. Ours has 1,200: some 400
# whole words, fragments of words, and the 256 values of a byte, from which any text can be spelled.

# %% jupyter={"source_hidden": true}
options = intro.read_flags([])
tokenizer = intro.make_tokenizer(options)

# %%
ids = tokenizer.encode("Once there was a curious hippopotamus.")
print(ids)
print([tokenizer.decode([i]) for i in ids], "of", tokenizer.vocab_size, "pieces")

# %% [markdown]
# "curious" is in the vocabulary and "hippopotamus" isn't, so it's spelled in smaller pieces. No
# word is ever out of reach; it just takes more tokens.
#
# ## The model
#
# Our model is a small LLaMA: the same parts in the same order as in Llama 3 405B, only smaller (and
# there, every sixteen heads of queries share one of keys and values, and each of ours has its own).
# A batch goes in on the left, 3 **sequences** of 128 tokens. Out comes, for each of the 3 × 128
# positions, one score for each piece of the vocabulary that might come next.
#
# ![A LLaMA of 547,648 parameters. Ids of shape (3, 128) go through an embedding (76,800
# parameters), six blocks (65,664 each), a norm (64) and a head (76,800), and come out as logits of
# shape (3, 128, 1,200); in between the shape is (3, 128, 64). A block adds two branches to what
# goes past them: a norm and attention with four heads and four matrices of 64 by 64, then a norm
# and SwiGLU with three of 64 by 256.](../imgs/llama.svg)
#
# From left to right:
#
# - The **embedding** replaces each token by a vector of 64 numbers, its row of a table. From here
#   on, the batch is a tensor of *hidden states*, and its shape doesn't change until the end. (This
#   is why a pipeline works so well: whichever blocks we cut between, the message has the same
#   shape.)
# - Each **block** adds two things to what passes through it. **Attention** lets a token collect
#   information from the tokens before it. **SwiGLU** then works on each token alone. Before each of
#   the two comes a **norm**, which keeps the numbers at a reasonable size.
# - The **head** compares each vector with a vector for every piece of the vocabulary. The results
#   are the **logits**: the larger, the likelier.
#
# Let's check the drawing against the real thing.

# %% jupyter={"source_hidden": true}
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
batch = next(intro.stories_of_ranks(options, tokenizer, ranks=3))

# %%
with torch.no_grad():
    hidden = net.model.embed_tokens(batch)
    print("ids", tuple(batch.shape), "-> embedding", tuple(hidden.shape))
    hidden = net.model.run_layers(hidden)
    print("after six blocks", tuple(hidden.shape))
    print("logits", tuple(net.lm_head(net.model.norm(hidden)).shape))
count = sum(p.numel() for p in net.parameters())
print(f"{count:,} parameters, as many as the drawing says")
assert count == 547_648

# %% [markdown]
# ## Attention
#
# Everything in the model works on each token alone, except for attention. So take a sentence that
# can't be continued that way: *There once was a curious girl named Lily.* The next token is decided
# at the period, and the story almost always goes on with *She*. But a period by itself knows
# nothing of a girl. It has to fetch that from another token.
#
# Each token makes three vectors out of its hidden state, each by a product with a matrix. Its
# **query** says what it's looking for, its **key** says what it has to offer, and its **value** is
# what it hands over. Token $i$ compares its query with the keys of all tokens up to itself. The
# softmax turns these scores into weights that add up to 1, and what token $i$ receives is the mean
# of the values with these weights:
#
# $$S_{ij} = \frac{q_i \cdot k_j}{\sqrt{d_h}}, \qquad
# P_{ij} = \frac{e^{S_{ij}}}{\sum_{j' \le i} e^{S_{ij'}}}, \qquad
# y_i = \sum_{j \le i} P_{ij}\, v_j .$$
#
# The sums end at $i$, because a token mustn't see what it has to predict. Dividing by $\sqrt{d_h}$,
# where $d_h$ is how many numbers a query has, keeps the scores from growing with $d_h$. And a model
# does this several times in parallel, in **heads**: each of our four has its own queries, keys and
# values of 16 numbers, and the matrix O mixes what they have found. (So that a head can ask for
# *the token before me*, queries and keys are rotated first, by an angle that grows with the
# position. Lesson 15 needs the details.)
#
# Here is that as code. We put it into a model that ships with this lab and has been trained for 41
# minutes, instead of its own attention. And we add a blindfold: words that no later token may see.

# %%
best = pretrained("best")[1]
ids = [tokenizer.eos_id, *tokenizer.encode("There once was a curious girl named Lily. She loved")]
words = [tokenizer.decode([i]).strip() or "(start)" for i in ids]
at, hidden, looks = words.index("."), [], []


def attend(q, k, v, **more):  # each is (batch, heads, tokens, 16)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    future = torch.ones_like(scores).triu(1).bool()
    scores = scores.masked_fill(future, -math.inf)
    for j in map(words.index, hidden):
        scores[..., j + 1 :, j] = -math.inf
    weights = scores.softmax(-1)
    looks.append(weights[0, :, at])  # block by block: where the period looks, in each head
    return weights @ v


with torch.no_grad():
    before = best(torch.tensor([ids]))
    for part in best.modules():
        if hasattr(part, "mix"):  # what mixes the tokens of a block
            part.mix = attend
    assert torch.allclose(best(torch.tensor([ids])), before, atol=1e-3)
for block, head in ((0, 1), (2, 3)):
    most, j = looks[block][head].max(0)
    print(f"block {block}, head {head}: the period looks at {words[j]} with a weight of {most:.0%}")

# %% [markdown]
# One head looks at the girl and another at her name. But where a head looks isn't yet what the
# model needs. So we hide the word *girl*, in all heads of all blocks. (Hiding it from the period
# alone wouldn't be enough: *named* comes after *girl* and could tell the period what it has read.)

# %% jupyter={"source_hidden": true}
predict(
    "one_device-2",
    "With girl hidden, how likely does the model think She is?",
    "about 50 %: nothing is left that tells a girl from a boy",
    "still more than 90 %",
    "less than 10 %: without a girl, it expects He",
)


# %%
pronouns = {word: tokenizer.encode(f"named Lily. {word} loved")[-2] for word in ("She", "He")}


def chances(*words_to_hide):
    hidden[:] = words_to_hide
    with torch.no_grad():
        p = best(torch.tensor([ids]))[0, at].softmax(-1)
    return ", ".join(f"{word} {p[i].item():.2%}" for word, i in pronouns.items())


# %%
for hide in ((), ("girl",), ("Lily",), ("girl", "Lily")):
    print(f"{chances(*hide)}, without {' and '.join(hide) or 'hiding anything'}")
hidden.clear()
reveal("one_device-2")

# %% [markdown]
# Either word will do. Without both the model is sure of the wrong one. Don't read much into that:
# it never met such a sentence in training. It was never told what a girl is, or that Lily is one.
# The matrices that make queries and keys began as random numbers, as every matrix of the model did,
# and training made them look for these words.
#
# ## The loss
#
# The softmax turns the 1,200 logits of a position into probabilities $p_\theta(\cdot \mid x_{<i})$
# of the next token, given the tokens before it. We'd like the token that really comes to be likely.
# The probability of the whole text is the product of these. With thousands of factors it's too
# small for any float, so we take logarithms, which turn it into a sum, and because optimizers
# minimize, we flip the sign:
#
# $$L(\theta) = \frac{1}{t} \sum_{i=1}^{t} \ell_i, \qquad
# \ell_i = -\log p_\theta(x_i \mid x_{<i}).$$
#
# This is the **loss**: the mean over all $t$ tokens of how *surprised* the model was by each. With
# the natural logarithm its unit is the **nat**. (Other names that you'll meet for the same thing:
# cross-entropy, negative log-likelihood. In bits it's $L / \ln 2$.)
#
# To get a feeling for the number, take $e^L$, the **perplexity**. A model that wavers between $k$
# equally likely tokens at each step has a loss of $\log k$, so its perplexity is $k$: the number of
# tokens it's hesitating between.  Our net has small random weights, so its logits are close to 0
# and all 1,200 pieces about equally likely. Its loss should be near ln 1,200.

# %%
loss = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
print(f"before training {loss.item():.2f} nats per token, and ln 1,200 = {math.log(1200):.2f}")

# %% [markdown]
# That's a test you can do in your head for a model with fresh weights: if the first loss isn't near
# the logarithm of the vocabulary, something is wrong before training has begun. **Where does the
# loss of Llama 3 start, with its 128,256 pieces?** (Some questions want a number: replace `None`
# with yours and run the cell. One decimal will do.)

# %%
mine = None
answer("one_device-3", mine)

# %% [markdown]
# ## One step
#
# A training step has three parts, and in this course each has its color:
#
# 1. **Forward** (F): from the tokens to the loss $L$.
# 2. **Backward** (B): from the loss back to the **gradient** $\partial L / \partial W$ of every
#    weight $W$. It says how the loss changes if the weight does. Note what is differentiated: the
#    loss, not the model's output.
# 3. **Update** (U): move each weight a little in the direction in which the loss falls,
#    $W \leftarrow W - \lambda \, \partial L / \partial W$. The factor $\lambda$ is the **learning
#    rate**, and this plainest of all rules is **SGD**, stochastic gradient descent.

# %%
loss.backward()
with torch.no_grad():
    for weight in net.parameters():
        weight -= 0.05 * weight.grad
    after = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
print(f"the loss before the step: {loss.item():.4f}, and after: {after.item():.4f}")
assert after < loss

# %% [markdown]
# In practice few models are trained with plain SGD. **Adam** takes a running mean of each weight's
# gradients and divides it by a running estimate of their size, so all weights move at about the
# same pace; ours uses it, and so did Llama 3 (with weight decay, as AdamW). With either optimizer,
# the learning rate is the number to get right. A training loop is this step over and over:

# %% jupyter={"source_hidden": true}
show_code("primer/intro.py", "train", "for step", "losses.append")

# %% jupyter={"source_hidden": true}
predict(
    "one_device-4",
    "We train with learning rates of 0.001, 0.01 and 0.1. After 40 steps 0.01 is ahead of 0.001. "
    "And 0.1?",
    "lower still: ten times the rate is ten times as fast",
    "about the same: Adam evens out the size of the steps",
    "higher than with 0.01",
)


# %% tags=["training"]
def train_alone(flags):
    """Train on one device, as the script does that is started with these flags."""
    return intro.train(intro.read_flags(flags), lambda step, loss: None)


flags = ["--size", "story", "--steps", quick("40", "2"), "--lr"]
rates = {rate: train_alone([*flags, str(rate)])[0] for rate in (0.001, 0.01, 0.1)}
named = {f"learning rate {rate}": run for rate, run in rates.items()}
show(curves(named, "A rate that's too small crawls, and one that's too large jumps"))
good, tenfold = (sum(rates[rate][-5:]) / 5 for rate in (0.01, 0.1))

# %% tags=["training"] jupyter={"source_hidden": true}
print(f"mean loss of the last steps: {good:.2f} with 0.01, {tenfold:.2f} with 0.1")
reveal("one_device-4")

# %% [markdown]
# ## A batch is a mean
#
# Three ranks that averaged their gradients took the step of one (lesson 00). Why? The loss of a
# batch is the mean of its sequences' losses, or of any $m$ pieces in which the same number of
# tokens are predicted. Differentiation is linear, so the gradient of a mean is the mean of the
# gradients:
#
# $$\nabla \Big( \frac{1}{m} \sum_{k=1}^{m} L_k \Big) = \frac{1}{m} \sum_{k=1}^{m} \nabla L_k .$$


# %%
def gradient(rows):
    net.zero_grad()
    causalLLMLoss(net(rows), rows, tokenizer.vocab_size).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


whole = gradient(batch)
mean = (gradient(batch[0:1]) + gradient(batch[1:2]) + gradient(batch[2:3])) / 3
largest, difference = whole.abs().max().item(), (whole - mean).abs().max().item()
print(f"the two differ by {difference:.1e}, and the largest gradient is {largest:.1e}")
assert difference < 1e-5 * largest

# %% [markdown]
# Half of this course rests on this one line, because the gradients don't have to be computed at the
# same time, nor in the same place.
#
# - In different places, it's **data parallelism**: each device computes one term, and they average.
#   That's lesson 03.
# - One after the other, it's **gradient accumulation**: one device goes forward and backward
#   through a piece of the batch, keeps adding to the gradients, and makes its step only after the
#   last piece. Why bother? Memory. Backward needs what forward has computed, the **activations**,
#   and all of them wait in memory until backward has used them.
#
# Let's measure how much we save with one sequence instead of three. PyTorch lets us see every
# tensor that is kept for backward.


# %%
def kept(rows):
    """Bytes that forward keeps for backward, without the weights."""
    sizes = {}

    def keep(tensor):  # autograd calls it with each tensor that it keeps
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        causalLLMLoss(net(rows), rows, tokenizer.vocab_size)
    weights = {p.untyped_storage().data_ptr() for p in net.parameters()}
    return sum(size for place, size in sizes.items() if place not in weights)


of_three, of_one = kept(batch), kept(batch[:1])
print(f"{of_three / 1e6:.1f} MB for three sequences, {of_one / 1e6:.1f} for one")
claim("times as many bytes for three", of_three / of_one, 3, within=0.05)

# %% [markdown]
# One condition is easy to overlook: the pieces must hold the same number of tokens. If they don't,
# each has to be weighted by its $t_k$ of the $t$ tokens, $L = \sum_k (t_k / t)\, L_k$. Until
# October 2024 several widely used trainers forgot that, so training with accumulated gradients
# differed from training on the whole batch. (The repair [began
# here](https://github.com/huggingface/transformers/pull/34191) in transformers: a loss may divide
# by the tokens of the whole batch.)
#
# ### Your turn: TR-1 · 20 minutes · 10 points
#
# Write `train()` in `primer/loop.py`: the loop at the heart of every training script, here with
# gradient accumulation. For each batch it takes one step of the optimizer and records the batch's
# loss. With `pieces=3` it takes the batch through the model in three pieces, and neither the losses
# nor the weights may show it. The check compares your loop with a correct one: the same losses and
# the same weights, up to rounding, and as many sequences in each forward pass.
# %%
check("TR-1")


# %% [markdown]
# Now your loop trains the model of the drawing twice, with whole batches and in pieces, and
# `primer/intro.py` trains it once more.


# %%
import loop


def by_my_loop(pieces):
    torch.manual_seed(options.seed)
    fresh = intro.make_model(options, tokenizer)
    batches = islice(intro.stories_of_ranks(options, tokenizer, 1), quick(20, 2))
    return loop.train(fresh, batches, intro.make_optimizer(options, fresh), pieces)


my_losses = {"whole batches": by_my_loop(1), "three pieces each": by_my_loop(3)}
twenty = ["--steps", quick("20", "2")]
my_losses["primer/intro.py"], _, _ = train_alone(twenty)
apart = max(max(each) - min(each) for each in zip(*my_losses.values(), strict=True))

# %% jupyter={"source_hidden": true}
show(curves(my_losses, "Whole or in pieces, your loop or the script's: one curve"))
print(f"nats between any two of the three curves: {apart:.1e}")
assert apart < 1e-4

# %% [markdown]
# ## How good can it get?
#
# For most texts we can't know. A loss of 2 may be excellent for one text and poor for another,
# because every text has some chance in it: even a perfect reader can't know which name the girl in
# the next story will have.
#
# That chance can be measured. Say the text is drawn from a distribution $q$, and the model predicts
# $p_\theta$. The expected loss splits in two:
#
# $$\mathbb{E}_q[-\log p_\theta]
# = \underbrace{\mathbb{E}_q[-\log q]}_{\text{entropy } H(q)}
# + \underbrace{\mathbb{E}_q\Big[\log \frac{q}{p_\theta}\Big]}_{\text{KL divergence, } \geq 0}.$$
#
# The second term is never negative: the logarithm is concave, so
# $-\mathbb{E}_q[\log(p_\theta/q)] \geq -\log \mathbb{E}_q[p_\theta/q] = -\log 1 = 0$. It's what a
# model can still learn. The first is what no model can ever learn: the **entropy** of the text.
# Here the text comes from a grammar, so $q$ is known, and the entropy of a story can be computed
# exactly: it's 54 nats. Divided by the mean length of a story, which we count on 500 of them, it's
# what we call the **floor**.

# %% jupyter={"source_hidden": true}
predict(
    "one_device-6",
    "A perfect reader of these stories knows the grammar by heart. Between how many tokens does it "
    "hesitate at each step? (This is its perplexity.)",
    "about 1.3",
    "about 13",
    "about 130",
)

# %%
least = floor(tokenizer, world="small")
print(f"floor {least.nats_per_token:.3f} nats per token, perplexity {least.perplexity:.2f}")
reveal("one_device-6")

# %% [markdown]
# So there's a number to beat, or rather a number that can't be beaten. Let's train. We take two
# blocks instead of six here, because they learn faster in a short time, and a learning rate that
# rises over the first steps, stays, and falls to almost nothing at the end.

# %% tags=["training"] jupyter={"source_hidden": true}
flags = ["--size", "story", "--lr-schedule", "decay", "--steps", quick("450", "3")]
losses, teller, trace = train_alone(flags)

# %% tags=["training"]
title = "The loss falls fast at first, and then has a long way to the floor"
show(curves({"two blocks": losses}, title, floor=least.nats_per_token))
last = sum(losses[-10:]) / len(losses[-10:])
print(f"perplexity {math.exp(losses[0]):,.0f} before, {math.exp(last):.1f} after, "
      f"{least.perplexity:.1f} for a perfect reader")  # fmt: skip
print(f"nats per token: a perfect reader {least.nats_per_token:.2f}, ours {last:.2f}")
assert least.nats_per_token < last

# %% [markdown]
# It's still above the floor. It has seen few stories so far, and two blocks may be too few. And
# part of the gap no training removes: sequences cut the stories anywhere, and a reader of the
# second half can't know the child's name until it comes up again. **Where in a sequence does that
# cost most: everywhere alike, at its beginning, or at its end, where there's most to remember?**
# The model that was trained for 41 minutes reads 300 new sequences, and we take its loss at each
# position:

# %%
other = intro.read_flags(["--seed", "7", "--batch-size", "50"])  # stories it hasn't read
nats = []
for rows in islice(intro.stories_of_ranks(other, tokenizer, 1), quick(6, 1)):
    with torch.no_grad():
        log_p = best(rows).log_softmax(-1)[:, :-1]
    nats.append(-log_p.gather(2, rows[:, 1:, None]).squeeze(2))
lost = torch.cat(nats).mean(0)  # at 127 positions: the last has no next token to predict
of_eight = {start: lost[start : start + 8].mean().item() for start in range(0, 127, 8)}
title, axis = "A sequence costs most where it begins", "position (means of eight)"
show(curves({"41 minutes": of_eight}, title, floor=least.nats_per_token, x=axis))
above = lost - least.nats_per_token
early = (above[:16].sum() / above.sum()).item()
print(f"{above.mean():.3f} nats above the floor, {early:.0%} of them in the first 16 positions; "
      f"{above[63:].mean():.3f} in the second half")  # fmt: skip
assert early > 0.5

# %% [markdown]
# ## A first story
#
# To write, the model gives the probabilities of the next token, we draw one, append it, and ask
# again. The **temperature** $\tau$ divides the logits $z$ before the softmax,
# $p_i \propto e^{z_i / \tau}$: near 0 the likeliest token always wins, at 1 we sample from the
# model's own probabilities, and above 1 unlikely tokens get a better chance.


# %% tags=["training"]
def tell(model, temperature, seed, length=150):
    end = tokenizer.eos_id
    how = {"temperature": temperature, "eos_id": end, "cache": True}  # keep keys and values
    ids = model.generate([end], quick(length, 8), seed=seed, **how)
    return tokenizer.decode([i for i in ids if i != end])


print(tell(teller, temperature=0.5, seed=1))

# %% [markdown]
# Before this training, the matrices of this model held random numbers, and the gradient of its
# surprise is all it ever learned from. Now tell a story of your own:


# %% tags=["training"]
def story_of_mine(temperature, seed):
    return tell(teller, temperature, seed)


vary(story_of_mine, temperature=(1.0, 0, 0.2, 0.4, 0.6, 0.8, 1.5, 2.0), seed=range(10))

# %% [markdown]
# ## The model of the drawing, trained for longer
#
# The model with six blocks ships with this lab, saved at three moments of a longer training. Its
# loss is that of stories that no model has read, in sequences of 256 tokens. A sentence is right if
# the grammar could have written it somewhere. That doesn't make a story right: look for a mother
# who turns into a grandma.

# %% tags=["training"]
for name in NAMES:
    f = facts(name)
    right = f"{f['right'] / f['sentences']:4.0%} of its sentences are right"
    words = f"{f['minutes']:5.1f} minutes, {f['tokens']:9,} tokens"
    print(f"{name:<7}{words}, {f['loss']:.2f} nats per token, {right}")
print("\n" + tell(pretrained("best")[1], temperature=0.6, seed=0))

# %% [markdown]
# A checkpoint is also a place to start from. On new text that's called *fine-tuning* (in a
# terminal: `python primer/intro.py --from best --text my_diary.txt`). Continuing on the same text
# is called *resuming*, and it takes more than the weights: the state of the optimizer, too (lesson
# 21).
#
# ## Where the time goes
#
# The training left a **trace**: what ran when. Take one product in the forward pass, $Y = XW$, with
# $t$ rows (tokens) and a weight of $a \times b$. It takes $2tab$ FLOPs. Backward gets
# $\partial L / \partial Y$ and needs two products of the same size:
#
# $$\frac{\partial L}{\partial X} = \frac{\partial L}{\partial Y} W^\top \quad (2tab), \qquad
# \frac{\partial L}{\partial W} = X^\top \frac{\partial L}{\partial Y} \quad (2tab).$$
#
# The first is passed on to the previous layer, and the second is what the update needs. So backward
# has twice the FLOPs of forward, and a step takes $2 + 4 = 6$ FLOPs per weight and token, for all
# weights that stand in products (the embedding is looked up, and attention has products without
# weights): a rule that you'll need in lesson 09. For Llama 3 405B that's
# $6 \cdot 405 \cdot 10^9 \cdot 15.6 \cdot 10^{12} = 3.8 \cdot 10^{25}$, the number with which
# lesson 00 began. But FLOPs are not seconds.

# %% tags=["time"]
from helpers.trace import Trace

events = trace.events  # F, B, update, F, B, update …
spans = [events[i : i + 9] for i in range(0, len(events) - 8, 3)]
three = Trace(min(spans, key=lambda span: span[-1].end - span[0].start))
show(three)


# %% tags=["time"]
def seconds(kind):
    return [e.end - e.start for e in events if e.kind == kind]


ratio = min(seconds("B")) / min(seconds("F"))
print(f"backward / forward: {ratio:.2f}, each at its fastest")

# %% [markdown]
# The FLOPs say 2. But our matrices are tiny, so much of the time goes elsewhere: norms, the softmax
# and the rotary positions do few FLOPs and move much memory. Does a single large product
# take twice as long backward?


# %%
def of_one_layer():
    layer, x = torch.nn.Linear(1024, 1024, bias=False), torch.randn(256, 1024, requires_grad=True)
    ratios, ones = [], torch.ones(256, 1024)
    for _ in range(quick(12, 2)):
        begun = time.perf_counter()
        y = layer(x)
        between = time.perf_counter()
        torch.autograd.grad(y, (layer.weight, x), ones)
        ratios.append((time.perf_counter() - between) / (between - begun))
    return sorted(ratios)[len(ratios) // 2]


# %% tags=["time"]
claim("backward over forward, 1,024 wide", of_one_layer, 2, within=0.25, because="caches matter")

# %% [markdown]
# It does, more or less, and wide models spend most of their time in such products (lesson 12).
#
# ## What to remember
#
# (All terms of the course, a sentence each: the [glossary](../docs/glossary.md).)
#
# - A step is forward, backward, update. The gradient is that of the loss, and the loss is the mean
#   surprise per token: it starts at the logarithm of the vocabulary, and on new text no model can,
#   on average, get below the entropy.
# - The gradient of a batch is the mean of the gradients of its parts, provided they hold the same
#   number of tokens. Computed in different places, that's data parallelism; one after the other,
#   gradient accumulation.
# - Between any two blocks the hidden states have the same shape.
# - Backward has twice the FLOPs of forward. Whether it takes twice as long depends on how much of
#   the time is spent in large matrix products.
#
# ## In the wild
#
# - Llama 3 405B has a vocabulary of 128,256. It was trained on 15.6 trillion tokens, with AdamW at
#   a peak learning rate of $8 \times 10^{-5}$, more than a hundred times less than the 0.01 that
#   works for our two blocks, as wide models need small rates. The rate rose over 8,000 steps and
#   fell along a cosine over 1,200,000 ([2407.21783](https://arxiv.org/abs/2407.21783), section
#   3.4.1).
# - Its batch grew on the way, from 4 million tokens to 8 and then to 16 million (same section).
#   Ours has 384.
# - GPT-2 with 124 million parameters ends at a loss of about 2.85 nats per token on OpenWebText, a
#   perplexity of 17 ([nanoGPT](https://github.com/karpathy/nanoGPT), README; the weights that
#   OpenAI trained on another text have 3.1 there). Nobody knows the floor of that text.
#
# Something to read: `Trainer.train_step` in torchtitan's
# [`torchtitan/trainer.py`](https://github.com/pytorch/torchtitan/blob/main/torchtitan/trainer.py).
# It trains on thousands of GPUs, and you'll recognize your loop: gradients cleared once, an inner
# loop over the pieces, one step. First it counts the tokens of all pieces. You know why.
#
# ## Where next
#
# One device is done. To use a second one, the two have to talk: [02 Messages and
# deadlocks](02_ranks_and_collectives.ipynb).
