"""GPT-2 from a configuration: a small one for a laptop, or the one with 124M parameters."""

from dataclasses import dataclass

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from wrong_input import WrongInput


@dataclass(frozen=True)
class Size:
    """What a size means. learning_rate: what it learns well with (AdamW, batches of 64).

    vocab: pieces of the tokenizer, at most. rows, positions: of the embeddings; None: what the
    tokenizer and the sentences need. spread: of the weights at the start, as a standard deviation.
    GPT-2's 0.02 is for widths of 768 and more; a narrow model learns far faster from larger ones.
    """

    layers: int
    heads: int
    width: int
    vocab: int
    learning_rate: float
    rows: int | None = None
    positions: int | None = None
    spread: float = 0.02


SIZES = {
    "tiny": Size(layers=4, heads=4, width=128, vocab=600, learning_rate=2e-3, spread=0.06),
    "gpt2": Size(12, 12, 768, vocab=10_000, learning_rate=1e-4, rows=50_257, positions=1024),
}


def make_config(size: str, vocab_size: int, model_max_length: int) -> GPT2Config:
    """The shape. Dropout is off: two devices would draw other numbers than one."""
    if size not in SIZES:
        raise WrongInput(f"there is no model {size!r}: take one of {', '.join(SIZES)}")
    shape = SIZES[size]
    return GPT2Config(
        vocab_size=max(vocab_size, shape.rows or 0),
        n_positions=max(model_max_length, shape.positions or 0),
        n_layer=shape.layers, n_head=shape.heads, n_embd=shape.width,
        initializer_range=shape.spread,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=None, eos_token_id=None, use_cache=False,
    )  # fmt: skip


def make_model(config: GPT2Config, seed: int = 0, kind: type = GPT2LMHeadModel) -> GPT2LMHeadModel:
    """A model with weights drawn by `seed`: the same on every rank and for every kind."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)
