"""Train a small LLaMA on one device: the script from which all others grow.

    python intro.py                  50 steps of a model of half a million parameters
    python intro.py --from best      continue from a model that ships: early, middle or best
    python intro.py --size lab       the sizes of the lab text, for a GPU
    python intro.py --help           every flag

Prints the loss of each step.
"""

import torch

from helpers.ranks.script import run_alone
from helpers.trace import Recorder
from simplellm.losses import causalLLMLoss, check_finite
from simplellm.options import (
    OneDeviceFlags,
    make_model,
    make_optimizer,
    make_tokenizer,
    stories_of_ranks,
)


def read_flags(arguments=None):
    return OneDeviceFlags(__doc__, batch_size=3).parse_args(arguments)


def train(options, say=print, net=None):
    """Train for `options.steps` steps; return the losses, the model and the trace.

    say(step, loss): called after each step. net: the model to train; by default the one that the
    flags ask for.
    """
    torch.set_num_threads(options.threads)  # a device is one core, as each of several ranks is
    torch.manual_seed(options.seed)
    tokenizer = make_tokenizer(options)
    net = net or make_model(options, tokenizer, options.device)
    stories = stories_of_ranks(options, tokenizer, options.like_ranks)
    optimizer = make_optimizer(options, net)
    recorder = Recorder(rank=0)
    losses = []

    for step in range(options.steps):
        ids = next(stories).to(net.device)
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


if __name__ == "__main__":
    run_alone(read_flags, train)
