"""Which device a model goes to: the best one present, or the one that was asked for."""

import sys
from functools import cache

import torch


def pick(device: str | torch.device | None = "auto") -> torch.device:
    """Return the device that `device` names.

    "auto" (or None) is a GPU with CUDA, else the CPU. Apple's MPS is taken when it's named: it
    knows no float64, and ranks that compare with one device compute on the CPU.
    "cuda" or "mps" on a machine without one returns the CPU and says so once, in a line on stderr,
    so that a script written for a GPU runs on a laptop.
    """
    if device is None or device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError):
        known = "'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'"
        raise ValueError(f"{device!r} is not a device: use {known}.") from None
    present = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if wanted.type in present and not present[wanted.type]():
        say_once(f"there is no {wanted.type} device here, so the CPU is used instead.")
        return torch.device("cpu")
    if wanted.type == "cuda" and (wanted.index or 0) >= (count := torch.cuda.device_count()):
        words = f"there is no device {wanted}: this machine has {count} GPUs"
        raise ValueError(f"{words}, numbered from 0.")
    return wanted


@cache
def say_once(line: str) -> None:
    print(f"simplellm: {line}", file=sys.stderr, flush=True)
