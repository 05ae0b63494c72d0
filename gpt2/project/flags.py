"""The flags that both programs have."""

import argparse

from project.data import GENERATED, IWSLT
from project.models import SIZES
from simplellm.options import above_zero, number

whole = number(int, 1, 1_000_000)


def truth(text):
    """Read "True" or "False", so that --pytest False means no."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r}: write True or False")
    return text.lower() == "true"


def parser_of(description):
    """Return a parser of the flags that both programs have."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--dataset", default=GENERATED, help=f"{GENERATED!r}, or one on the hub: {IWSLT}")
    add("--model_max_length", type=whole, default=128, help="tokens of a sentence with its answer")
    add("--n_epochs", type=whole, default=10)
    add("--batch_size", type=whole, default=128, help="sentences in a step, of all ranks together")
    add("--learning_rate", type=above_zero, help="default: what fits the model")
    add("--model", choices=SIZES, default="tiny", help="gpt2: the shape with 124M parameters")
    add("--n_train", type=whole, default=4000, help="sentences to train on")
    add("--n_held_out", type=whole, default=200, help="sentences to validate, and to test")
    add("--workdir", default="workdir", help="folder of the results")
    add("--seed", type=int, default=0)
    return parser
