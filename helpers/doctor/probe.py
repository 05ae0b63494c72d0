"""Ask torch what it can do and print the answer as one line of JSON.

This runs in a separate process because importing torch takes seconds and can crash (a missing
library, an old processor); neither may happen to the notebook that asked.
"""

import json
import sys


def ask() -> dict:
    """Return what torch says about itself; {"missing": …} or {"broken": …} if its import fails."""
    try:
        import torch
    except ModuleNotFoundError as error:
        kind = "missing" if error.name == "torch" else "broken"
        return {kind: f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"broken": f"{type(error).__name__}: {error}"}
    answer = {"version": torch.__version__, "cuda": torch.version.cuda, "gpus": []}
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            found = torch.cuda.get_device_properties(number)
            answer["gpus"].append({"name": found.name, "memory": found.total_memory})
    mps = getattr(torch.backends, "mps", None)
    answer["mps"] = bool(mps and mps.is_available())
    distributed = torch.distributed.is_available()
    # An old torch lacks this function and always has gloo.
    has_gloo = getattr(torch.distributed, "is_gloo_available", lambda: distributed)
    answer["gloo"] = distributed and has_gloo()
    nccl = distributed and torch.distributed.is_nccl_available()
    answer["nccl"] = ".".join(map(str, torch.cuda.nccl.version())) if nccl else None
    return answer


if __name__ == "__main__":
    json.dump(ask(), sys.stdout)
