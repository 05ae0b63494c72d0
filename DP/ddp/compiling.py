"""torch.compile, where it can work."""

import os
import shutil
import sys

import torch

COMPILERS = {"darwin": "clang++", "win32": "cl"}  # as torch looks for them; elsewhere g++


def compiled(model, device, say=print):
    """torch.compile(model); or the model as it is, and one line that says why.

    On a processor torch writes C++, so a compiler must be there; on a GPU it writes Triton. What
    `record_function` marks inside of the model is lost: marks belong around it.
    """
    compiler = os.environ.get("CXX") or COMPILERS.get(sys.platform, "g++")
    if device.type == "cpu" and not shutil.which(compiler):
        say(
            f"[compile] there is no C++ compiler {compiler!r} here, so the model runs as it is: "
            "install one, or name yours in the variable CXX"
        )
        return model
    return torch.compile(model)
