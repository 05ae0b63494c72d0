"""The flags that every training script shares, and the two sizes that they start from.

python intro.py                          "laptop": about 1 M parameters, seconds
python intro.py --size lab               "lab": the size of the lab text, for a GPU
python intro.py --layers 3 --steps 10    any single number can be changed
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn, optim

from simplellm.dataloaders import PythonReference, TextFile, TinyStories
from simplellm.llama import CausalLLama, LLama
from simplellm.tokenizers import SPTokenizer

OPTIMIZERS = {"adam": optim.Adam, "sgd": optim.SGD}
SOURCES = ("stories", "python", "hub")


@dataclass(frozen=True)
class Size:
    """A model and how it is trained.  Lengths in tokens, lr per step."""

    vocabulary: str
    dmodel: int
    heads: int
    layers: int
    seq_l: int
    lr: float
    steps: int


SIZES = {
    "laptop": Size("stories-4096", 72, 6, 6, seq_l=128, lr=6e-3, steps=50),
    "lab": Size("stories-4096", 288, 6, 6, seq_l=256, lr=8e-4, steps=5000),
}


def add_training_flags(parser: argparse.ArgumentParser, batch_size: int) -> None:
    """Add the flags of a training script.  `batch_size` is the default, in windows of text."""
    add = parser.add_argument_group("training").add_argument
    add("--size", choices=SIZES, default="laptop", help="where the defaults come from (laptop)")
    add("--steps", type=_count, help="training steps")
    add("--batch-size", type=positive, default=batch_size, help=f"windows a rank ({batch_size})")
    add("--seq-l", type=positive, help="tokens a window")
    add("--dmodel", type=positive, help="width of the model")
    add("--heads", type=positive, help="attention heads")
    add("--layers", type=_count, help="blocks of the model")
    add("--optimizer", choices=OPTIMIZERS, default="adam", help="adam or sgd (adam)")
    add("--lr", type=_rate, help="learning rate")
    add("--seed", type=int, default=0, help="of the initial weights and of the stories (0)")
    add("--tokenizer", metavar="NAME", help="stories-1024, stories-4096, or a SentencePiece file")
    add("--source", choices=SOURCES, default="stories", help="where the text comes from (stories)")
    add("--text", metavar="FILE", help="train on a text file of your own instead")


def settle(options: argparse.Namespace) -> argparse.Namespace:
    """Fill in, from `--size`, every number that was not given."""
    size = SIZES[options.size]
    for name in ("dmodel", "heads", "layers", "seq_l", "lr", "steps"):
        if getattr(options, name) is None:
            setattr(options, name, getattr(size, name))
    options.tokenizer = options.tokenizer or size.vocabulary
    return options


def check_micro_batches(options: argparse.Namespace) -> argparse.Namespace:
    """The flags themselves; ValueError where the micro-batches of a batch would not be equal."""
    if options.batch_size % options.micro_batches:
        raise ValueError(
            f"a batch of {options.batch_size} cannot be cut into {options.micro_batches} equal "
            "micro-batches: choose --micro-batches so that it divides --batch-size"
        )
    return options


def make_tokenizer(options: argparse.Namespace) -> SPTokenizer:
    """The tokenizer that the flags ask for."""
    return SPTokenizer(options.tokenizer)


def make_model(options: argparse.Namespace, tokenizer: SPTokenizer, device: str = "cpu") -> LLama:
    """The whole LLaMA that the flags ask for."""
    return LLama(
        CausalLLama,
        tokenizer.vocab_size,
        dmodel=options.dmodel,
        num_heads=options.heads,
        n_layers=options.layers,
        ctx_size=options.seq_l,
        padding_idx=tokenizer.pad_id,
        device=device,
    )


def make_stories(
    options: argparse.Namespace,
    tokenizer: SPTokenizer,
    rank: int = 0,
    world_size: int = 1,
    batch_size: int | None = None,
    quiet: bool = False,
) -> Iterable[Tensor]:
    """The text that the flags ask for: int64 batches (batch_size, seq_l) of this rank's part.

    quiet: do not say what is read; for ranks that read the same as another one.
    """
    common = {
        "batch_size": batch_size or options.batch_size,
        "seq_l": options.seq_l,
        "rank": rank,
        "world_size": world_size,
        "quiet": quiet,
    }
    if options.text:
        return TextFile(options.text, tokenizer, **common)
    if options.source == "python":
        return PythonReference(tokenizer, **common)
    return TinyStories(tokenizer, source=options.source, seed=options.seed, **common)


def stories_of_ranks(
    options: argparse.Namespace, tokenizer: SPTokenizer, ranks: int
) -> Iterator[Tensor]:
    """What `ranks` ranks read, as one batch: row r of the batch is the next window of rank r.

    So one device can take the very step that the ranks take together.
    """
    if options.batch_size % ranks:
        raise ValueError(
            f"a batch of {options.batch_size} cannot be divided among {ranks} ranks: choose a "
            f"--batch-size that {ranks} divides"
        )
    part = options.batch_size // ranks
    streams = [iter(make_stories(options, tokenizer, r, ranks, part)) for r in range(ranks)]
    while True:
        yield torch.cat([next(stream) for stream in streams])


def make_optimizer(options: argparse.Namespace, model: nn.Module) -> optim.Optimizer:
    """The optimizer that the flags ask for, over the parameters of `model`."""
    return OPTIMIZERS[options.optimizer](model.parameters(), lr=options.lr)


def positive(text: str) -> int:
    return _at_least(text, 1)


def _count(text: str) -> int:
    return _at_least(text, 0)


def _at_least(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more, not {text!r}")
    return number


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more, not {text!r}")
    return rate
