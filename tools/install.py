"""Set the lab up in .venv: torch first, then everything else. Also: make setup.

    python tools/install.py         what the lessons need
    python tools/install.py test    and what the tests need; so for site, hub

LAB_TORCH=cpu|cuda|URL chooses torch's build. Without it Linux without an NVIDIA driver takes the
CPU build, every other system what pip's usual index has. Run it again at any time: pip repeats
nothing that is done. To start anew, or with another Python or torch, remove .venv.
"""

import sys

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.exit(
        "The lab needs Python %d.%d or newer and this is Python %d.%d: install a newer one, then "
        "name it, as in `PYTHON=python3.12 make lab` or `python3.12 tools/install.py`."
        % (OLDEST + tuple(sys.version_info[:2]))
    )

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
EXTRAS = {"test", "site", "hub"}
INDEX = "https://download.pytorch.org/whl"
CURES = {  # what a failed step wrote, and what to do about it
    r"ensurepip is not\s+available|No module named '?(venv|ensurepip)": (
        "This Python can't make a virtual environment: on Debian and Ubuntu, "
        f"sudo apt install python3.{sys.version_info[1]}-venv"
    ),
    "No space left|Errno 28": (
        "The disk is full, or that for temporary files is (TMPDIR=FOLDER names another): make room"
    ),
    "NewConnectionError|NameResolution|Timeout|ProxyError": (
        "A package index can't be reached: check the network (LAB_TORCH=URL names another index, "
        "and LAB_TORCH=cuda takes torch from PyPI, 5.6 GB on Linux)"
    ),
    "No matching distribution found for torch|Cannot install torch==": (
        "No index that was asked has this torch for this Python and system (docs/installing.md "
        "says for which there is one): name another index by LAB_TORCH=URL"
    ),
    "": "The lines above say why: put right what they name",
}


def torch_request(wanted: str, system: str, nvidia: bool) -> list[str]:
    """Return what to ask pip for. "+cpu" in a version is never the CUDA build, of any index."""
    version = re.search(r'"(torch==[\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))[1]
    if "://" in wanted:
        return ["--no-deps", "--index-url", wanted, version]
    if wanted not in ("auto", "cpu", "cuda"):
        sys.exit(f"LAB_TORCH={wanted}: give auto, cpu, cuda, or the address of a package index.")
    if system == "linux" and (wanted == "cpu" or (wanted == "auto" and not nvidia)):
        index = ["--extra-index-url", f"{INDEX}/cpu", "--retries", "1"]
        return ["--no-deps", *index, f"{version}+cpu"]
    if system == "win32" and wanted == "cuda":  # there the usual index has the CPU build
        return ["--no-deps", "--index-url", f"{INDEX}/cu130", version]
    return [version]


def step(words: str, *command: str) -> None:
    """Run a command; where it fails, show its last lines, then one sentence, and end."""
    print(f"  {words} ...", flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        cure = next(CURES[signs] for signs in CURES if re.search(signs, done.stdout))
        print("\n".join(done.stdout.splitlines()[-15:]), flush=True)
        sys.exit(f"\nSet-up stopped. {cure}, then run the same command again.")


def make_venv() -> None:
    """Make .venv, unless there's one that works."""
    if PYTHON.exists() and not subprocess.call([PYTHON, "-m", "pip", "-V"], stdout=-3, stderr=-3):
        return
    ours = HOME.is_dir() and ((HOME / "pyvenv.cfg").exists() or not any(HOME.iterdir()))
    if HOME.exists() and not ours:
        sys.exit(f"{HOME} is not a virtual environment: move it away, then try again.")
    step("a virtual environment", sys.executable, "-m", "venv", "--clear", str(HOME))


def main(extras: list[str]) -> None:
    if unknown := {*extras} - EXTRAS:
        sys.exit(f"There is no extra {unknown.pop()!r}: give test, site or hub.")
    nvidia = bool(shutil.which("nvidia-smi")) or Path("/proc/driver/nvidia/version").exists()
    request = torch_request(os.environ.get("LAB_TORCH", "auto"), sys.platform, nvidia)
    room = 9 if len(request) == 1 and sys.platform == "linux" else 3  # GB; 9 with CUDA
    if not PYTHON.exists() and (free := shutil.disk_usage(ROOT).free / 1e9) < room:
        sys.exit(f"Set-up needs {room} GB in this folder, and {free:.1f} are free: make room.")
    print("Setting up in .venv; the first time this takes some minutes.", flush=True)
    make_venv()
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    step("pip", *pip, "pip>=25")  # an older one takes twice as long
    step("torch", *pip, *request)
    lab = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    step("JupyterLab and the rest", *pip, "-e", lab, "-c", str(ROOT / "constraints.txt"))
    settings = HOME / "share/jupyter/lab/settings/overrides.json"  # it would ask to fetch news
    settings.parent.mkdir(parents=True, exist_ok=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    settings.write_text(json.dumps({"@jupyterlab/apputils-extension:notification": quiet}))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # its first import compiles torch
    if subprocess.call([PYTHON, "-m", "helpers.doctor"], cwd=ROOT):
        sys.exit("Set-up stopped: put right what the lines above name, then run it again.")
    for name in ("lab", *extras):
        (HOME / f"{name}.done").touch()


if __name__ == "__main__":
    try:
        main([name for name in sys.argv[1:] if name != "lab"])
    except KeyboardInterrupt:
        sys.exit("\nSet-up was interrupted: run the same command again, and it goes on.")
