"""The flags that every training script shares, and the sizes that they start from.

python intro.py                          "laptop": half a million parameters
python intro.py --size story             "story": two layers, which read like English sooner
python intro.py --size lab               "lab": the size of the lab text, for a GPU
python intro.py --layers 3 --steps 10    any single number can be changed
"""

import argparse
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import psutil
import torch
from torch import Tensor, nn, optim

from simplellm.checkpoint import load_model
from simplellm.dataloaders import TextFile, TinyStories
from simplellm.llama import LLama
from simplellm.models import of_sizes, weights_file
from simplellm.slicing import layer_counts, slice_stage
from simplellm.stories import WORLDS
from simplellm.tokenizers import SPTokenizer

OPTIMIZERS = {"adam": optim.Adam, "sgd": optim.SGD}


class Size(NamedTuple):
    """A model and how it is trained. Lengths in tokens, lr per step."""

    tokenizer: str
    dmodel: int
    heads: int
    layers: int
    seq_l: int
    lr: float
    steps: int
    world: str = "large"


SIZES = {
    "story": Size("stories-small", 64, 4, 2, seq_l=128, lr=1e-2, steps=600, world="small"),
    "laptop": Size("stories-small", 64, 4, 6, seq_l=128, lr=4e-3, steps=50, world="small"),
    "lab": Size("stories-4096", 288, 6, 6, seq_l=256, lr=8e-4, steps=5000),
}


def number(kind: type, least: int, most: int | None = None, above: bool = False) -> Callable:
    """Return a parser of a flag's number: an int or float from `least`, or above it, to `most`."""

    def parse(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        fits = value > least if above else value >= least
        if not fits or value == math.inf or (most is not None and value > most):
            bounds = f", {least} or more" if most is None else f", from {least} to {most:,}"
            bounds = f" above {least}" if above else bounds
            words = "whole number" if kind is int else "number"
            raise argparse.ArgumentTypeError(f"must be a {words}{bounds}, not {text[:40]!r}")
        return value

    return parse


positive = number(int, 1)
above_zero = number(float, 0, above=True)
seeds = number(int, 0, 2**64 - 1)  # what torch takes


class TrainingFlags(argparse.ArgumentParser):
    """A parser with the flags of a training script; what it parses is complete and fits together.

    Args:
        description: what the script does, printed as it is.
        batch_size: the default of --batch-size, in windows of text.
        micro_batches, stages: with a default, the script has the flag --micro-batches or --stages.
        defaults: of other flags, in place of those of --size: ``steps=20``.

    `parse_args` raises ValueError if the micro-batches would not be equal, or if the model has
    fewer layers than stages.
    """

    def __init__(
        self,
        description: str,
        batch_size: int,
        micro_batches: int | None = None,
        stages: int | None = None,
        **defaults: object,
    ):
        super().__init__(
            description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add = self.add_argument_group("training").add_argument
        add("--size", choices=SIZES, default="laptop", help="where the defaults come from (laptop)")
        add("--steps", type=number(int, 0), help="training steps")
        text = f"windows a rank ({batch_size})"
        add("--batch-size", type=positive, default=batch_size, help=text)
        add("--seq-l", type=positive, help="tokens a window")
        add("--dmodel", type=positive, help="width of the model")
        add("--heads", type=positive, help="attention heads")
        add("--layers", type=number(int, 0), help="blocks of the model")
        add("--optimizer", choices=OPTIMIZERS, default="adam", help="adam or sgd (adam)")
        add("--lr", type=number(float, 0), help="learning rate")
        text = "of the learning rate: constant, or warm-up and then a linear decay (constant)"
        add("--lr-schedule", choices=("constant", "decay"), default="constant", help=text)
        add("--seed", type=seeds, default=0, help="of the initial weights and of the stories (0)")
        text = "stories-1024, stories-4096, stories-small, or a SentencePiece file"
        add("--tokenizer", metavar="NAME", help=text)
        text = "continue from a model: early, middle or best (they ship), or a .safetensors file"
        add("--from", dest="start", metavar="MODEL", help=text)
        add("--world", choices=WORLDS, help="of the stories: large, or small with fewer words")
        text = "where the text comes from (stories)"
        add("--source", choices=("stories", "hub"), default="stories", help=text)
        add("--text", metavar="FILE", help="train on a text file of your own instead")
        if micro_batches:
            text = f"of a batch ({micro_batches})"
            self.add_argument("--micro-batches", type=positive, default=micro_batches, help=text)
        if stages:
            text = f"of each pipeline ({stages})"
            self.add_argument("--stages", type=positive, default=stages, help=text)
        self.set_defaults(**defaults)

    def parse_args(self, args=None, namespace=None):
        options = super().parse_args(args, namespace)
        for name, value in SIZES[options.size]._asdict().items():  # what was not given
            if getattr(options, name) is None:
                setattr(options, name, value)
        if "stages" in options:
            layer_counts(options.layers, options.stages)
        if "micro_batches" in options and (size := options.batch_size) % options.micro_batches:
            words = f"a batch of {size} cannot be cut into {options.micro_batches} equal"
            cure = "choose --micro-batches so that it divides --batch-size"
            raise ValueError(f"{words} micro-batches: {cure}")
        return options


class OneDeviceFlags(TrainingFlags):
    """The flags of a script on one device: --device, --threads, --like-ranks and --trace too."""

    def __init__(self, description: str, batch_size: int):
        super().__init__(description, batch_size)
        add = self.add_argument
        add("--device", default="auto", help="auto, cpu, cuda or mps (auto)")
        text = "cores that this device may use (1)"
        add("--threads", type=number(int, 1, 1024), default=1, help=text)
        text = "read what N ranks would read, side by side in one batch"
        add("--like-ranks", type=positive, default=1, metavar="N", help=text)
        add("--trace", metavar="FILE", help="leave a trace that Perfetto opens")


def prepare(
    options: argparse.Namespace, device: str | torch.device, stage: int = 0, stages: int = 1
) -> tuple[SPTokenizer, nn.Module]:
    """Return the tokenizer and the model that the flags ask for, its weights drawn from the seed.

    stages: with more than one, the model is cut into so many stages and only number `stage` is
    returned. Every rank draws the whole model first, so all layouts start from the same weights.
    """
    torch.manual_seed(options.seed)
    tokenizer = make_tokenizer(options)
    if stages == 1:
        return tokenizer, make_model(options, tokenizer, device)
    return tokenizer, slice_stage(make_model(options, tokenizer), stage, stages, device)


def make_tokenizer(options: argparse.Namespace) -> SPTokenizer:
    return SPTokenizer(options.tokenizer)


def make_model(options: argparse.Namespace, tokenizer: SPTokenizer, device: str = "cpu") -> LLama:
    """Return the whole LLaMA that the flags ask for, its weights drawn, or read with --from.

    Raises ValueError for sizes beyond this machine's memory, and for another model's weights.
    """
    check_memory(options, tokenizer.vocab_size)
    net = of_sizes(vars(options), tokenizer, device)
    return load_model(net, weights_file(options.start)) if options.start else net


def make_stories(
    options: argparse.Namespace,
    tokenizer: SPTokenizer,
    rank: int = 0,
    world_size: int = 1,
    batch_size: int | None = None,
    quiet: bool = False,
) -> Iterable[Tensor]:
    """Return this rank's part of the text that the flags ask for: int64 (batch_size, seq_l).

    quiet: do not say what is read; for ranks that read the same as another one.
    """
    common = {"rank": rank, "world_size": world_size, "quiet": quiet, "seq_l": options.seq_l}
    common["batch_size"] = batch_size or options.batch_size
    if options.text:
        return TextFile(options.text, tokenizer, **common)
    return TinyStories(
        tokenizer, source=options.source, seed=options.seed, world=options.world, **common
    )


def stories_of_ranks(
    options: argparse.Namespace, tokenizer: SPTokenizer, ranks: int
) -> Iterator[Tensor]:
    """Yield what `ranks` ranks read, as one batch: row r is the next window of rank r.

    So one device can take the same step that the ranks take together.
    """
    if options.batch_size % ranks:
        words = f"a batch of {options.batch_size} cannot be divided among {ranks} ranks"
        raise ValueError(f"{words}: choose a --batch-size that {ranks} divides")
    part = options.batch_size // ranks
    streams = [iter(make_stories(options, tokenizer, r, ranks, part)) for r in range(ranks)]
    while True:
        yield torch.cat([next(stream) for stream in streams])


def make_optimizer(
    options: argparse.Namespace, model: nn.Module | Iterable[nn.Module | Tensor]
) -> optim.Optimizer:
    """Return the optimizer that the flags ask for, over a module, or modules and parameters.

    With --lr-schedule decay it sets its own learning rate before each step. How many steps it has
    made is saved with its state, so a run that is continued goes on where it was.
    """
    parts = [model] if isinstance(model, nn.Module) else model
    parts = [part.parameters() if isinstance(part, nn.Module) else [part] for part in parts]
    parameters = list(dict.fromkeys(p for part in parts for p in part))  # tied ones once
    optimizer = OPTIMIZERS[options.optimizer](parameters, lr=options.lr)
    if options.lr_schedule == "decay":
        for group in optimizer.param_groups:
            group["made"] = 0
        optimizer.register_step_pre_hook(partial(_set_rate, options.lr, options.steps))
    return optimizer


def _set_rate(peak: float, steps: int, optimizer: optim.Optimizer, *_: object) -> None:
    for group in optimizer.param_groups:
        group["lr"] = peak * decay(group["made"], steps)
        group["made"] += 1


def decay(step: int, steps: int, warm_up: int = 20, flat: float = 0.4, least: float = 0.02):
    """Return the factor of the learning rate at a step, counted from 0.

    It rises linearly over the first `warm_up` steps (or a fifth of all, if that is less), stays at
    1 until `flat` of all steps are done, and then falls linearly to `least` at the last step: the
    shape of "warm-up, stable, decay" (Hu et al. 2024, arXiv 2404.06395).
    """
    warm_up = max(1, min(warm_up, steps // 5))
    left = (steps - 1 - step) / max(1, steps - 1 - flat * steps)
    return min(1.0, (step + 1) / warm_up, max(least, least + (1 - least) * left))


def check_memory(options: argparse.Namespace, vocabulary: int) -> None:
    """Raise ValueError for sizes that certainly need more memory than this machine has.

    Counted are the weights and their gradients, and the logits of one micro-batch, 4 bytes each: a
    step needs more than that.
    """
    width, layers = options.dmodel, options.layers
    windows = options.batch_size // getattr(options, "micro_batches", 1)
    weights = 2 * (2 * vocabulary * width + layers * 16 * width * width)
    needed = 4 * (weights + windows * options.seq_l * vocabulary)
    gpus = range(torch.cuda.device_count())
    rooms = [torch.cuda.get_device_properties(number).total_memory for number in gpus]
    room = max(psutil.virtual_memory().total, *rooms, 0)
    if needed > room:
        raise ValueError(
            f"{layers:,} layers of width {width:,} and {windows:,} windows of {options.seq_l:,} "
            f"tokens at one time need more than {needed / 1e9:,.0f} GB, and this machine has "
            f"{room / 1e9:,.0f} GB: choose a smaller --dmodel, --layers, --batch-size or --seq-l"
        )
