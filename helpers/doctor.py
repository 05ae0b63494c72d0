"""Does the lab run on this machine? `doctor()` in a notebook, `python -m helpers.doctor` elsewhere.

It starts three ranks, and changes nothing. What it prints holds no user name and no path: paste it
into a question.
"""

import platform
import sys

if sys.version_info < (3, 11):
    sys.exit(
        "The lab needs Python 3.11 or newer and this is Python %d.%d: install a newer one, then "
        "run `python3.12 tools/install.py` (or whichever version you installed)."
        % sys.version_info[:2]
    )

import os
import shutil
import subprocess

from helpers.clone import ROOT, need_clone
from helpers.plain_errors import plain_errors
from helpers.words import many

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
AGAIN = "run: python3 tools/install.py (in a conda environment: pip install -e .)"


def doctor() -> None:
    """Print what this machine has and what is wrong, with its cure."""
    print(examine()[1])


def examine() -> tuple[bool, str]:
    """Return whether all lessons run here, and what `doctor` prints."""
    need_clone()
    troubles = broken()
    first = "Something is missing." if troubles else "Every lesson runs on this machine:"
    return not troubles, "\n- ".join([f"{first} {machine()}", *(troubles or notes())])


def machine() -> str:
    """Return this machine in a line: "2 cores, 25.2 GB of memory, Python 3.11.7, …"."""
    words = [many(CORES, "core"), f"Python {platform.python_version()}"]
    try:
        import psutil
        import torch

        words.insert(1, f"{psutil.virtual_memory().total / 1e9:.1f} GB of memory")
        words.append(f"torch {torch.__version__}")
        words += [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    except (ImportError, OSError):
        pass  # `broken` says so
    return ", ".join(words) + "."


def broken() -> list[str]:
    """Return a sentence for each thing that keeps lessons from running, with its cure."""
    pip = [sys.executable, "-m", "pip", "check"]
    said = subprocess.run(pip, capture_output=True, text=True).stdout.splitlines()
    ours = [line for line in said if line.startswith("distributed-ml-lab")]
    found = [f"{line.rstrip('.')}; {AGAIN}" for line in ours]
    if shutil.disk_usage(ROOT).free < 5e8:
        found.append("The disk is almost full: keep half a gigabyte free.")
    try:
        import cloudpickle  # noqa: F401
        import torch
        import torch.distributed as dist

        from helpers.ranks import launch
    except (ImportError, OSError) as error:
        return [*found, f"Ranks can't be started ({error}); {AGAIN}"]
    one = (torch.ones(1), dist.ReduceOp.AVG)
    report = launch(dist.all_reduce, 3, one, timeout=60, on_error="report", quiet=True)
    if report.failure:
        found.append(f"Three processes can't average a tensor over 127.0.0.1: {report.failure}")
    return found


def notes() -> list[str]:
    """Return what is good to know on a machine on which all lessons run."""
    import torch

    slow = "One core: the ranks take turns on it, so expect two to three times as long."
    found = [slow] * (CORES == 1)
    if shutil.which("nvidia-smi") and not torch.version.cuda:
        found.append(
            "There is an NVIDIA driver, and this torch has no CUDA. For GPUs in scripts: remove "
            ".venv, then LAB_TORCH=cuda python3 tools/install.py"
        )
    return found


if __name__ == "__main__":
    with plain_errors():
        well, words = examine()
        print(words)
        sys.exit(not well)
