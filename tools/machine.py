"""What set-up must know of a machine and of an environment before it chooses a torch."""

import platform
import shutil
import struct
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import torch_choice

# Which torch an environment holds, without importing it: its version, and CUDA's or "none".
WHICH_TORCH = """
import importlib.metadata, importlib.util, os, runpy
print(importlib.metadata.version("torch"))
folder = importlib.util.find_spec("torch").submodule_search_locations[0]
print(runpy.run_path(os.path.join(folder, "version.py")).get("cuda") or "none")
"""


def output_of(python: Path, code: str) -> str | None:
    """What `code` prints under `python`, or None where it fails."""
    # -I: what the environment itself holds, nothing from PYTHONPATH or the current folder.
    command = [str(python), "-I", "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def torch_pin(root: Path) -> str:
    """The version of torch that pyproject.toml pins; ValueError where it pins none."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        if requirement.startswith("torch=="):
            return requirement.removeprefix("torch==").strip()
    raise ValueError("pyproject.toml does not pin torch: it needs a line like torch==2.13.0.")


def has_nvidia_driver() -> bool:
    """Whether an NVIDIA driver is present and answers."""
    if Path("/proc/driver/nvidia/version").exists():
        return True
    # Under WSL the driver is Windows' own and its tool is not always on the path.
    tool = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    if tool is None:
        return False
    try:
        listed = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return listed.returncode == 0 and "GPU" in listed.stdout


def gather(python: Path, wanted: str, version: str) -> torch_choice.Facts:
    """The facts that the choice of torch depends on.

    python: the interpreter of the environment. wanted: "auto", "cpu", "cuda" or an index.
    version: the torch that is needed.
    """
    torch = (output_of(python, WHICH_TORCH) or "").split()
    facts = torch_choice.Facts(
        system=platform.system(),
        machine={"AMD64": "x86_64"}.get(platform.machine(), platform.machine()),
        installed=torch[0] if torch else None,
        installed_cuda=bool(torch) and torch[1] != "none",
        nvidia=has_nvidia_driver(),
        wanted=wanted,
        bits=8 * struct.calcsize("P"),
        musl=platform.system() == "Linux" and platform.libc_ver()[0] != "glibc",
    )
    if torch_choice.asks_cpu_index(facts, version):
        return replace(facts, cpu_index_answers=torch_choice.answers(torch_choice.CPU_INDEX))
    return facts
