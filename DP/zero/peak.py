"""The most that a rank holds during a step, by stage of ZeRO: measured, and expected."""

import torch
from intro_ZeRO import STAGES, units_of
from memory import Watch
from torch import nn

from helpers.trace import Recorder
from simplellm.llama import CausalLLama, LLama

PHASES = ("forward", "backward", "update")
TOKENS, VOCABULARY = 16, 64  # few, so that activations are small beside the weights


def model(width=192, layers=6):
    sizes = {"dmodel": width, "num_heads": 4, "n_layers": layers, "ctx_size": TOKENS}
    return LLama(CausalLLama, VOCABULARY, **sizes, device="cpu")


def watched(stage):
    """On a rank: the bytes held after each operation of the second step, by phase."""
    torch.manual_seed(0)
    net, ids = model(), torch.randint(VOCABULARY, (1, TOKENS))
    trainer = STAGES[stage](units_of(net), torch.optim.Adam, Recorder(0, enabled=False))
    owned, states = trainer.optimizer.param_groups[0]["params"], trainer.optimizer.state
    for _ in range(2):  # the first step makes Adam's states
        trainer.zero_grad()
        kept = [t for state in states.values() for t in state.values()]
        with Watch([*net.parameters(), *owned, *kept]) as watch:
            watch.phase = "forward"
            loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), ids.flatten())
            watch.phase = "backward"
            loss.backward()
            del loss
            watch.phase = "update"
            trainer.step()
    return watch.held


def sizes():
    """Return the bytes of all weights, and of the largest unit's, in 32 bits."""
    units = units_of(model())
    each = [4 * sum(p.numel() for m in unit for p in m.parameters()) for unit in units]
    return sum(each), max(each)
