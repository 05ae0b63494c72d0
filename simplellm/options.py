"""The flags that every training script shares, and the sizes that they start from.

python intro.py                          "laptop": half a million parameters
python intro.py --size story             "story": two layers, which read like English sooner
python intro.py --size lab               "lab": the size of the lab text, for a GPU
python intro.py --layers 3 --steps 10    any single number can be changed
"""

import argparse
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn, optim

from simplellm.checkpoint import load_model
from simplellm.dataloaders import PythonReference, TextFile, TinyStories
from simplellm.llama import LLama
from simplellm.models import of_sizes, weights_file
from simplellm.slicing import layer_counts, slice_stage
from simplellm.stories import WORLDS
from simplellm.tokenizers import SPTokenizer

OPTIMIZERS = {"adam": optim.Adam, "sgd": optim.SGD}
SCHEDULES = ("constant", "decay")
SOURCES = ("stories", "python", "hub")


@dataclass(frozen=True)
class Size:
    """A model and how it is trained. Lengths in tokens, lr per step."""

    vocabulary: str
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
        add_training_flags(self, batch_size)
        if micro_batches is not None:
            text = f"of a batch ({micro_batches})"
            self.add_argument("--micro-batches", type=positive, default=micro_batches, help=text)
        if stages is not None:
            text = f"of each pipeline ({stages})"
            self.add_argument("--stages", type=positive, default=stages, help=text)
        self.set_defaults(**defaults)

    def parse_args(self, args=None, namespace=None):
        options = super().parse_args(args, namespace)
        size = SIZES[options.size]  # where every number comes from that was not given
        for name in ("dmodel", "heads", "layers", "seq_l", "lr", "steps", "world"):
            if getattr(options, name) is None:
                setattr(options, name, getattr(size, name))
        options.tokenizer = options.tokenizer or size.vocabulary
        if "stages" in options:
            layer_counts(options.layers, options.stages)
        if "micro_batches" in options and options.batch_size % options.micro_batches:
            raise ValueError(
                f"a batch of {options.batch_size} cannot be cut into {options.micro_batches} equal "
                "micro-batches: choose --micro-batches so that it divides --batch-size"
            )
        return options


class OneDeviceFlags(TrainingFlags):
    """The flags of a script on one device: --device, --threads, --like-ranks and --trace too."""

    def __init__(self, description: str, batch_size: int):
        super().__init__(description, batch_size)
        add = self.add_argument
        add("--device", default="auto", help="auto, cpu, cuda or mps (auto)")
        add("--threads", type=threads, default=1, help="cores that this device may use (1)")
        text = "read what N ranks would read, side by side in one batch"
        add("--like-ranks", type=positive, default=1, metavar="N", help=text)
        add("--trace", metavar="FILE", help="leave a trace that Perfetto opens")


def add_training_flags(parser: argparse.ArgumentParser, batch_size: int) -> None:
    """Add the flags of a training script. `batch_size` is the default, in windows of text."""
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
    text = "of the learning rate: constant, or warm-up and then a linear decay (constant)"
    add("--lr-schedule", choices=SCHEDULES, default="constant", help=text)
    add("--seed", type=_seed, default=0, help="of the initial weights and of the stories (0)")
    text = "stories-1024, stories-4096, stories-small, or a SentencePiece file"
    add("--tokenizer", metavar="NAME", help=text)
    text = "continue from a model: early, middle or best (they ship), or a .safetensors file"
    add("--from", dest="start", metavar="MODEL", help=text)
    add("--world", choices=WORLDS, help="of the stories: large, or small with fewer words")
    add("--source", choices=SOURCES, default="stories", help="where the text comes from (stories)")
    add("--text", metavar="FILE", help="train on a text file of your own instead")


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
    """Return the tokenizer that the flags ask for."""
    return SPTokenizer(options.tokenizer)


def make_model(options: argparse.Namespace, tokenizer: SPTokenizer, device: str = "cpu") -> LLama:
    """Return the whole LLaMA that the flags ask for, its weights drawn, or read with --from.

    Raises ValueError for sizes that can't fit into this machine's memory, and for the weights of
    a model of another size.
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
        raise ValueError(
            f"a batch of {options.batch_size} cannot be divided among {ranks} ranks: choose a "
            f"--batch-size that {ranks} divides"
        )
    part = options.batch_size // ranks
    streams = [iter(make_stories(options, tokenizer, r, ranks, part)) for r in range(ranks)]
    while True:
        yield torch.cat([next(stream) for stream in streams])


def make_optimizer(
    options: argparse.Namespace, model: nn.Module | Iterable[nn.Module | Tensor]
) -> optim.Optimizer:
    """Return the optimizer that the flags ask for, over the parameters of `model`.

    With --lr-schedule decay it sets its own learning rate before each step. How many steps it has
    made is saved with its state, so a run that is continued goes on where it was.

    model: a module, or a list of modules and parameters.
    """
    parts = [model] if isinstance(model, nn.Module) else model
    parameters = dict.fromkeys(p for part in parts for p in _parameters(part))  # tied ones once
    optimizer = OPTIMIZERS[options.optimizer](list(parameters), lr=options.lr)
    if options.lr_schedule == "decay":
        for group in optimizer.param_groups:
            group["made"] = 0
        optimizer.register_step_pre_hook(partial(_set_rate, options.lr, options.steps))
    return optimizer


def _parameters(part: nn.Module | Tensor) -> Iterable[Tensor]:
    return part.parameters() if isinstance(part, nn.Module) else [part]


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
    room = memory_of_this_machine()
    width, layers = options.dmodel, options.layers
    weights = 8 * (2 * vocabulary * width + layers * 16 * width * width)
    windows = options.batch_size // getattr(options, "micro_batches", 1)
    logits = 4 * windows * options.seq_l * vocabulary
    for needed, what, cure in (
        (weights, f"a model of {layers} layers of width {width} needs", "--dmodel or --layers"),
        (
            weights + logits,
            f"{windows:,} windows of {options.seq_l:,} tokens at one time need",
            "--batch-size or --seq-l",
        ),
    ):
        if needed > room:
            raise ValueError(
                f"{what} more than {needed / 1e9:,.0f} GB, and this machine has "
                f"{room / 1e9:,.0f} GB: choose a smaller {cure}"
            )


def memory_of_this_machine() -> int:
    """Return the bytes of the largest memory here, of the processor or of a GPU."""
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    gpus = [torch.cuda.get_device_properties(n).total_memory for n in range(count)]
    try:
        return max(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *gpus, 0)
    except (AttributeError, ValueError, OSError):  # Windows doesn't tell: more than a laptop has
        return max(1 << 40, *gpus, 0)


def positive(text: str) -> int:
    """Parse a flag's whole number, 1 or more."""
    return _number(text, int, 1)


def above_zero(text: str) -> float:
    """Parse a flag's number above 0."""
    return _number(text, float, 0, above=True)


def threads(text: str) -> int:
    """Parse a flag's number of threads, at most as many as any machine can run."""
    return _number(text, int, 1, 1024)


def _count(text: str) -> int:
    return _number(text, int, 0)


def _seed(text: str) -> int:
    return _number(text, int, 0, 2**64 - 1)  # what torch takes


def _rate(text: str) -> float:
    return _number(text, float, 0)


def _number(text: str, kind: type, least: int, most: int | None = None, above: bool = False):
    try:
        number = kind(text)
    except ValueError:
        number = least - 1
    outside = number < least or not number < float("inf") or (most is not None and number > most)
    if outside or (above and number == least):
        bounds = f", {least} or more" if most is None else f", from {least} to {most:,}"
        bounds = f" above {least}" if above else bounds
        words = "whole number" if kind is int else "number"
        raise argparse.ArgumentTypeError(f"must be a {words}{bounds}, not {text[:40]!r}")
    return number
