"""Asks torch what it can do, in a process of its own, and prints the answer as one JSON line.

A process of its own: importing torch takes seconds and can end a process outright (a library that
is missing, a processor that is too old); neither may happen to the notebook that asked.
"""

import json
import sys


def ask() -> dict:
    """What torch says about itself; {"error": …} where it cannot be imported."""
    try:
        import torch
    except ModuleNotFoundError as error:
        kind = "missing" if error.name == "torch" else "broken"
        return {kind: f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"broken": f"{type(error).__name__}: {error}"}
    answer = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "gpus": [],
    }
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(number)
            answer["gpus"].append({"name": found.name, "memory": found.total_memory})
    mps = getattr(torch.backends, "mps", None)
    answer["mps"] = bool(mps and mps.is_available())
    distributed = torch.distributed.is_available()
    # An old torch has no such question and always has gloo.
    has_gloo = getattr(torch.distributed, "is_gloo_available", lambda: distributed)
    answer["gloo"] = distributed and has_gloo()
    nccl = distributed and torch.distributed.is_nccl_available()
    answer["nccl"] = ".".join(map(str, torch.cuda.nccl.version())) if nccl else None
    return answer


if __name__ == "__main__":
    json.dump(ask(), sys.stdout)
