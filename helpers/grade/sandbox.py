"""Linux: the sandbox in which the work of a submission runs, made by bubblewrap.

Inside there is Python, its libraries, the lab without scripts and solutions, and the submission;
all of it can only be read. What is written goes to memory and is gone at the end. There is no
network but a loopback of its own, and no process but the work's, which end with the first of them.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from helpers.grade.task import ROOT

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SYSTEM += tuple(f"/etc/{name}" for name in ("hosts", "nsswitch.conf", "passwd", "group"))
SYSTEM += ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
SYSTEM += ("/sys/devices/system",)
# Of the lab: what the work, and the task's half beside it, import. No script, no solution.
LAB = ("helpers", "simplellm", "pyproject.toml", "distributed_ml_lab.egg-info")
LAB += ("puzzles/cluster", "puzzles/lib.py", "puzzles/utils.py")
MEGABYTES = 512  # of memory for what the work writes to files
HELD = {"files": "a copy of its own folder", "network": "loopback only"}
CURE = "install bubblewrap (Debian, Ubuntu: apt install bubblewrap)"


def command(place: Path) -> list[str]:
    """What stands before a command to run it in a new sandbox.

    Of the tasks only what several of them share is there: a job brings its own task along.

    Args:
        place: a folder that can be read there under its own name.
    """
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.prefix)}
    python |= {str(Path(os.path.realpath(sys.executable)).parents[1])}
    packages = [path for path in sys.path if "site-packages" in path or "dist-packages" in path]
    shown = [*SYSTEM, *sorted(python - {"/", "/usr"}), *packages]
    links = {Path(name) for name in shown if Path(name).is_symlink()}  # a linked .venv, for one
    shown = [os.path.realpath(n) if links.intersection(Path(n).parents) else n for n in shown]
    lab = [str(ROOT / name) for name in LAB]
    lab += map(str, sorted((ROOT / "tasks").glob("_*.py")))
    inside = [name for name in shown if Path(name).is_relative_to(ROOT)]
    words = ["bwrap", *isolation(), "--die-with-parent"]
    words += ["--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size", f"{MEGABYTES << 20}"]
    words += ["--tmpfs", "/tmp"]
    names = map(Path, [*shown, *lab, place])
    above = {parent for name in names for parent in name.parents} - {Path("/"), Path("/tmp")}
    for folder in sorted(above):  # else only root could go through them
        words += ["--perms", "0755", "--dir", str(folder)]
    for name in dict.fromkeys(name for name in shown if name not in inside):
        if Path(name).is_symlink():
            words += ["--symlink", os.readlink(name), name]
        else:
            words += ["--ro-bind-try", name, name]
    if any(ROOT.is_relative_to(name) for name in shown):
        words += ["--tmpfs", str(ROOT)]  # the lab lies below a folder that is shown whole
    for name in dict.fromkeys([*inside, *lab, str(place)]):
        words += ["--ro-bind-try", name, name]
    return [*words, "--chdir", "/tmp", "--"]


def why_not() -> str:
    """Why work can't be confined here; '' where it can."""
    if sys.platform != "linux":
        return "the sandbox needs Linux"
    if not shutil.which("bwrap"):
        return CURE
    return "" if isolation() else "this system doesn't let bubblewrap make namespaces"


@cache
def isolation() -> tuple[str, ...]:
    """The namespaces that this system lets bubblewrap make; empty where it doesn't.

    Run by root it needs no namespace of users, so that the work can get a user of its own.
    """
    worlds = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts")
    own = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
    ways = [worlds + own] if os.getuid() == 0 else []
    for way in [*ways, ("--unshare-user", "--uid", "1000", "--gid", "1000", *worlds)]:
        call = ["bwrap", *way, "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]
        if subprocess.run(call, capture_output=True, check=False).returncode == 0:
            return way
    return ()


def become_nobody() -> bool:
    """Inside a sandbox that root made: become a user that nothing belongs to. Say whether."""
    if os.getuid() != 0:
        return False
    user = 200_000 + int.from_bytes(os.urandom(4), "big") % 1_000_000
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    return True
