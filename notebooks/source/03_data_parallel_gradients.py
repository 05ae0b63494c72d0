# %% [markdown]
# # Data parallel: many devices average their gradients
#
# **Needs:** two cores, no network. **Takes:** one minute.
#
# A device has room for few windows of text at once. With three devices we can read three times as
# much in one step. Each device holds the whole model and reads its own part of the batch.
#
# **Question.** What must the devices tell each other, so that three of them learn exactly what one
# big device would learn?

# %%
# needs: primer/intro.py, DP/gradient_aggr/intro_DP_GA.py
import sys

import torch
import torch.distributed as dist

from helpers.draw import curves
from helpers.grade import check
from helpers.lesson import answer, predict, show, show_diff
from helpers.ranks import find_place, launch
from helpers.trace import with_waits
from simplellm.losses import causalLLMLoss
from simplellm.options import make_stories
from simplellm.stories import floor

sys.path[:0] = ["../primer", "../DP/gradient_aggr"]
import intro

torch.set_num_threads(1)  # in this lab, one device is one core

# %% [markdown]
# ## One step on three ranks
#
# All ranks build the model from the same seed, so they start with the same weights. Each rank takes
# its own stories: rank 0 takes story 0, 3, 6 …, rank 1 takes story 1, 4, 7 …, so nobody reads a
# story twice. That is called a **partition** of the data.

# %%
options = intro.read_flags(["--batch-size", "1"])


def own_gradient():
    tokenizer = intro.make_tokenizer(options)
    torch.manual_seed(0)
    net = intro.make_model(options, tokenizer)
    ids = next(iter(make_stories(options, tokenizer, dist.get_rank(), 3)))
    loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in net.parameters()])


results = launch(own_gradient, ranks=3)
for rank, (loss, gradient) in enumerate(results):
    print(f"rank {rank}: loss {loss:.4f}, first gradients {gradient[-3:].tolist()}")

# %% [markdown]
# Three ranks, three windows, three different gradients. If each rank took its own step now, there
# would be three different models. The ranks must agree.
#
# The lesson before has shown: the gradient of a batch is the **mean** of the gradients of its
# parts. So the ranks need one thing: the mean of their gradients. **All-reduce** gives every rank
# the sum; dividing by the world size makes it the mean.


# %%
def mean_gradient():
    loss, gradient = own_gradient()
    dist.all_reduce(gradient)
    return gradient / dist.get_world_size()


parallel = launch(mean_gradient, ranks=3, quiet=True)

# %%
predict(
    "One device takes the three windows as one batch. How far is its gradient from the mean that "
    "the ranks computed?",
    "equal, up to rounding",
    "three times larger",
    "only similar: the ranks did not see each other's text",
)

# %%
alone = intro.read_flags(["--batch-size", "3"])
tokenizer = intro.make_tokenizer(alone)
torch.manual_seed(0)
net = intro.make_model(alone, tokenizer)
ids = next(intro.stories_of_ranks(alone, tokenizer, ranks=3))
causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
one_device = torch.cat([p.grad.flatten() for p in net.parameters()])
for rank, gradient in enumerate(parallel):
    print(f"rank {rank}: largest difference {(gradient - one_device).abs().max().item():.1e}")
print(f"largest gradient {one_device.abs().max().item():.1e}")

# %% [markdown]
# They are equal, up to rounding. A batch of 1 on each of three ranks **is** a batch of 3: the
# **global batch**.
#
# ## The mistake that nobody sees
#
# Many a program forgets to divide: it uses the sum in place of the mean. What happens then depends
# on the optimizer.

# %%
predict(
    "We use the sum, so every gradient is three times too large. How far do the weights move away "
    "from the right ones in one step, with SGD and with Adam?",
    "both far",
    "SGD far, Adam hardly at all",
    "Adam far, SGD hardly at all",
)


# %%
def weights_after_a_step(make_optimizer, factor):
    torch.manual_seed(0)
    net = intro.make_model(alone, tokenizer)
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    for p in net.parameters():
        p.grad *= factor
    make_optimizer(net.parameters()).step()
    return torch.cat([p.detach().flatten() for p in net.parameters()])


for name, make in (
    ("SGD", lambda p: torch.optim.SGD(p, lr=0.5)),
    ("Adam", lambda p: torch.optim.Adam(p, lr=3e-3)),
):
    right, wrong = weights_after_a_step(make, 1), weights_after_a_step(make, 3)
    print(f"{name:5} mean distance of a weight {(right - wrong).abs().mean().item():.1e}")

# %% [markdown]
# Adam divides each gradient by its own recent size, so a constant factor cancels. With Adam, a loss
# curve cannot show this mistake. So in this lab, correctness is always tested with SGD, tensor by
# tensor, against one device.
#
# ## From the script of one device to the script of many
#
# This is all that changes:

# %%
show_diff("primer/intro.py", "DP/gradient_aggr/intro_DP_GA.py", context=1)

# %% [markdown]
# ## Training on three ranks
#
# One device and three ranks train, from the same weights on the same stories, with SGD.

# %%
import intro_DP_GA

steps = ["--steps", "60", "--optimizer", "sgd", "--lr", "0.3"]
torch.manual_seed(0)
alone = intro.read_flags([*steps, "--batch-size", "3", "--like-ranks", "3"])
losses, net, _ = intro.train(alone, say=lambda step, loss: None)


def train_rank(flags):
    options = intro_DP_GA.read_flags(flags)
    return intro_DP_GA.train(options, find_place(), "cpu", say=lambda step, loss: None)


results = launch(train_rank, ranks=3, args=(steps,), quiet=True)

# %%
mean_losses = [sum(step) / 3 for step in zip(*(r[0] for r in results), strict=True)]
show(
    curves(
        {"one device": losses, "three ranks": mean_losses}, floor=floor(tokenizer).nats_per_token
    )
)

# %%
mine, theirs = net.state_dict(), results[0][1].state_dict()
difference = max((mine[name] - theirs[name]).abs().max().item() for name in mine)
print(f"largest difference in a weight after {len(losses)} steps: {difference:.1e}")

# %% [markdown]
# The curves lie on each other, and the weights differ by rounding only: the sum of three gradients
# is computed in another order. With Adam the weights would part: where a gradient is almost zero,
# rounding may turn its sign, and Adam takes a full step in the wrong direction.
#
# ## Where the time goes

# %%
predict(
    "One device used one core. Three ranks read the same number of windows together. How much "
    "faster is it on your machine?",
    "three times: there are three ranks",
    "at most as many times as the machine has cores",
    "slower: they must also send",
)

# %%
from helpers.trace import Trace

trace = with_waits(results[0][2].merged(results[1][2], results[2][2]))
marks = [e.end for e in trace.events_of(0) if e.kind == "update"]
few = [e for e in trace.events if marks[9] < e.start and e.end < marks[12] + 0.001]
show(Trace(few))

# %% [markdown]
# Ranks that share a core take turns: on two cores, three ranks can be at most twice as fast as one
# device. On three GPUs each rank computes at full speed, and what remains is the price: in every
# step every rank sends and receives about the size of all gradients, and waits for the slowest.

# %%
size = sum(p.numel() for p in net.parameters())
print(f"{size:,} gradients of 4 bytes = {4 * size / 1e6:.1f} MB in every all-reduce")

# %% [markdown]
# ## What to remember
#
# - Data parallel: every rank holds the whole model and reads its own part of the data.
# - After backward, all-reduce gives every rank the mean of all gradients. Then all take the same
#   step, and stay equal for ever. Nobody sends weights.
# - Three ranks with one window each are one device with a batch of three.
# - A sum in place of a mean is invisible with Adam. Test with SGD.
#
# ## Exercises
#
# **1. Task DP-1: average the gradients.** The text below says which file and which function. Open
# the file, write the body, save it, and run the check. A click on a hint opens it.

# %%
check("DP-1")

# %% [markdown]
# **2.** Four ranks read two windows each, of 128 tokens. How many tokens does one step read?

# %%
mine = None
answer(mine, lambda: 4 * 2 * 128)
