"""What this machine has, found with the standard library; torch is asked in another process."""

import getpass
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from helpers.doctor.packages import PROJECT, Package, packages

PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Torch:
    """What torch can do. problem: "" if it works, else "missing" or "broken", with `detail`."""

    version: str | None = None
    cuda: str | None = None  # the CUDA version it was built for; None: a build without CUDA
    nccl: str | None = None
    gloo: bool = False
    mps: bool = False
    gpus: tuple[tuple[str, int], ...] = ()  # name, bytes
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Facts:
    """One machine, as the lab sees it. Sizes in bytes; None: unknown."""

    system: str
    python: str
    environment: str
    cores: int
    cores_in_all: int
    memory: int | None
    memory_free: int | None
    disk_free: int
    torch: Torch
    packages: tuple[Package, ...]
    mpirun: str | None = None
    compiler: str | None = None
    nvidia_driver: str | None = None
    processes: str = ""  # "" if a process can be started, else why not
    loopback: str = ""  # "" if two sockets on this machine can talk, else why not


def scrub(text: str) -> str:
    """Return `text` on one line, without the user's home folder and name."""
    text = " ".join(text.split())
    for home in {str(Path.home()), os.path.realpath(Path.home())} - {"/"}:
        text = text.replace(home, "~")
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):
        return text
    return re.sub(rf"\b{re.escape(name)}\b", "<user>", text) if name else text


def cores() -> tuple[int, int]:
    """Return how many cores this process may use, and how many the machine has."""
    every = os.cpu_count() or 1
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        usable = every
    try:  # a container may be given a share of the time: "150000 100000" is one core and a half
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        usable = min(usable, max(1, int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return usable, every


def memory_bytes() -> tuple[int | None, int | None]:
    """Return the bytes we may use in total and the bytes free now; None: unknown."""
    try:
        import psutil
    except ImportError:  # the doctor comes also where nothing has been installed yet
        return None, None
    memory, limit = psutil.virtual_memory(), container_limit()
    total, free = memory.total, memory.available
    return (min(total, limit), min(free, limit)) if limit else (total, free)


def container_limit(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes a container may use (control groups v1 and v2), or None without a limit."""
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            continue
        # Version 1 writes "no limit" as a number close to 2**63.
        if text.isdigit() and int(text) < 2**60:
            return int(text)
    return None


def system() -> str:
    """Return the system and its processor: "Linux 6.1 (x86_64)"."""
    names = {"Darwin": ("macOS", platform.mac_ver()[0])}
    name, release = names.get(platform.system(), (platform.system(), platform.release()))
    # Two numbers say enough; the rest of a release is often the name of one machine's build.
    short = re.match(r"\d+(\.\d+)?", release)
    return f"{name} {short.group() if short else release} ({platform.machine()})"


def environment() -> str:
    """Return in words, without a path, where this Python's packages live."""
    if os.environ.get("CONDA_DEFAULT_ENV") and (Path(sys.prefix) / "conda-meta").exists():
        return "a conda environment"
    if sys.prefix == sys.base_prefix:
        return "no environment of its own"
    ours = Path(sys.prefix).resolve() == PROJECT.with_name(".venv").resolve()
    return "the lab's environment (.venv)" if ours else "another virtual environment"


def loopback() -> str:
    """Send a few bytes between two sockets of this machine; return "" or what went wrong."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(5)
            with socket.create_connection(server.getsockname(), timeout=5) as near:
                far, _ = server.accept()
                with far:
                    near.sendall(b"lab")
                    far.settimeout(5)
                    return "" if far.recv(3) == b"lab" else "what was sent did not arrive"
    except OSError as error:
        return scrub(str(error)) or type(error).__name__


def first_line(*command: str) -> str | None:
    """Return the first line a tool prints about itself, or None if it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout or done.stderr).strip().splitlines()
    return scrub(lines[0]) if lines and done.returncode == 0 else None


def mpirun() -> str | None:
    """Return the version of the mpirun beside this Python or else on PATH, or None.

    pip puts it beside Python, and only in an activated environment is that on PATH.
    """
    beside = str(Path(sys.executable).with_name("mpirun"))
    return first_line(beside, "--version") or first_line("mpirun", "--version")


def compiler() -> str | None:
    """Return a C++ compiler that torch.compile can use, or None."""
    found = first_line("g++", "--version") or first_line("clang++", "--version")
    return found or ("Microsoft Visual C++" if shutil.which("cl") else None)


def ask_torch(python: str = sys.executable, seconds: float = 120) -> tuple[Torch, str]:
    """Ask torch in a separate process; also return why that process could not start ("" if it did).

    python: the interpreter to ask with.
    """
    # The same view of the packages as here: with -S there are none.
    flags = ["-S"] if sys.flags.no_site else []
    seen = {k: v for k, v in os.environ.items() if (k, v) != ("CUDA_VISIBLE_DEVICES", "")}
    try:
        done = subprocess.run(
            [python, *flags, str(PROBE)],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            env=seen,  # a lesson hides the GPUs from itself
        )
    except subprocess.TimeoutExpired:
        said = f"importing it took more than {seconds:.0f} seconds"
        return Torch(problem="broken", detail=said), ""
    except OSError as error:
        return Torch(problem="unknown", detail="no process could be started"), scrub(str(error))
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        last = done.stderr.strip().splitlines()[-1:] or [""]
        said = f"importing it ended the process with code {done.returncode} {last[0]}"
        return Torch(problem="broken", detail=scrub(said)), ""
    for problem in ("missing", "broken"):
        if problem in answer:
            return Torch(problem=problem, detail=scrub(answer[problem])), ""
    answer["gpus"] = tuple((gpu["name"], gpu["memory"]) for gpu in answer["gpus"])
    return Torch(**answer), ""


def collect_facts() -> Facts:
    """Gather all facts, in about two seconds: most of it is torch's import."""
    asked: list = []
    # torch is asked while the rest is looked up.
    thread = threading.Thread(target=lambda: asked.append(ask_torch()))
    thread.start()
    usable, every = cores()
    total, free = memory_bytes()
    rest = {
        "system": system(),
        "python": platform.python_version(),
        "environment": environment(),
        "cores": usable,
        "cores_in_all": every,
        "memory": total,
        "memory_free": free,
        "disk_free": shutil.disk_usage(PROJECT.parent).free,
        "packages": packages(),
        "mpirun": mpirun(),
        "compiler": compiler(),
        "nvidia_driver": nvidia_driver(),
        "loopback": loopback(),
    }
    thread.join()
    torch, processes = asked[0]
    return Facts(torch=torch, processes=processes, **rest)


def nvidia_driver() -> str | None:
    """Return the version of the NVIDIA driver, or None if there is none."""
    query = ("--query-gpu=driver_version", "--format=csv,noheader")
    return first_line("nvidia-smi", *query)
