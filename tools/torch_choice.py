"""Which torch to install: facts about a machine in, one pip command and its reason out.

Nothing here looks at the machine, except `answers`, which asks an index whether it is there.

PyTorch publishes several builds of one version. On Linux the usual package index has the CUDA
build, which brings gigabytes of NVIDIA libraries; the CPU build has an index of its own. On macOS
and Windows the usual index has the build that a laptop wants.
"""

import threading
import urllib.request
from dataclasses import dataclass

INDEX = "https://download.pytorch.org/whl"
CPU_INDEX = INDEX + "/cpu"
# Only Windows needs this: there the usual index has no CUDA build.
WINDOWS_CUDA_INDEX = INDEX + "/cu130"


@dataclass(frozen=True)
class Facts:
    """What the choice depends on.

    system, machine: as `platform.system()` and `platform.machine()` give them.
    installed: the version of the torch that imports in the environment ("2.13.0+cpu"), or None.
    installed_cuda: whether that torch is a CUDA build.
    nvidia: whether an NVIDIA driver is present.
    wanted: "auto", "cpu", "cuda", or the address of an index.
    cpu_index_answers: whether CPU_INDEX can be reached; None where nobody asked (`asks_cpu_index`).
    """

    system: str
    machine: str
    installed: str | None = None
    installed_cuda: bool = False
    nvidia: bool = False
    wanted: str = "auto"
    cpu_index_answers: bool | None = None
    bits: int = 64
    musl: bool = False


@dataclass(frozen=True)
class Choice:
    """pip: the arguments after `python -m pip`; empty: nothing to do. why: one line for people."""

    pip: tuple[str, ...]
    why: str


def unsupported(facts: Facts) -> str | None:
    """One sentence where torch has no build for this machine at all, else None."""
    mac = facts.system == "Darwin"
    if facts.bits < 64:
        return "This Python is a 32-bit one, for which PyTorch has no build: install 64-bit Python."
    if mac and facts.machine == "x86_64":
        return (
            "PyTorch has no current build for Macs with an Intel processor (if this Mac has Apple "
            "silicon, this Python is an Intel one: install the Apple silicon Python)."
        )
    if facts.system == "Linux" and facts.machine not in ("x86_64", "aarch64"):
        return (
            f"PyTorch has no build for Linux on {facts.machine}: use an x86_64 or aarch64 machine."
        )
    if facts.system == "Linux" and facts.musl:
        return (
            "PyTorch has no build for Linux with musl (Alpine): use a system with glibc (Debian …)."
        )
    if mac and facts.wanted == "cuda":
        return (
            "A Mac has no CUDA: leave the choice of torch out, its build for Macs is the right one."
        )
    return None


def already_good(facts: Facts, version: str) -> bool:
    """Whether the torch that is there is the version and the build that is wanted."""
    if facts.installed is None or facts.installed.split("+")[0] != version:
        return False
    if facts.wanted == "auto":
        return True
    if facts.wanted in ("cpu", "cuda"):
        return facts.installed_cuda == (facts.wanted == "cuda")
    return False  # from an index that a person named: take it from there


def asks_cpu_index(facts: Facts, version: str) -> bool:
    """Whether the choice depends on CPU_INDEX being reachable."""
    if facts.system != "Linux" or already_good(facts, version):
        return False
    return facts.wanted == "cpu" or (facts.wanted == "auto" and not facts.nvidia)


def choose(facts: Facts, version: str) -> Choice:
    """The pip command that brings torch `version`, and why this one.

    A special index gives torch alone (--no-deps): what torch needs comes from the usual index in
    the next step, so that an index, or a mirror of it, that has torch and nothing else is enough.
    """
    if already_good(facts, version):
        hint = ""
        if facts.nvidia and not facts.installed_cuda:
            hint = " (a CPU build; for the GPU: python tools/install.py --torch cuda)"
        return Choice((), f"torch {facts.installed} is already there{hint}")

    request = f"torch=={version}"
    # Same version, other build: pip takes it for done unless it is told.
    same = facts.installed is not None and facts.installed.split("+")[0] == version
    force = ("--force-reinstall",) if same else ()
    usual = ("install", *force, request)

    def only_from(index: str) -> tuple[str, ...]:
        return ("install", *force, "--no-deps", "--index-url", index, request)

    if facts.wanted not in ("auto", "cpu", "cuda"):
        return Choice(only_from(facts.wanted), f"torch {version} from {facts.wanted}, as asked")
    if facts.system != "Linux":
        name = {"Darwin": "macOS"}.get(facts.system, facts.system)
        if facts.wanted == "cuda":
            return Choice(
                only_from(WINDOWS_CUDA_INDEX),
                f"torch {version} with CUDA from {WINDOWS_CUDA_INDEX}, as asked",
            )
        return Choice(usual, f"torch {version}, the build for {name}")
    if facts.wanted == "cuda":
        return Choice(usual, f"torch {version} with CUDA, as asked")
    if facts.wanted == "auto" and facts.nvidia:
        return Choice(usual, f"torch {version} with CUDA (Linux with an NVIDIA driver)")
    reason = "as asked" if facts.wanted == "cpu" else "Linux without an NVIDIA driver"
    if facts.cpu_index_answers:
        return Choice(
            only_from(CPU_INDEX),
            f"torch {version} for CPU from PyTorch's CPU index ({reason})",
        )
    return Choice(
        usual,
        f"torch {version} from the usual package index: PyTorch's CPU index does not answer "
        f"({reason}; what comes may be the larger CUDA build)",
    )


def answers(index: str, seconds: float = 5.0) -> bool:
    """Whether `index` serves a page for torch, within about `seconds`.

    In a thread: looking up a host name has no time limit of its own.
    """
    found = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(f"{index}/torch/", timeout=seconds) as page:
                # A log-in page of a hotel also answers: look for a wheel.
                found.append(b"torch-" in page.read(65536))
        except (OSError, ValueError):
            pass

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(found and found[0])
