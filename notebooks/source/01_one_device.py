# %% [markdown]
# # One device: a small LLaMA learns to tell stories
#
# **Needs:** two cores, no network. **Takes:** one minute.
#
# Before we split a training over many devices, we do it on one. Everything later must give the same
# numbers as this.
#
# **Question.** How does a language model learn, and how good can it get?

# %%
# needs: primer/intro.py
import sys

import torch

from helpers.draw import curves
from helpers.lesson import answer, predict, show
from simplellm.stories import floor, story

sys.path.insert(0, "../primer")
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## The text
#
# The model reads children's stories. A small grammar in this lab writes them, as many as we want,
# so we need no download.

# %%
print(story(0))

# %% [markdown]
# A model does not read letters. A **tokenizer** cuts the text into pieces, called **tokens**, and
# gives each piece a number. Ours knows 4,096 pieces: the **vocabulary**.

# %%
options = intro.read_flags([])
tokenizer = intro.make_tokenizer(options)
ids = tokenizer.encode("Once there was a little dog.")
print(ids)
print([tokenizer.decode([i]) for i in ids], "of", tokenizer.vocab_size, "pieces")

# %% [markdown]
# ## The model
#
# A **LLaMA**: an embedding, six blocks, and a head. For each token it says how likely each piece of
# the vocabulary is to come next.

# %%
torch.manual_seed(0)
net = intro.make_model(options, tokenizer)
stories = intro.stories_of_ranks(options, tokenizer, ranks=3)
batch = next(stories)
print(f"{sum(p.numel() for p in net.parameters()):,} parameters")
print("a batch:", tuple(batch.shape), "= (windows of text, tokens in each)")
print("scores: ", tuple(net(batch).shape), "= one score for each piece, after each token")

# %% [markdown]
# The **loss** says how surprised the model is by the token that really came: minus the logarithm
# of the probability that the model gave to it, averaged over all tokens. Its unit is the nat.

# %%
predict(
    "The model has not learned yet, so all 4,096 pieces are about equally likely. What is the "
    "loss?",
    "about 0.5",
    "about ln 4096 = 8.32",
    "about 4096",
)

# %%
from simplellm.losses import causalLLMLoss

loss = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
print(f"{loss.item():.3f}")

# %% [markdown]
# ## One step
#
# A training step has three parts:
#
# 1. **Forward**: from the tokens to the loss $L$.
# 2. **Backward**: from the loss to the **gradient** $\partial L / \partial W$ of every weight $W$.
#    It says how the loss changes when the weight changes. (It is the gradient of the *loss*, not of
#    the model's output.)
# 3. **Update**: $W \leftarrow W - \lambda \, \partial L / \partial W$, with the **learning rate**
#    $\lambda$. This rule is called **SGD**, stochastic gradient descent.

# %%
loss.backward()
with torch.no_grad():
    for weight in net.parameters():
        weight -= 0.5 * weight.grad
after = causalLLMLoss(net(batch), batch, tokenizer.vocab_size)
print(f"before the step {loss.item():.3f}, after it {after.item():.3f}")

# %% [markdown]
# ## A batch is a mean
#
# Three windows of text make one batch. Here is the fact on which data parallelism stands.

# %%
predict(
    "We compute the gradient of each of the three windows alone, and take the mean of the three. "
    "How far is it from the gradient of the batch?",
    "far: the windows influence each other",
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
print(f"largest gradient   {whole.abs().max().item():.1e}")
print(f"largest difference {(whole - mean).abs().max().item():.1e}")

# %% [markdown]
# The difference is rounding: a float has about seven digits. It holds because every window has the
# same number of tokens. With unequal numbers one must weigh them.
#
# ## Training
#
# `primer/intro.py` repeats the step. It uses **Adam**, an optimizer that gives each weight a step
# size of its own: it learns faster than SGD.
#
# How low can the loss get? We know the grammar that writes the stories, so we know how much chance
# is in them. A perfect reader would still be surprised that much. This is the **floor**.

# %%
options = intro.read_flags(["--steps", "150"])
torch.manual_seed(0)
losses, net, trace = intro.train(options, say=lambda step, loss: None)
least = floor(tokenizer).nats_per_token
print(f"first {losses[0]:.2f}, last {losses[-1]:.2f}, floor {least:.2f} nats per token")

# %%
show(curves({"one device": losses}, floor=least))

# %% [markdown]
# Our windows cut the stories anywhere. A model that sees only the second half of a story does not
# know the name of the child in it. So a model trained on windows cannot quite reach the floor.
#
# ## A story
#
# The model writes: it gives the probabilities of the next token, we draw one, and so on. The
# **temperature** makes it careful (near 0) or bold (1). After so few steps it knows how stories
# sound, not yet what they mean.


# %%
def tell(temperature, seed=1):
    end = tokenizer.eos_id
    ids = net.generate([end], 100, temperature=temperature, top_p=0.95, eos_id=end, seed=seed)
    return tokenizer.decode([i for i in ids if i != end])


print(tell(0.6))

# %% [markdown]
# ## Where the time goes
#
# The training left a **trace**: what ran when.

# %%
predict(
    "Backward computes two things for each layer: the gradient of its input and of its weights. "
    "How long does backward (B) take, compared with forward (F)?",
    "half as long",
    "about as long",
    "about twice as long",
)

# %%
from helpers.trace import Trace

third = [e for e in trace.events if e.start >= trace.events[6].start][:9]
show(Trace(third))


# %%
def seconds(kind):
    return sum(e.end - e.start for e in trace.events if e.kind == kind)


print(f"backward / forward = {seconds('B') / seconds('F'):.1f}")
print(f"{len(losses) * batch.numel() / trace.duration:,.0f} tokens per second")

# %% [markdown]
# ## What to remember
#
# - A step is forward, backward, update. The gradient is that of the loss.
# - The gradient of a batch is the mean of the gradients of its parts, if they have equally many
#   tokens.
# - An untrained model starts at the logarithm of the vocabulary. The chance in the text itself is
#   the floor.
# - Backward takes about twice as long as forward.
#
# ## Exercises
#
# **1.** With a vocabulary of 1,024 pieces, where does the loss start? Give it to one decimal, in
# place of `None`.

# %%
import math

mine = None
answer(mine, lambda: math.log(1024), tolerance=0.06)

# %% [markdown]
# **2.** How many parameters has a model of three blocks in place of six? Work it out from two
# numbers: the model above has six blocks, and a model without blocks
# (`intro.read_flags(["--layers", "0"])`) has 589,896 parameters.

# %%
mine = None


def with_three_blocks():
    small = intro.make_model(intro.read_flags(["--layers", "3"]), tokenizer)
    return sum(p.numel() for p in small.parameters())


answer(mine, with_three_blocks)
