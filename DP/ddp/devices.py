"""What a rank computes on, and whether its model is compiled."""

import os
import shutil
import sys

import torch

COMPILERS = {"darwin": "clang++", "win32": "cl"}  # as torch looks for them; elsewhere g++


def choose_device(local_rank, gpus, backend):
    """Return the device of a rank: "cpu" without a GPU, else "cuda:" and the GPU's number.

    local_rank: the number of this rank among those of its machine. None: no launcher said so; it
        is alone, and takes GPU 0.
    gpus: how many this machine has. backend: "nccl" needs a GPU for each rank; with "gloo" ranks
        take turns, rank 2 of two GPUs has GPU 0 again.

    Raises ValueError if NCCL was asked for and there is no GPU for this rank.
    """
    number = 0 if local_rank is None else int(local_rank)
    if backend == "nccl" and number >= gpus:
        raise ValueError(
            f"LOCAL_RANK is {number}, and this machine has {gpus} GPU(s): NCCL needs one for "
            "each rank; start fewer ranks here, or take --backend gloo"
        )
    return f"cuda:{number % gpus}" if gpus else "cpu"


def compiled(model, device, say=print):
    """Return torch.compile(model); or the model as it is, and say why in one line.

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
