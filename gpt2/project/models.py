"""GPT-2 from a configuration: a small one for a laptop, or the one with 124M parameters."""

from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel


@dataclass(frozen=True)
class Size:
    """learning_rate: what it learns well with (AdamW, batches of 64). vocab: pieces of the
    tokenizer, at most. rows, positions: of the embeddings, at least. spread: standard deviation of
    the first weights. GPT-2's 0.02 is for widths of 768; a narrow model wants more.
    """

    layers: int
    heads: int
    width: int
    vocab: int
    learning_rate: float
    rows: int = 0
    positions: int = 0
    spread: float = 0.02


SIZES = {
    "tiny": Size(layers=4, heads=4, width=128, vocab=600, learning_rate=2e-3, spread=0.06),
    "gpt2": Size(12, 12, 768, vocab=10_000, learning_rate=1e-4, rows=50_257, positions=1024),
}


def make_config(size, vocab_size, model_max_length):
    """Return the shape. Dropout is off: two devices would draw other numbers than one."""
    shape = SIZES[size]
    return GPT2Config(
        vocab_size=max(vocab_size, shape.rows),
        n_positions=max(model_max_length, shape.positions),
        n_layer=shape.layers, n_head=shape.heads, n_embd=shape.width,
        initializer_range=shape.spread,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=None, eos_token_id=None, use_cache=False,
    )  # fmt: skip


def make_model(config, seed=0, kind=GPT2LMHeadModel):
    """Return a model with weights drawn by `seed`: the same on every rank and for every kind."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)
