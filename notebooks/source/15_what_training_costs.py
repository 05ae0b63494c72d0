# %% [markdown]
# # What training costs: parameters, operations, bytes
#
# **Needs:** two cores, no network. **Takes:** half a minute.
#
# Before you rent a thousand GPUs, you want to know three numbers: how much memory a device needs,
# how many operations a step takes, how many bytes go over the network. All three follow from a few
# sizes of the model. You need no GPU for that: a pencil is enough.
#
# **Question.** A model has a trillion parameters. How much memory does its training need, in all?

# %%
# needs: TP/model_training_cost_analysis.py, TP/llama_7b_config.json
import math

import torch
from torch.utils.flop_counter import FlopCounterMode

from helpers.cluster import Group, Layout, bars, design, estimate, memory_group, preset
from helpers.cost import flops, gpt, parameters, read_config, states, utilisation
from helpers.draw import curves
from helpers.draw.text import bytes_text
from helpers.grade import check
from helpers.lesson import answer, predict, show

# %% [markdown]
# ## Parameters
#
# Every model on the Hugging Face hub comes with a `config.json`. It holds the sizes, and the sizes
# are all that we need. This is LLaMA-7B:

# %%
llama = read_config("../TP/llama_7b_config.json")
llama

# %%
predict(
    "Some course notes ask for the parameters of LLaMA's positional embedding. How many are there?",
    "2,048 x 4,096, one row for each position",
    "4,096, one row for all",
    "none",
)

# %%
count = parameters(llama)
print(count)
print(f"\none layer: attention {count.attention:,}, MLP {count.mlp:,}, norms {count.norms:,}")

# %% [markdown]
# None. A LLaMA turns its queries and keys by an angle that depends on the position (**rotary**
# positions), and an angle is not learned. GPT-2 does have a table.
#
# ## Operations
#
# A product of an `(m, k)` matrix and a `(k, n)` matrix takes `2 m n k` operations: each pair of
# numbers is multiplied, and added. Everything else in a transformer is so little that nobody counts
# it. Still three numbers circulate for the same layer, because not everybody counts the same
# **attention scores**, the `s x s` numbers that say how much each token looks at each other one.

# %%
for attention in ("full", "causal", "weights"):
    forward = flops(llama, attention=attention)
    print(f"{forward.layer / 1e12:.4f} TFLOP: {forward.convention}")

# %% [markdown]
# So always say which. Here is a check by somebody who knows no formula: torch counts the products
# while a small LLaMA runs. The backward pass takes twice as many as the forward pass: each product
# needs one more for the gradient of its input, and one more for the gradient of its weights.

# %%
from simplellm.llama import CausalLLama, LLama

net = LLama(CausalLLama, 1000, dmodel=64, num_heads=4, n_layers=3, ctx_size=32)
ids = torch.zeros(2, 32, dtype=torch.long)
small = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "vocab_size": 1000}
small |= {"num_attention_heads": 4, "num_hidden_layers": 3}
ours = flops(read_config(small), batch=2, sequence=32, attention="weights")
with FlopCounterMode(display=False) as counter:
    logits = net(ids)
print(f"forward: torch {counter.get_total_flops():,}; the matrices alone {ours.forward:,.0f}")
with FlopCounterMode(display=False) as counter:
    logits.sum().backward()
print(f"backward: torch {counter.get_total_flops():,}; twice the forward {ours.backward:,.0f}")

# %% [markdown]
# Torch counts the matrices exactly as we do. It did not see the attention scores: the kernel that
# it chose here computes them inside.
#
# A rule for quick sums: each weight works twice for each token forward and four times backward. So
# training takes about `6 N D` operations, for `N` parameters and `D` tokens.
#
# ## Memory: what each parameter takes
#
# Most models are trained in **mixed precision**: products in 16 bits, the update in 32. Adam then
# keeps for each parameter: the weight (2 bytes), the gradient (2), and in 32 bits a copy of the
# weight, a mean and a variance (12).

# %%
predict(
    "LLaMA-7B in mixed precision with Adam. Do weights, gradients and the optimizer's state fit on "
    "one GPU with 80 GB?",
    "yes: 7 billion parameters of 2 bytes are 14 GB",
    "just about: 4 bytes a parameter and a little more",
    "no",
)

# %%
kept = states(count.total)
print(f"{kept.convention}: {bytes_text(kept.total)}")
for name in ("weights", "gradients", "optimizer"):
    print(f"  {name:<12}{bytes_text(getattr(kept, name)):>8}")

# %% [markdown]
# No: 16 bytes for each parameter, 108 GB. Three quarters of it is the optimizer's. **ZeRO** lets
# each data-parallel rank keep only its share of it (stage 1), of the gradients too (stage 2), of
# the weights too (stage 3):

# %%
ranks = [2**k for k in range(7)]
stages = {
    f"ZeRO {zero}" if zero else "no ZeRO": {
        n: states(count.total, zero=zero, ranks=n).total / 1e9 for n in ranks
    }
    for zero in range(4)
}
title = "LLaMA-7B: with ZeRO 1 a rank of 64 keeps a quarter"
show(curves(stages, title, x="data-parallel ranks", y="GB on each rank"))

# %% [markdown]
# ## Memory: activations
#
# The backward pass needs what the forward pass computed: the **activations**. They grow with the
# batch, and one part of them with the square of the sequence. One layer of LLaMA-7B, one sequence:

# %%
from helpers.cost import kept_by_layer

for kept in kept_by_layer(llama, batch=1, sequence=2048):
    print(f"{kept.name:<34}{bytes_text(kept.size):>8}")

# %% [markdown]
# What can be done against them? **Recomputation**: throw them away, and compute them again when the
# backward pass needs them. Selective: only the attention scores, which are large and cheap. Full:
# everything but the input of each layer; then each layer goes forward twice.

# %%
ways = ("none", "selective", "full")
done = {
    how: estimate(llama, Layout(8, micro_batch=4, recompute=how), preset("H200")) for how in ways
}
title = "LLaMA-7B, four sequences at once on one device: recomputation decides whether it fits"
show(bars([memory_group(done)], title))
for how in ways:
    print(f"{how:<10} HFU {done[how].utilisation.hfu:.0%}, MFU {done[how].utilisation.mfu:.0%}")

# %% [markdown]
# **MFU**, model FLOPs utilisation: operations that the model needs, over what the devices could do
# in that time. **HFU** counts the recomputed ones too. With full recomputation the devices are as
# busy as without, so HFU is the same. But a quarter of what they do is done for the second time.
# Compare MFU.
#
# The times come from a model of a cluster that lesson 17 explains. With a running kernel this cell
# shows sliders: cut the model, share the states, recompute. When does GPT-3 fit?

# %%
sliders = design(model="GPT-3, 175B", dp=4, pp=8, tp=8, micro_batches=32, recompute="selective")
show(sliders.picture(), live=lambda: sliders)

# %% [markdown]
# ## The trillion-parameter sum, put right
#
# A sum that is often shown: a trillion parameters in 16 bits, 2 TB. Gradients 2 TB. Adam's two
# numbers, 4 TB. Activations of 120 layers of width 12,288, with 128 sequences of 2,048 tokens, one
# tensor a layer: 0.8 TB. "In all 10.8 TB."

# %%
predict(
    "What is wrong with that sum?",
    "only the adding: it is 8.8",
    "it is far too small",
    "it is far too large",
)

# %%
P, s, b, h, layers = 1e12, 2048, 128, 12288, 120
shown = {"weights": 2 * P, "gradients": 2 * P, "optimizer": 4 * P}
shown["activations"] = 2 * s * b * h * layers
needed = {"weights": 2 * P, "gradients": 2 * P, "optimizer": 12 * P}
needed["activations"] = 34 * s * b * h * layers
title = "Nine terabytes were promised, and three times as many are needed"
sums = {"the sum, added up": shown, "what is needed": needed}
show(bars([Group(sums)], title))
scores = 5 * 96 * s * s * b * layers
print(f"and the attention scores of 96 heads, where they are kept: {bytes_text(scores)}")
print(f"120 layers of that width: {parameters(gpt(h, layers, 96)).total:.3g} parameters")

# %% [markdown]
# Three things are wrong. The numbers add up to 8.8. Adam in mixed precision keeps 12 bytes, not 4.
# And a layer keeps 34 bytes for each token and each unit of width, not 2, even when the attention
# scores are not kept. Besides, 120 layers of 12,288 make 0.22 trillion parameters, not one.
#
# What does a real trillion need? The GPT of a trillion parameters that was measured in [arXiv
# 2205.05198](https://arxiv.org/abs/2205.05198) has 128 layers of 25,600, and ran on 512 GPUs:

# %%
trillion = gpt(25600, 128, 160)
newer = {"recompute": "selective", "sequence_parallel": True, "overlap_tp": True}
done = estimate(trillion, Layout(512, pp=64, tp=8, **newer), preset("A100"))
print(f"all {done.layout.gpus} devices: {bytes_text(512 * done.memory.total)}")
print(f"predicted {done.seconds:.1f} s a step, measured 71.5 s")
show(bars([memory_group({"each": done})], f"Each of 512 devices: {bytes_text(done.memory.total)}"))

# %% [markdown]
# ## Bytes on the wire
#
# Each kind of parallelism sends something else: data parallelism gradients, once a step; tensor
# parallelism activations, four times in every layer; a pipeline activations, once a stage.

# %%
from helpers.cost import bytes_on_the_wire

cut = {"micro_batch": 1, "micro_batches": 32, "sequence": 2048}
for name, how in {"DP 8": {"dp": 8}, "TP 8": {"tp": 8}, "PP 8": {"pp": 8}}.items():
    part = 1 if "dp" in how else 8
    wire = bytes_on_the_wire(llama, count.total / part, **cut, **how)
    print(f"{name}: {bytes_text(wire.total):>8} sent by a rank in a step of 32 micro-batches")

# %% [markdown]
# Tensor parallelism sends five times as much as data parallelism, and a hundred times as much as a
# pipeline. That is why it stays inside a node, where the network is fast.
#
# ## How large a model, how much text?
#
# You have a **budget**: so many operations, no more. A larger model learns more from each token,
# but sees fewer tokens. Hoffmann and others fitted many runs ([arXiv
# 2203.15556](https://arxiv.org/abs/2203.15556)): `loss = 406.4 / N^0.34 + 410.7 / D^0.29 + 1.69`.

# %%
predict(
    "The budget is 1.23e22 operations, and C = 6 N D. A rule of thumb says 20 tokens for each "
    "parameter. What does this law say?",
    "20 too",
    "fewer: about 10",
    "more: about 30",
)

# %%
from helpers.cost import ScalingLaw

law, budgets = ScalingLaw(), (1.23e21, 1.23e22, 1.23e23)
print(law.best(1.23e22))
losses = {
    f"{budget:.3g} FLOPs": {math.log10(n): loss for n, loss in law.curve(budget).items()}
    for budget in budgets
}
title = "Ten times the budget: the best model is three times as large"
show(curves(losses, title, x="parameters, as a power of ten", y="loss (nats a token)"))

# %% [markdown]
# 30.7 tokens a parameter. The paper has three ways to find the optimum. Two of them give about 20;
# this law, with the constants as they were printed, does not. The valley is flat: a model of half
# the size loses little, and is cheaper to use afterwards.

# %%
best = law.best(1.23e22)
for share in (0.25, 0.5, 1, 2):
    n = share * best.parameters
    print(f"{n:.2e} parameters: loss {law.loss(n, 1.23e22 / 6 / n):.3f}")

# %% [markdown]
# ## What to remember
#
# - A number of operations without its convention says little: which scores, which pass, which
#   batch.
# - Training takes about `6 N D` operations.
# - Mixed precision with Adam: 16 bytes a parameter, 12 of them the optimizer's.
# - A layer of a GPT keeps `34 s b h` bytes, and the attention scores. Recomputing buys memory with
#   time.
# - MFU counts what the model needs, HFU what the devices did.
# - Tensor parallelism sends most.
# - For a budget there is a best size. The rule of 20 tokens does not follow from the printed law.
#
# ## Exercises
#
# **1. Task CO-1: count a LLaMA.** Parameters, operations and bytes, from formulas: no model
# is built.

# %%
check("CO-1")

# %% [markdown]
# **2. Task CO-2: the best N and D.**

# %%
check("CO-2")

# %% [markdown]
# **3.** A model has 13 billion parameters. How many GB do its states take on each of 32 ranks with
# ZeRO stage 2? (Mixed precision, Adam; 1 GB is 1e9 bytes; to 0.1 GB.)

# %%
mine = None
answer(mine, lambda: states(13e9, zero=2, ranks=32).total / 1e9, tolerance=0.1)

# %% [markdown]
# **4.** A GPT with hidden size 6,144, 48 layers and 64 heads trains on 8 A100s (312 TFLOP/s each),
# four sequences of 2,048 tokens in 1.42 s. What is its MFU in percent? (To 1 %.)

# %%
mine = None
step = flops(gpt(6144, 48, 64), batch=4)
answer(mine, lambda: 100 * utilisation(step, 1.42, 8, 312e12).mfu, tolerance=1)
