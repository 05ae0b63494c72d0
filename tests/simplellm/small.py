"""The model that most of these tests look at."""

import torch

from simplellm.llama import CausalLLama, LLama

SIZES = dict(dmodel=24, num_heads=4, ctx_size=16, device="cpu")


def small(seed=0, times=1, vocab_size=50, n_layers=2, **sizes):
    """Return a whole model; its weights are so many times those that the seed draws."""
    torch.manual_seed(seed)
    net = LLama(CausalLLama, vocab_size, n_layers=n_layers, **SIZES | sizes)
    for weight in net.parameters():
        weight.data.mul_(times)
    return net
