"""The flags that both programs have."""

import argparse

from project.data import GENERATED, IWSLT
from project.models import SIZES


def whole(text, most=1_000_000):
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text:.40} is not a whole number of 1 to {most:,}")
    return int(text)


def truth(text):
    """Read "True" or "False", so that --pytest False means no."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}: write True or False")
    return text.lower() == "true"


def rate(text):
    if not float(text) > 0:
        raise argparse.ArgumentTypeError(f"{text}: give a number above 0, such as 1e-3")
    return float(text)


def read_flags(description, add_more, arguments=None):
    """Return the values of the flags that all programs have, and of those that `add_more` adds."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--dataset", default=GENERATED, help=f"{GENERATED!r}, or one on the hub: {IWSLT}")
    add("--model_max_length", type=whole, default=128, help="tokens of a sentence with its answer")
    add("--n_epochs", type=whole, default=10)
    add("--batch_size", type=whole, default=128, help="sentences in a step, of all ranks together")
    add("--learning_rate", type=rate, help="default: what fits the model")
    add("--model", choices=SIZES, default="tiny", help="gpt2: the shape with 124M parameters")
    add("--n_train", type=whole, default=4000, help="sentences to train on")
    add("--n_held_out", type=whole, default=200, help="sentences to validate, and to test")
    add("--workdir", default="workdir", help="folder of the results")
    add("--seed", type=int, default=0)
    add_more(parser)
    options = parser.parse_args(arguments)
    options.learning_rate = options.learning_rate or SIZES[options.model].learning_rate
    return options
