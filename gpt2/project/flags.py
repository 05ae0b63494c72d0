"""The flags that both programs have, and what follows from them."""

import argparse
from pathlib import Path

from wrong_input import WrongInput

from project.data import GENERATED, IWSLT
from project.models import SIZES

MOST = 1_000_000  # sentences, tokens, epochs: more than anybody waits for
MOST_RANKS = 64


def whole(text: str, most: int = MOST) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    if int(text) > most:
        raise argparse.ArgumentTypeError(f"{text:.40} is too large: give 1 to {most:,}")
    return int(text)


def ranks(text: str) -> int:
    """How many processes this machine is asked for."""
    return whole(text, MOST_RANKS)


def folder(text: str) -> str:
    """A folder that is there, or can be made."""
    if Path(text).exists() and not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a file: name a folder")
    return text


def truth(text: str) -> bool:
    """ "True" or "False", so that --pytest False means no."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}: write True or False")
    return text.lower() == "true"


def common(description: str) -> argparse.ArgumentParser:
    """A parser with the flags of both programs."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--dataset", default=GENERATED, help=f"{GENERATED!r}, or one on the hub: {IWSLT}")
    add("--model_max_length", type=whole, default=128, help="tokens of a sentence with its answer")
    add("--n_epochs", type=whole, default=10)
    add("--batch_size", type=whole, default=128, help="sentences in a step, of all ranks together")
    add("--learning_rate", type=float, help="default: what fits the model")
    add("--model", choices=SIZES, default="tiny", help="gpt2: the shape with 124M parameters")
    add("--n_train", type=whole, default=4000, help="sentences to train on")
    add("--n_held_out", type=whole, default=200, help="sentences to validate, and to test")
    add("--workdir", type=folder, default="workdir", help="folder of the results")
    add("--seed", type=int, default=0)
    return parser


def learning_rate(flags: argparse.Namespace) -> float:
    """The one that was asked for, or the one that fits the model."""
    rate = flags.learning_rate
    if rate is not None and not rate > 0:
        raise WrongInput(f"--learning_rate {rate:g}: give a number above 0, such as 1e-3")
    return SIZES[flags.model].learning_rate if rate is None else rate
