# %% [markdown]
# # One device: a small LLaMA learns to tell stories
#
# *Reading 40 minutes · tasks 20 · machine 1*
#
# *With twenty minutes: read to "One step", then train under "How good can it get?", and play.*
#
# Every parallel layout in this course has one duty: it must do what one device would have done,
# only faster, or with a model that one device can't hold. If two pipelines of three stages arrive
# at a different gradient from one device, they're wrong, however fast they are. So we need to know
# that one device really well: what the model is made of (because we're going to cut it into
# pieces), what a training step is (because we're going to divide it), and how good a model can get
# (because we want to notice when it doesn't).
#
# **Question.** How does a language model learn, and how good can it possibly get?

# %%
import math
import sys
from itertools import islice

import torch

from helpers.draw import curves
from helpers.draw.model import Sizes, llama, surprise
from helpers.grade import check
from helpers.lesson import answer, claim, hover, predict, quick, reveal, show, vary
from simplellm.losses import causalLLMLoss
from simplellm.stories import floor, story

sys.path.insert(0, "../primer")
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The text
#
# The model reads children's stories. They're written by a small grammar that comes with this lab,
# so we get as many as we want without a download. More important, we know exactly how much chance
# is in them, which will be worth a lot in a moment.

# %%
print(story(0, world="small"))

# %% [markdown]
# A model doesn't read letters. A **tokenizer** cuts the text into pieces, called **tokens**, and
# gives each piece a number. The set of all pieces is the **vocabulary**; ours has 1,200, most of
# them whole words.

# %%
options = intro.read_flags([])
tokenizer = intro.make_tokenizer(options)
ids = tokenizer.encode("Once there was a curious hippopotamus.")
print(ids)
print([tokenizer.decode([i]) for i in ids], "of", tokenizer.vocab_size, "pieces")

# %% [markdown]
# "curious" is in the vocabulary and "hippopotamus" isn't, so it's spelled in smaller pieces. No
# word is ever out of reach; it just takes more tokens.
#
# ## The model
#
# Our model is a small LLaMA: the same parts in the same order as in Llama 3 405B, only smaller. A
# batch of 3 **sequences** of 128 tokens goes in on the left, and comes out as three times 128 lists
# of 1,200 scores, one score for each piece that might come next.

# %%
show(llama(Sizes()))

# %% [markdown]
# From left to right:
#
# - The **embedding** replaces each token by a vector of 64 numbers, its row of a table. From here
#   on, the batch is a tensor of *hidden states*, and its shape doesn't change until the end. (This
#   is why a pipeline works so well: whichever blocks we cut between, the message has the same
#   shape.)
# - Each **block** adds two things to what passes through it. **Attention** lets a token collect
#   information from the tokens before it, never from those after it. **SwiGLU** then works on each
#   token alone. Before each of the two comes a **norm**, which keeps the numbers at a reasonable
#   size.
# - The **head** compares each vector with a vector for every piece of the vocabulary. The results
#   are the **logits**: the larger, the likelier.
#
# Let's check the drawing against the real thing.

# %%
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
batch = next(intro.stories_of_ranks(options, tokenizer, ranks=3))
with torch.no_grad():
    hidden = net.model.embed_tokens(batch)
    print("ids", tuple(batch.shape), "-> embedding", tuple(hidden.shape))
    hidden = net.model.run_layers(hidden)
    print("after six blocks", tuple(hidden.shape))
    print("logits", tuple(net.lm_head(net.model.norm(hidden)).shape))
count = sum(p.numel() for p in net.parameters())
claim("parameters, counted and by the drawing", count, Sizes().total, within=0)

# %% [markdown]
# **How many parameters does this model have with three blocks instead of six?** All the numbers you
# need are in the drawing.

# %%
mine = None
answer("L01-1", mine)

# %% [markdown]
# ## The loss
#
# The softmax turns the 1,200 logits of a position into probabilities $p_\theta(\cdot \mid x_{<t})$
# of the next token, given the tokens before it. We'd like the token that really comes to be likely.
# A product of thousands of probabilities is too small for any float, so we take logarithms, and
# because optimizers minimize, we flip the sign:
#
# $$L(\theta) = -\frac{1}{T} \sum_{t=1}^{T} \log p_\theta(x_t \mid x_{<t}).$$
#
# This is the **loss**: the mean over all $T$ tokens of how *surprised* the model was by each. With
# the natural logarithm its unit is the **nat**. (Other names that you'll meet for the same thing:
# cross-entropy, negative log-likelihood. In bits it's $L / \ln 2$.)
#
# To get a feeling for the number, take $e^L$, the **perplexity**. A model that wavers between $k$
# equally likely tokens at each step has a loss of $\log k$, so its perplexity is $k$: the number of
# tokens it's hesitating between.

# %%
predict(
    "L01-2",
    "The weights are random: the model hasn't learned anything yet. What is its loss?",
    "about 0.3",
    "about 7.1",
    "about 1,200",
)

# %%
loss = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
print(f"loss {loss.item():.3f} nats per token, perplexity {loss.exp().item():,.0f}")
reveal("L01-2")

# %% [markdown]
# That's a test you can do in your head for any model: if the first loss isn't near the logarithm of
# the vocabulary, something is wrong before training has begun. **Where does the loss of Llama 3
# start, with its 128,256 pieces?** (One decimal will do.)

# %%
mine = None
answer("L01-3", mine)

# %% [markdown]
# ## One step
#
# A training step has three parts, and in this course each has its color:
#
# 1. **Forward** (F): from the tokens to the loss $L$.
# 2. **Backward** (B): from the loss back to the **gradient** $\partial L / \partial W$ of every
#   weight $W$. It says how the loss changes if the weight does. Note what is differentiated: the
#   loss, not the model's output.
# 3. **Update** (U): move each weight a little in the direction in which the loss falls,
#    $W \leftarrow W - \lambda \, \partial L / \partial W$. The factor $\lambda$ is the **learning
#    rate**, and this plainest of all rules is **SGD**, stochastic gradient descent.

# %%
loss.backward()
with torch.no_grad():
    for weight in net.parameters():
        weight -= 0.05 * weight.grad
    after = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
claim.below("the loss after the step", after.item(), loss.item())

# %% [markdown]
# In practice few models are trained with plain SGD. **Adam** divides each weight's step by a
# running estimate of how large that weight's gradients have been, so all weights move at about the
# same pace; ours uses it, and so did Llama 3 (with weight decay, as AdamW). The learning rate stays
# the one number that has to be right.

# %%
predict(
    "L01-4",
    "Here a learning rate of 0.01 works well. We multiply it by ten. After 40 steps, the loss is …",
    "lower: it learns faster",
    "about the same: Adam adjusts the steps anyway",
    "higher: it learns less",
)


# %% tags=["training"]
def trained(rate):
    flags = ["--size", "story", "--lr", str(rate), "--steps", str(quick(40, 2))]
    losses, _, _ = intro.train(intro.read_flags(flags), say=lambda step, loss: None)
    return losses


rates = {rate: trained(rate) for rate in (0.001, 0.01, 0.1)}
named = {f"learning rate {rate}": run for rate, run in rates.items()}
show(curves(named, "Too small a rate crawls, and too large a rate jumps"))
good, tenfold = (sum(rates[rate][-5:]) / 5 for rate in (0.01, 0.1))
claim.below("mean loss of the last steps with 0.01, and with 0.1", good, tenfold)
reveal("L01-4")

# %% [markdown]
# Too small, and it crawls; too large, and it jumps over every valley. With a kernel running, the
# next cell has a slider: how large can the rate be before the loss ends up *above* where it
# started?


# %% tags=["training"]
def with_rate(learning_rate):
    return curves({f"learning rate {learning_rate}": trained(learning_rate)})


vary(with_rate, learning_rate=(0.01, 0.0001, 0.001, 0.003, 0.03, 0.1, 0.3, 1.0))

# %% [markdown]
# ## A batch is a mean
#
# Three sequences make one batch, and the loss of the batch is the mean of theirs. What about its
# gradient?

# %%
predict(
    "L01-5",
    "We compute the gradient of each of the three sequences alone, and take the mean of the three. "
    "How far is it from the gradient of the batch?",
    "far: the sequences influence each other",
    "not at all, up to rounding",
    "three times too small",
)


# %%
def gradient(rows):
    net.zero_grad()
    causalLLMLoss(net(rows), rows, tokenizer.vocab_size).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


whole = gradient(batch)
mean = (gradient(batch[0:1]) + gradient(batch[1:2]) + gradient(batch[2:3])) / 3
largest, difference = whole.abs().max().item(), (whole - mean).abs().max().item()
claim.below(
    "largest difference of a gradient, and 1e-5 of the largest one", difference, 1e-5 * largest
)
reveal("L01-5")

# %% [markdown]
# There's nothing deep behind this: differentiation is linear, so the gradient of a mean is the mean
# of the gradients,
#
# $$\nabla \Big( \frac{1}{B} \sum_{b=1}^{B} L_b \Big) = \frac{1}{B} \sum_{b=1}^{B} \nabla L_b .$$
#
# And yet half of this course rests on this one line. The three gradients don't have to be computed
# at the same time, nor in the same place.
#
# - In different places, it's **data parallelism**: three devices compute one term each, and
#   average. That's lesson 03.
# - One after the other, it's **gradient accumulation**: one device goes forward and backward
#   through a piece of the batch, keeps adding to the gradients, and makes its step only after the
#   last piece. Why would anyone? Because backward needs what forward has computed, the
#   **activations**, and these have to be kept until it comes.
#
# Let's measure how much we save with one sequence instead of three. PyTorch lets us see every
# tensor that is kept for backward.


# %%
def kept(rows):
    """Bytes that forward keeps for backward, without the weights."""
    storages = {}

    def see(tensor):
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(see, lambda tensor: tensor):
        causalLLMLoss(net(rows), rows, tokenizer.vocab_size)
    own = {p.untyped_storage().data_ptr() for p in net.parameters()}
    return sum(size for place, size in storages.items() if place not in own)


# %%
of_three, of_one = kept(batch), kept(batch[:1])
print(f"{of_three / 1e6:.1f} MB for three sequences, {of_one / 1e6:.1f} for one")
claim("times as many bytes for three", of_three / of_one, 3, within=0.05)

# %% [markdown]
# One condition is easy to overlook. A mean of means is the mean only if the pieces hold equally
# many tokens, as ours do. If they don't, each piece has to be weighted by its tokens, $\sum_b T_b
# L_b / \sum_b T_b$. Until October 2024 several widely used trainers forgot that, so training with
# accumulated gradients differed from training on the whole batch; [this is the repair in
# transformers](https://github.com/huggingface/transformers/pull/34191).

# %% [markdown]
# ### Your turn: TR-1 · 20 minutes · 10 points
#
# Write `train()` in `primer/loop.py`: the loop that every script of this course repeats, with
# gradient accumulation. For each batch it takes one step of the optimizer and records the batch's
# loss. With `pieces=3` it takes the batch through the model in three pieces, and neither the losses
# nor the weights may show it. Your loop is judged by exactly this: the same weights as a correct
# loop on one device, number by number.
#
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
by_script = intro.read_flags(["--steps", str(quick(20, 2))])
my_losses["primer/intro.py"], _, _ = intro.train(by_script, say=lambda step, loss: None)
apart = max(max(each) - min(each) for each in zip(*my_losses.values(), strict=True))
show(curves(my_losses, "Whole or in pieces, your loop or the script's: one curve"))
claim.below("the three differ by at most so many nats", apart, 1e-4)

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
# The second term is what a model can still learn. The first is what no model can ever learn: the
# **entropy** of the text. Here the text comes from a grammar, so $q$ is known, and the entropy can
# be computed exactly. We call it the **floor**.

# %%
predict(
    "L01-6",
    "A perfect reader of these stories knows the grammar by heart. Between how many tokens does it "
    "hesitate at each step? (This is its perplexity.)",
    "about 1.3",
    "about 13",
    "about 130",
)

# %%
least = floor(tokenizer, world="small")
print(f"floor {least.nats_per_token:.3f} nats per token, perplexity {least.perplexity:.2f}")
reveal("L01-6")

# %% [markdown]
# So there's a number to beat, or rather a number that can't be beaten. Let's train. We take two
# blocks in place of six here, because they learn faster in a short time, and a learning rate that
# rises over the first steps, stays, and falls to almost nothing at the end.

# %% tags=["training"]
flags = ["--size", "story", "--lr-schedule", "decay", "--steps", str(quick(450, 3))]
told = intro.read_flags(flags)
losses, teller, trace = intro.train(told, say=lambda step, loss: None)
title = "The loss falls fast at first, and then has a long way to the floor"
show(curves({"two blocks": losses}, title, floor=least.nats_per_token))
last = sum(losses[-10:]) / len(losses[-10:])
print(f"perplexity {math.exp(losses[0]):,.0f} before, {math.exp(last):.1f} after, "
      f"{least.perplexity:.1f} for a perfect reader")  # fmt: skip
claim.below("nats per token of a perfect reader, and of ours", least.nats_per_token, last)

# %% [markdown]
# It isn't at the floor yet. One reason is time: it has seen few stories so far. The other will
# stay: the sequences cut the stories at arbitrary places, and a model that only sees the second
# half of a story can't know the name of the child in it.
#
# ## A first story
#
# To write, the model gives the probabilities of the next token, we draw one, append it, and ask
# again. The **temperature** $\tau$ divides the logits $z$ before the softmax,
# $p_i \propto e^{z_i / \tau}$: near 0 the likeliest token always wins, at 1 the model's own
# probabilities count, and above that it gets bold.


# %% tags=["training"]
def tell(model, temperature, seed, length=150):
    end = tokenizer.eos_id
    how = {"temperature": temperature, "top_p": 0.95, "eos_id": end, "cache": True}
    ids = model.generate([end], quick(length, 8), seed=seed, **how)
    return tokenizer.decode([i for i in ids if i != end])


print(tell(teller, temperature=0.5, seed=1, length=100))

# %% [markdown]
# Before this training, these weights were random numbers. It was never told what a sentence is, or
# a girl, or a rabbit; all it ever got was the gradient of its surprise. Read the story to someone.

# %%
predict(
    "L01-7",
    "At temperature 0 we let it write five stories, with five different seeds. How many different "
    "stories will we get?",
    "1",
    "2 to 4",
    "5",
)

# %% tags=["training"]
stories = {tell(teller, temperature=0, seed=seed, length=40) for seed in range(5)}
print(len(stories), "different at temperature 0:", *stories)
reveal("L01-7")


# %% tags=["training"]
def story_of_mine(temperature, seed):
    return tell(teller, temperature, seed)


vary(story_of_mine, temperature=(1.0, 0, 0.2, 0.4, 0.6, 0.8, 1.5, 2.0), seed=range(10))

# %% [markdown]
# Turn the temperature to 2, and then think of the sampling settings you've seen in chat assistants.
#
# ## What surprises it
#
# The loss is a mean over tokens, and a mean hides a lot. Here is the surprise of every single
# token, in a story that the model hasn't seen: the darker, the less expected. (With a kernel, point
# at a token for its probability.)


# %% tags=["training"]
def costs(model, text):
    """Its tokens as text, and the surprise of each in nats."""
    ids = [tokenizer.eos_id, *tokenizer.encode(text)]
    with torch.no_grad():
        log_p = model(torch.tensor([ids])).log_softmax(-1)[0]
    nats = [-log_p[t - 1, ids[t]].item() for t in range(1, len(ids))]
    read = [tokenizer.decode(ids[1:t]) for t in range(1, len(ids) + 1)]
    return [read[t][len(read[t - 1]) :] for t in range(1, len(ids))], nats


unseen = story(1, split="validation", world="small").split("\n")[0]
tokens, nats = costs(teller, unseen)
picture = surprise(tokens, nats)
show(picture, live=lambda: hover(picture))
print(f"mean {sum(nats) / len(nats):.2f} nats")

# %% [markdown]
# Look where the dark ones are: most of them stand where the grammar makes a choice, such as a name,
# a color or a place. Once "Once" is said, "upon a time" is free. Where a token is dark although
# there was no real choice, the model still has something to learn, for example that the hair is
# *his* if the child is a boy.
#
# Try a sentence of your own, such as "Once upon a time, there was a curious hippopotamus.": put it
# in place of `unseen`.

# %% [markdown]
# ## The same model, trained for longer
#
# What comes of more training? We've trained the model of the drawing for longer, and saved it at
# three moments.

# %%
from simplellm.models import NAMES, facts, pretrained

models = {name: pretrained(name)[1] for name in NAMES}
for name in NAMES:
    f = facts(name)
    right = f"{f['right'] / f['sentences']:4.0%} of its sentences are right"
    print(f"{name:<7}{f['minutes']:5.1f} minutes, {f['loss']:.2f} nats per token, {right}")
above = facts("best")["loss"] - least.nats_per_token
claim.below("nats that the best lies above the floor", above, 0.05)

# %% [markdown]
# The loss is measured on stories that no model was trained on, and a sentence is right if the
# grammar could have written it somewhere. Here is how each of them begins, and then you can choose
# a model, a temperature and a seed yourself.

# %%
for name in NAMES:
    print(f"{name}: {tell(models[name], temperature=0.6, seed=2, length=60)}\n")


# %%
def story_by(model, temperature, seed):
    return tell(models[model], temperature, seed)


vary(story_by, model=NAMES[::-1], temperature=(0.6, 0, 0.3, 1.0, 1.5), seed=range(10))

# %% [markdown]
# A checkpoint is also a place to start from. Continuing from one is called *fine-tuning* if the
# text is a new one, and simply *resuming* if it's the same. Either way the loss begins where the
# other training ended.

# %%
steps = str(quick(20, 2))
resumed, _, _ = intro.train(
    intro.read_flags(["--from", "best", "--steps", steps, "--lr", "0.0005"]),
    say=lambda step, loss: None,
)
runs = {"from random weights": losses[: len(resumed)], "from the best": resumed}
show(curves(runs, "A resumed training begins where the other one ended"))

# %% [markdown]
# In a terminal, `python primer/intro.py --from best --text my_diary.txt` continues with a text
# you've written.

# %% [markdown]
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
# has twice the FLOPs of forward, and a step takes $2 + 4 = 6$ FLOPs per weight and token: a rule
# that you'll need in lesson 15. For Llama 3 405B that's $6 \cdot 405 \cdot 10^9 \cdot 15.6 \cdot
# 10^{12} = 3.8 \cdot 10^{25}$, the number with which lesson 00 began. But FLOPs are not seconds.

# %%
predict(
    "L01-8",
    "How long does backward (B) take in this training, compared with forward (F)?",
    "less than 1.2 times as long",
    "1.2 to 1.8 times as long",
    "1.8 to 2.2 times as long, as the FLOPs say",
    "more than that",
)

# %% tags=["time"]
from helpers.trace import Trace

events = trace.events  # F, B, update, F, B, update …
spans = [events[i : i + 9] for i in range(0, len(events) - 8, 3)]
show(Trace(min(spans, key=lambda span: span[-1].end - span[0].start)))


# %% tags=["time"]
def seconds(kind):
    return [e.end - e.start for e in events if e.kind == kind]


ratios = sorted(b / f for b, f in zip(seconds("B"), seconds("F"), strict=True))
print(f"backward / forward: {ratios[len(ratios) // 2]:.2f} in the median step")
print(f"{len(losses) * batch.numel() / trace.duration:,.0f} tokens per second")
reveal("L01-8", ratio=ratios[len(ratios) // 2])

# %% [markdown]
# On a GPU with matrices of thousands of rows and columns, you'd see a number close to 2. Our
# matrices are tiny, so much of the time isn't spent in them at all: norms, the softmax and the
# rotary positions do few FLOPs and move much memory, and calling some hundred small operations from
# Python costs forward more than backward, which runs in C++. Give a single layer a matrix of a
# decent size, and the 2 comes out:

# %% tags=["time"]
import time


def of_one_layer(width):
    repeats = quick(12, 2)
    layer, forward, backward = torch.nn.Linear(width, width, bias=False), [], []
    x = torch.randn(256, width, requires_grad=True)
    for _ in range(repeats):
        begun = time.perf_counter()
        y = layer(x)
        between = time.perf_counter()
        y.backward(torch.ones_like(y))
        forward.append(between - begun)
        backward.append(time.perf_counter() - between)
    return sorted(backward)[repeats // 2] / sorted(forward)[repeats // 2]


claim("backward over forward, one layer, 1,024 wide", lambda: of_one_layer(1024), 2, within=0.3,
      because="caches, and whoever else computes here")  # fmt: skip

# %% [markdown]
# ## What to remember
#
# - A step is forward, backward, update. The gradient is that of the loss, and the loss is the mean
#   surprise per token: it starts at the logarithm of the vocabulary, and no model can get below the
#   entropy of the text.
# - The gradient of a batch is the mean of the gradients of its parts, provided they hold equally
#   many tokens. Computed in different places, that's data parallelism; one after the other,
#   gradient accumulation.
# - Between any two blocks the hidden states have the same shape.
# - Backward has twice the FLOPs of forward. Whether it takes twice as long depends on how much of
#   the time is spent in large matrix products.

# %% [markdown]
# ## In the wild
#
# - Llama 3 405B has a vocabulary of 128,256. It was trained on 15.6 trillion tokens, with AdamW at
#   a peak learning rate of $8 \times 10^{-5}$, fifty times less than the default of our model here.
#   The rate rose over 8,000 steps and fell along a cosine over 1,200,000
#   ([2407.21783](https://arxiv.org/abs/2407.21783), section 3.4.1).
# - Its batch grew on the way, from 4 million tokens to 8 and then to 16 million (same section).
#   Ours has 384.
# - GPT-2 with 124 million parameters ends at a loss of about 3.1 nats per token on OpenWebText
#   ([nanoGPT](https://github.com/karpathy/nanoGPT), README), a perplexity of 22. What the floor of
#   that text is can't be known.
#
# Something to read: `Trainer.train_step` in torchtitan's
# [`torchtitan/trainer.py`](https://github.com/pytorch/torchtitan/blob/main/torchtitan/trainer.py).
# It trains on thousands of GPUs, and you'll recognize the loop that you've just written: gradients
# cleared once, an inner loop over the pieces, one step. Before the inner loop it counts the tokens
# of all pieces. You know why.
#
# ## Where next
#
# One device is done. To use a second one, the two have to talk: [02 Messages and
# deadlocks](02_ranks_and_collectives.ipynb).
