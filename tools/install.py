"""Set the lab up: a virtual environment in .venv, torch first, then everything else.

    python tools/install.py                what the lessons need
    python tools/install.py --extras test  and what the tests need
    python tools/install.py --torch cpu    choose torch's build: auto, cpu, cuda, or an index's URL
    python tools/install.py --newest       not the versions that were tested (constraints.txt)

Run it again at any time: it repeats nothing that is done, and redoes what was interrupted.
LAB_TORCH=cpu and LAB_NEWEST=1 do what --torch and --newest do. Needs only Python's own library.
"""

# Older Pythons must be able to read this file as far as the sentence below: no new syntax in it.
import sys

OLDEST = (3, 11)
if sys.version_info < OLDEST:
    sys.exit(
        "The lab needs Python {}.{} or newer and this is Python {}.{}: install a newer one, then "
        "name it, as in `PYTHON=python3.12 make lab` or `python3.12 tools/install.py`.".format(
            *(OLDEST + tuple(sys.version_info[:2]))
        )
    )

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = "https://download.pytorch.org/whl"
# Compiling every module of every package takes a minute, and a lesson imports a tenth of them:
# Python compiles those when they are first imported, which is what the first look does.
NO_COMPILE = "--no-compile"
FIRST_LOOK = """
import sys
sys.dont_write_bytecode = False
import torch, torch.distributed, matplotlib.pyplot
"""
UNFINISHED = {"unfinished": True}  # the stamp during set-up, and after a set-up that was killed
CURES = {  # what a failed step wrote, and what to do about it
    r"ensurepip is not\s+available|No module named '?(venv|ensurepip)": (
        "This Python cannot make a virtual environment: on Debian and Ubuntu install what it lacks "
        "with `sudo apt install python{0}-venv`, then run the same command again."
    ),
    "No space left on device|Errno 28": "The disk is full: make room, then run this again.",
    "Read-only file system|Permission denied": (
        "A folder cannot be written to: put the lab into a folder of your own."
    ),
    "No matching distribution found for torch": (
        "The indexes that were asked have no such torch for Python {0} on this machine. There are "
        "builds for 64-bit Python 3.11 to 3.14 on Linux with glibc (not Alpine), on Windows, and "
        "on Macs with Apple silicon (not Intel). On Linux without a GPU the CPU build is asked for "
        f"in pip's own indexes and in {INDEX}/cpu, which must be reachable; LAB_TORCH=URL names "
        "another index, and LAB_TORCH=cuda takes the CUDA build, several gigabytes."
    ),
    "NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|Proxy": (
        "The package index cannot be reached: check the network, then run this again."
    ),
    'File "<string>", line .* in <module>': (
        "What is installed cannot be imported: remove the folder .venv, then run this again"
        f"{' (or install the Visual C++ Redistributable)' if os.name == 'nt' else ''}."
    ),
    "": "The last lines above say why: put right what they name, then run this again.",
}


class SetupError(Exception):
    """Set-up cannot go on; the message is one sentence for the person at the keyboard."""


def venv_python(venv: Path, system: str = os.name) -> Path:
    """Return the interpreter of a virtual environment."""
    return venv / "Scripts" / "python.exe" if system == "nt" else venv / "bin" / "python"


def torch_request(version: str, wanted: str, system: str, nvidia: bool) -> tuple[str, ...]:
    """Return what to ask pip for, so that it brings this version of torch in the wanted build.

    On Linux the usual index has the CUDA build, gigabytes of it, and PyTorch's own the CPU build,
    which says so in its version: to ask for "+cpu" is never to get the other, from any index.
    """
    if "://" in wanted:
        return ("--no-deps", "--index-url", wanted, f"torch=={version}")
    if system == "Linux" and (wanted == "cpu" or (wanted == "auto" and not nvidia)):
        index = ("--extra-index-url", f"{INDEX}/cpu", "--retries", "1")
        return ("--no-deps", *index, f"torch=={version}+cpu")
    if system == "Windows" and wanted == "cuda":  # there the usual index has the CPU build
        return ("--no-deps", "--index-url", f"{INDEX}/cu130", f"torch=={version}")
    return (f"torch=={version}",)


def has_nvidia_driver() -> bool:
    """Return whether an NVIDIA driver is present and answers."""
    # Under WSL the driver is Windows' own and its tool is not always on the path.
    tool = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    return Path("/proc/driver/nvidia/version").exists() or (
        tool is not None and "GPU" in output_of([tool, "-L"])
    )


def output_of(command: list) -> str:
    """Return what a command prints, or nothing if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=300
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def run_step(words: str, command: list, log: Path) -> None:
    """Run one step: one line for the person, all that it says into the log.

    Raises:
        SetupError: It failed; its last lines have been shown, and the message says what to do.
    """
    print(f"  {words} ... ", end="", flush=True)
    begin = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    seconds = time.monotonic() - begin
    if log.parent.exists():
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(map(str, command))}\n{done.stdout}\n")
    if done.returncode:
        print(f"failed after {seconds:.0f} s")
        last = done.stdout.splitlines(keepends=True)[-25:]
        print("".join(f"    {line}" for line in last), flush=True)  # before what stderr says
        cure = next(cure for signs, cure in CURES.items() if re.search(signs, done.stdout))
        raise SetupError(cure.format("{}.{}".format(*sys.version_info[:2])))
    print(f"{seconds:.1f} s", flush=True)


def read_stamp(venv: Path) -> dict:
    """Return what the environment says that it holds, or {}."""
    try:
        return json.loads((venv / "lab-stamp.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_stamp(venv: Path, stamp: dict) -> None:
    (venv / "lab-stamp.json").write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


def version_of(venv: Path) -> tuple[int, ...]:
    """Return the version of its Python, or () if that or its pip does not work."""
    code = "import sys, pip; print(*sys.version_info[:2])"
    return tuple(map(int, output_of([venv_python(venv), "-I", "-c", code]).split()))


def in_place(venv: Path, needed: dict, this_python: bool) -> bool:
    """Return whether the environment holds what is needed."""
    if read_stamp(venv) != needed or not venv_python(venv).exists():
        return False
    return not this_python or version_of(venv) == sys.version_info[:2]


def make_venv(venv: Path, this_python: bool) -> None:
    """Make an environment; one with a new enough Python and a pip that works stays.

    Args:
        this_python: a person chose the interpreter that runs this, so another version's goes.
    """
    if venv.exists():
        version = version_of(venv)
        good = version == sys.version_info[:2] if this_python else version >= OLDEST
        if good and read_stamp(venv) != UNFINISHED:
            return
        if not (venv / "pyvenv.cfg").exists() and any(venv.iterdir()):
            raise SetupError(f"{venv} is not a virtual environment: move it away, then try again.")
        shutil.rmtree(venv)
    # Called from inside an environment, that environment may be the one that was just removed.
    maker = getattr(sys, "_base_executable", None) or sys.executable
    words = f"a virtual environment with Python {platform.python_version()} in {venv.name}"
    run_step(words, [maker, "-m", "venv", str(venv)], venv / "install.log")


def install(root: Path, venv: Path, needed: dict, this_python: bool) -> None:
    """Do every step in order. Raises SetupError if one fails."""
    version = re.search(r'"torch==([\d.]+)"', (root / "pyproject.toml").read_text("utf-8"))[1]
    system = platform.system()
    request = torch_request(version, needed["torch"], system, has_nvidia_driver())
    large = system == "Linux" and len(request) == 1
    room, free = (9 if large else 3), shutil.disk_usage(root).free / 10**9
    if free < room:
        raise SetupError(
            f"Set-up needs {room} GB in {root} and {free:.1f} GB are free: make room, then run the "
            "same command again."
        )
    # Of the same version pip takes another build for done unless it is told.
    if needed["torch"] not in ("auto", read_stamp(venv).get("torch")):
        request = ("--force-reinstall", *request)
    make_venv(venv, this_python)
    write_stamp(venv, UNFINISHED)
    log, python = venv / "install.log", str(venv_python(venv))
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", NO_COMPILE]
    if output_of([python, "-I", "-m", "pip", "--version"]) < "pip 25":  # twice as slow
        run_step("a newer pip", [*pip, "--upgrade", "pip"], log)
    run_step(f"torch {version}{' with CUDA' if large else ''}", [*pip, *request], log)
    names = ",".join(needed["extras"])
    words = "JupyterLab and the rest" + (f", with what {names} needs" if names else "")
    packages = [*pip, "--editable", f"{root}[{names}]" if names else str(root)]
    if needed["newest"]:
        run_step(f"{words}, in their newest versions", packages, log)
    else:
        tested = str(root / "constraints.txt")
        try:
            # With the very build of torch: where a version can't be had pip would try every other.
            run_step(words, [*packages, request[-1], "--constraint", tested], log)
        except SetupError:  # a version that was withdrawn, or isn't for this Python or system
            run_step("the same in other versions than those that were tested", packages, log)
    run_step("a first look at both", [python, "-c", FIRST_LOOK], log)
    # JupyterLab asks about news and looks for updates when it starts: neither helps a lesson.
    settings = venv / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    text = json.dumps({"@jupyterlab/apputils-extension:notification": quiet})
    (settings / "overrides.json").write_text(text + "\n", encoding="utf-8")
    write_stamp(venv, needed)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Set the lab up in .venv.")
    parser.add_argument("--extras", default="", help="test, site, hub, torchft, or several")
    parser.add_argument("--torch", "--torch-index", help="auto, cpu, cuda, or an index's URL")
    parser.add_argument(
        "--this-python", action="store_true", help="make .venv anew if it has another Python"
    )
    parser.add_argument(
        "--newest", action="store_true", help="the newest versions, not those of constraints.txt"
    )
    flags = parser.parse_args(arguments)
    venv, begin = root / ".venv", time.monotonic()
    earlier = read_stamp(venv)  # what an earlier set-up brought stays part of it
    wanted = flags.torch or os.environ.get("LAB_TORCH") or earlier.get("torch", "auto")
    if wanted not in ("auto", "cpu", "cuda") and "://" not in wanted:
        parser.error(f"torch from {wanted!r}: give auto, cpu, cuda, or the address of an index")
    asked = [(root / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    needed = {
        "packages": hashlib.sha256(b"".join(asked)).hexdigest(),
        "newest": flags.newest or bool(os.environ.get("LAB_NEWEST")),
        "folder": str(root),  # a folder that was moved or copied is set up again
        "extras": sorted({*flags.extras.split(","), *earlier.get("extras", [])} - {""}),
        "torch": wanted,
    }
    if in_place(venv, needed, flags.this_python):
        print("Set-up: everything is in place.")
        return 0
    print("Set-up (the first time takes a few minutes):", flush=True)
    try:
        install(root, venv, needed, flags.this_python)
    except KeyboardInterrupt:
        print("\nSet-up was interrupted: run the same command again.", file=sys.stderr)
        return 130
    except (SetupError, OSError) as error:
        # It failed in good order, so the next try goes on from here.
        (venv / "lab-stamp.json").unlink(missing_ok=True)
        print(f"\nSet-up stopped. {error}", file=sys.stderr)
        return 1
    print(f"Set-up: done in {time.monotonic() - begin:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
