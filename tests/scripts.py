"""The lessons' scripts, as tests use them: their modules, and what they train to."""

import sys

from helpers.check.task import ROOT, load_module
from helpers.ranks import find_place
from simplellm.slicing import whole_name


def on_rank(path, flags, device="cpu"):
    """Losses, weights by their names in the whole model, and the trace of a script on this rank."""
    sys.path.insert(0, str((ROOT / path).parent))
    script = load_module(ROOT / path, "the_script")
    options = script.read_flags(flags)
    losses, found, *_, trace = script.train(options, find_place(), device, be_silent)
    if isinstance(losses, dict):  # by step
        losses = [*losses.values()]
    if isinstance(found, int):  # of ZeRO and of survival the losses must do
        return losses, {}, trace
    weights = {
        whole_name(key, getattr(stage, "first_layer", 0)): weight
        for stage in (found.values() if isinstance(found, dict) else [found])
        for key, weight in stage.state_dict().items()
    }
    return losses, weights, trace


def be_silent(step, loss):
    pass
