"""Set the lab up: a virtual environment in .venv, torch first, then everything else.

    python tools/install.py                    what the lessons need
    python tools/install.py --extras test      and what the tests need
    python tools/install.py --torch cpu        a choice of torch: auto, cpu or cuda
    python tools/install.py --torch-index URL  torch from this index

Run it again at any time: what is done is not done twice, what was interrupted is done again.
LAB_TORCH does what --torch and --torch-index do. Needs only Python's own library.
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
import json
import os
import platform
import shutil
import time
from pathlib import Path

import stamp
import torch_choice
from machine import gather, output_of, torch_pin
from one_at_a_time import one_at_a_time
from quiet_run import StepFailed, run_step
from stamp import venv_python

ROOT = Path(__file__).resolve().parent.parent
GIGABYTE = 10**9
# Compiling every module of every package takes a minute, and a lesson imports a tenth of them:
# Python compiles those when they are first imported.
NO_COMPILE = ("--no-compile",)
FIRST_LOOK = """
import sys
sys.dont_write_bytecode = False
import torch, torch.distributed, matplotlib.pyplot
"""
QUICK_PIP = 25  # older ones take twice as long to find out which versions fit together
NO_NETWORK = ("NewConnectionError", "NameResolutionError", "ConnectTimeout", "ReadTimeout", "Proxy")


class SetupError(Exception):
    """Set-up cannot go on; the message is one sentence for the person at the keyboard."""


def same_python(venv: Path) -> bool:
    """Whether the environment has this interpreter's version, by its own note of it."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    version = [line.split("=")[1].strip() for line in lines if line.startswith("version")]
    return bool(version) and version[0].split(".")[:2] == [str(n) for n in sys.version_info[:2]]


def make_venv(venv: Path, this_python: bool) -> None:
    """An environment with a new enough Python and a pip that works; one that has both stays.

    this_python: a person chose the interpreter that runs this, so one of another version goes.
    """
    if venv.exists():
        found = output_of(venv_python(venv), "import sys, pip; print(*sys.version_info[:2])")
        version = tuple(int(part) for part in found.split()) if found else None
        good = version and (version == sys.version_info[:2] if this_python else version >= OLDEST)
        if good and stamp.read(venv) != stamp.UNFINISHED:
            return
        if not (venv / "pyvenv.cfg").exists() and any(venv.iterdir()):
            raise SetupError(
                f"{venv} is not a virtual environment: move it away, then run this again."
            )
        shutil.rmtree(venv)
    # Called from inside an environment, that environment may be the one that was just removed.
    maker = getattr(sys, "_base_executable", None) or sys.executable
    words = f"a virtual environment with Python {platform.python_version()} in {venv.name}"
    run_step(words, [maker, "-m", "venv", str(venv)], None)


def old_pip(venv: Path) -> bool:
    """Whether the environment's pip is one of the slow ones."""
    major = output_of(venv_python(venv), "import pip; print(pip.__version__.split('.')[0])")
    return major is not None and major.isdigit() and int(major) < QUICK_PIP


def check_disk(folder: Path, free: int, cuda: bool) -> None:
    """SetupError where there is too little room (bytes). The CPU build takes 2 GB with the rest."""
    needed = 9 * GIGABYTE if cuda else 3 * GIGABYTE
    if free < needed:
        raise SetupError(
            f"Set-up needs {needed / GIGABYTE:.0f} GB in {folder} and {free / GIGABYTE:.1f} GB are "
            "free: make room, then run the same command again."
        )


def cure(failure: StepFailed, free: int) -> str:
    """One sentence on why a step failed, from what it wrote and the room that is left (bytes)."""
    log = failure.log
    if failure.venv_is_missing:
        return (
            "This Python cannot make a virtual environment: on Debian and Ubuntu install what it "
            "lacks with `sudo apt install python{}.{}-venv`, then run the same command again."
        ).format(*sys.version_info[:2])
    if "No space left on device" in log or "Errno 28" in log or free < GIGABYTE // 10:
        return "The disk is full: make room, then run the same command again."
    if "Read-only file system" in log or "Permission denied" in log:
        return "A folder cannot be written to: put the lab into a folder of your own."
    if any(sign in log for sign in NO_NETWORK):
        return "The package index cannot be reached: check the network, then run this again."
    if "No matching distribution found for torch" in log:
        return (
            f"The index has no torch of this version for Python {platform.python_version()} on "
            "this system: use Python 3.11 to 3.14 (PYTHON=python3.12 make lab)."
        )
    return "The last lines above say why: put right what they name, then run this again."


def quiet_jupyterlab(venv: Path) -> None:
    """JupyterLab asks about news and looks for updates when it starts: neither helps a lesson."""
    settings = venv / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    text = json.dumps({"@jupyterlab/apputils-extension:notification": quiet})
    (settings / "overrides.json").write_text(text + "\n", encoding="utf-8")


def install(root: Path, venv: Path, extras: set[str], wanted: str, this_python: bool) -> None:
    """Everything, in order. SetupError or StepFailed where a step fails."""
    version = torch_pin(root)
    make_venv(venv, this_python)
    stamp.write(venv, stamp.UNFINISHED)
    facts = gather(venv_python(venv), wanted, version)
    problem = torch_choice.unsupported(facts)
    if problem:
        raise SetupError(problem)
    choice = torch_choice.choose(facts, version)
    log = venv / "install.log"
    pip = [str(venv_python(venv)), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    if old_pip(venv):
        run_step("a newer pip", [*pip, "install", "--upgrade", "pip", *NO_COMPILE], log)
    print(f"  {choice.why}", flush=True)
    if choice.pip:
        check_disk(root, shutil.disk_usage(root).free, cuda="with CUDA" in choice.why)
        run_step("torch", [*pip, *choice.pip, *NO_COMPILE], log)
    names = ",".join(sorted(extras))
    words = "JupyterLab and the rest" + (f", with what {names} needs" if names else "")
    editable = f"{root}[{names}]" if names else str(root)
    run_step(words, [*pip, "install", "--editable", editable, *NO_COMPILE], log)
    try:
        run_step("a first look at both", [str(venv_python(venv)), "-c", FIRST_LOOK], log)
    except StepFailed:
        hint = "install Microsoft's Visual C++ Redistributable, or " if os.name == "nt" else ""
        raise SetupError(
            f"What is installed cannot be imported (its words stand above): {hint}"
            "start anew with `python tools/clean.py --all`."
        ) from None
    quiet_jupyterlab(venv)
    stamp.write(venv, stamp.state(root, extras, wanted))


def set_up(root: Path, flags: argparse.Namespace, extras: set[str], wanted: str) -> None:
    """Install what is not in place yet."""
    venv = root / ".venv"
    anew = flags.again or (flags.this_python and venv.exists() and not same_python(venv))
    if not anew and stamp.in_place(venv, stamp.state(root, extras, wanted)):
        print("Set-up: everything is in place.")
        return
    print("Set-up (the first time takes a few minutes):", flush=True)
    begin = time.monotonic()
    # What an earlier set-up brought stays part of it.
    install(root, venv, extras | set(stamp.read(venv).get("extras", [])), wanted, flags.this_python)
    print(f"Set-up: done in {time.monotonic() - begin:.0f} s.")


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="Set the lab up in .venv.")
    parser.add_argument("--extras", default="", help="test, hub, or both with a comma")
    parser.add_argument("--torch", choices=("auto", "cpu", "cuda"), help="which build of torch")
    parser.add_argument("--torch-index", metavar="URL", help="take torch from this index")
    parser.add_argument(
        "--this-python", action="store_true", help="make .venv anew if it has another Python"
    )
    parser.add_argument("--again", action="store_true", help="even if everything is in place")
    flags = parser.parse_args(arguments)
    extras = {name for name in flags.extras.split(",") if name}
    wanted = flags.torch_index or flags.torch or os.environ.get("LAB_TORCH") or "auto"
    if wanted not in ("auto", "cpu", "cuda") and "://" not in wanted:
        parser.error(f"torch from {wanted!r}: give auto, cpu, cuda, or the address of an index")

    def waiting() -> None:
        print("Another set-up of this folder is running: waiting for it.", flush=True)

    try:
        with one_at_a_time(root / ".venv.lock", waiting):
            set_up(root, flags, extras, wanted)
        return 0
    except StepFailed as failure:
        stamp.remove(root / ".venv")  # it failed in good order: the next try goes on from here
        problem = cure(failure, shutil.disk_usage(root).free)
    except (SetupError, ValueError) as error:
        stamp.remove(root / ".venv")
        problem = str(error)
    except KeyboardInterrupt:
        print("\nSet-up was interrupted: run the same command again.", file=sys.stderr)
        return 130
    except OSError as error:
        problem = f"{error.filename or root}: {error.strerror or error}."
    print(f"\nSet-up stopped. {problem}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
