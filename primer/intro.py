"""Train a small LLaMA on one device: the script from which all others grow.

    python intro.py                  50 steps of a model of 1 M parameters
    python intro.py --size lab       the sizes of the lab text, for a GPU
    python intro.py --help           every flag

Prints the loss of each step.
"""

import argparse

import torch

from helpers.plain_errors import plain_errors
from helpers.trace import Recorder
from simplellm.devices import pick
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    add_training_flags,
    make_model,
    make_optimizer,
    make_tokenizer,
    positive,
    settle,
    stories_of_ranks,
)


def read_flags(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_training_flags(parser, batch_size=3)
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (auto)")
    parser.add_argument(
        "--threads", type=positive, default=1, help="cores that this device may use (1)"
    )
    parser.add_argument(
        "--like-ranks",
        type=positive,
        default=1,
        metavar="N",
        help="read what N ranks would read, side by side in one batch",
    )
    parser.add_argument("--trace", metavar="FILE", help="leave a trace that Perfetto opens")
    return settle(parser.parse_args(arguments))


def train(options, say=print):
    """Train for `options.steps` steps; give the losses, the model and the trace.

    say(step, loss): called after each step.
    """
    device = pick(options.device)
    torch.set_num_threads(options.threads)  # a device is one core, as each of several ranks is
    torch.manual_seed(options.seed)
    tokenizer = make_tokenizer(options)
    net = make_model(options, tokenizer, device)
    stories = stories_of_ranks(options, tokenizer, options.like_ranks)
    optimizer = make_optimizer(options, net)
    recorder = Recorder(rank=0)
    losses = []

    for step in range(options.steps):
        ids = next(stories).to(device)
        optimizer.zero_grad()
        with recorder.span("F"):
            loss = causalLLMLoss(net(ids), ids, tokenizer.vocab_size)
        with recorder.span("B"):
            loss.backward()
        with recorder.span("update"):
            optimizer.step()
        losses.append(check_finite(loss, step))
        say(step, losses[-1])

    return losses, net, recorder.trace()


def main():
    options = read_flags()
    _, _, trace = train(options)
    if options.trace:
        trace.save(options.trace)


if __name__ == "__main__":
    with plain_errors():
        main()
