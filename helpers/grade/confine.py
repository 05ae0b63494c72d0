"""Linux: a world of its own for the work, made of namespaces.

Inside it there is Python, the libraries, the lab without its solutions, and the submission; all of
it can only be read. What is written goes to memory and is gone at the end. There is no network but
the loopback, and no process but the work's own, which end with the first of them. Run by root, it
has another user; run by anybody else, no right beyond that user's. Needs Linux 5.12 and a system
that lets a user make namespaces; `enter` raises OSError where it does not.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path

from helpers.grade.task import ROOT

NEW = {"NS": 0x00020000, "UTS": 0x04000000, "IPC": 0x08000000, "PID": 0x20000000}
NEW |= {"NET": 0x40000000}
NEWUSER = 0x10000000
REC, BIND, PRIVATE = 0x4000, 0x1000, 1 << 18
NOSUID, NODEV = 2, 4
DETACH = 2
SYS_MOUNT_SETATTR, RECURSIVE = 442, 0x8000
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(os.uname().machine) if os.name == "posix" else 0
PDEATHSIG, DUMPABLE, NO_NEW_PRIVS = 1, 4, 38

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
SYSTEM += tuple(f"/etc/{name}" for name in ("hosts", "nsswitch.conf", "passwd", "group"))
SYSTEM += ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")
SYSTEM += ("/sys/devices/system",)
DEVICES = ("null", "zero", "full", "random", "urandom")
# Of the lab: what the work and the check's half beside it import. No solutions.
LAB = ("helpers", "simplellm", "tasks", "pyproject.toml", "distributed_ml_lab.egg-info")
LAB += ("puzzles/cluster", "puzzles/machines", "puzzles/lib.py", "puzzles/utils.py")
HIDDEN = ("tasks/mistakes",)
MEGABYTES = 512  # of memory for what the work writes to files


def possible() -> bool:
    """Whether this system has what `enter` needs, as far as one can see without trying."""
    return sys.platform == "linux" and SYS_PIVOT_ROOT is not None


def enter(place: Path, checks: Path) -> dict[str, str]:
    """Move this process, which must have one thread, into a world of its own.

    place: a folder; the work in `place/work` is there too, as a copy that is lost at the end, and
    `place/lab`, where it exists, as a part of the lab.
    checks: the folder of the tasks. Returns, in a new process, the limits that hold now: name and
    how. The old process waits for the new one and ends as it does. Raises OSError where the system
    does not allow it; what has been done until then changes nothing for others.
    """
    ids = os.getuid(), os.getgid()
    root = ids[0] == 0
    try:
        _unshare(sum(NEW.values()) | (0 if root else NEWUSER))
        user = root
    except OSError:
        if not root:
            raise
        _unshare(sum(NEW.values()) | NEWUSER)  # root in a container, without its rights
        user = False
    if not user:
        _map_this_user(*ids)
    die_with_parent()
    told, tell = os.pipe()
    child = os.fork()
    if child:
        os.close(tell)
        _end_like(child, told)
    os.close(told)
    try:
        _build(place, checks)
        _loopback_up()
        _give_up_rights(place, user)
        die_with_parent()
    except OSError as error:
        os.write(tell, str(error).encode() or b"?")
        os._exit(1)
    os.close(tell)
    os.chdir(place / "scratch")
    held = {"files": "a copy of its own folder", "network": "loopback only"}
    return held | {"user": "another, without rights" if user else "the same, without rights"}


def _build(place: Path, checks: Path) -> None:
    """A new root in memory with what may be seen; then it is the only one."""
    _mount(None, "/", None, REC | PRIVATE)
    new = place / "root"
    new.mkdir()
    _mount("tmpfs", new, "tmpfs", NOSUID | NODEV, f"size={MEGABYTES}m,mode=755")
    lab = [ROOT / name for name in LAB]
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.realpath(sys.prefix)}
    python |= {str(Path(os.path.realpath(sys.executable)).parents[1])}
    packages = [path for path in sys.path if "site-packages" in path or "dist-packages" in path]
    shown = [*SYSTEM, *sorted(python - {"/", "/usr"}), *packages, *lab, checks]
    names = dict.fromkeys(map(str, shown))
    for name in (name for name in names if not Path(name).is_relative_to(ROOT)):
        _show(Path(name), new)
    if _inside(new, ROOT).exists():  # the lab lies below a folder that is shown whole
        size = f"size={MEGABYTES}m,mode=755"
        _mount("tmpfs", _inside(new, ROOT), "tmpfs", NOSUID | NODEV, size)
    for name in (name for name in names if Path(name).is_relative_to(ROOT)):
        _show(Path(name), new)
    for folder in [*(ROOT / name for name in HIDDEN), checks / "mistakes"]:
        if _inside(new, folder).is_dir():
            _mount("tmpfs", _inside(new, folder), "tmpfs", NOSUID | NODEV, "size=4k,mode=755")
    if (place / "lab").exists():
        shutil.copytree(place / "lab", _inside(new, ROOT), dirs_exist_ok=True)
    for name in DEVICES:
        _show(Path("/dev", name), new, device=True)
    for name in ("dev/shm", "tmp"):
        (new / name).mkdir(parents=True, exist_ok=True)
        (new / name).chmod(0o1777)
    _inside(new, place).mkdir(parents=True, exist_ok=True)
    shutil.copytree(place / "work", _inside(new, place) / "work")
    (_inside(new, place) / "scratch").mkdir()
    (new / "proc").mkdir()
    _mount("proc", new / "proc", "proc", NOSUID | NODEV)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (new / "dev" / name).symlink_to(f"/proc/self/fd/{number}")
    (new / "dev" / "fd").symlink_to("/proc/self/fd")
    os.chdir(new)
    _call(_libc().syscall(SYS_PIVOT_ROOT, b".", b"."))
    _call(_libc().umount2(b".", DETACH))
    os.chdir("/")


def _show(path: Path, new: Path, device: bool = False) -> None:
    """Let `path` be seen at its place below `new`, to be read and not to be written."""
    if not path.exists() or _inside(new, path).exists():
        return
    target = _inside(new, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and path.parent == Path("/"):
        target.symlink_to(os.readlink(path))
        return
    target.mkdir() if path.is_dir() else target.touch()
    _mount(os.path.realpath(path), target, None, BIND | REC)
    attributes = struct.pack("4Q", (0 if device else 1 | NODEV) | NOSUID, 0, 0, 0)
    _call(
        _libc().syscall(
            SYS_MOUNT_SETATTR, -100, os.fsencode(target), RECURSIVE, attributes, len(attributes)
        )
    )


def _inside(new: Path, path: Path) -> Path:
    return new / Path(path).absolute().relative_to("/")


def _map_this_user(user: int, group: int) -> None:
    """The same user as before, under a number that is not root's."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"1000 {user} 1")
    _write("/proc/self/gid_map", f"1000 {group} 1")


def _give_up_rights(place: Path, other: bool) -> None:
    """Become a user that nothing belongs to, or keep the own one; in both cases without rights."""
    if other:
        user = 200_000 + int.from_bytes(os.urandom(4), "big") % 1_000_000
        for folder in (place / "work", place / "scratch"):
            for path in (folder, *folder.rglob("*")):
                os.chown(path, user, user)
        place.chmod(0o755)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _call(_libc().capset(header, nothing))
    _call(_libc().prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    _call(_libc().prctl(DUMPABLE, 1, 0, 0, 0))


def die_with_parent() -> None:
    """End this process when its parent ends. A change of user makes the system forget it."""
    _call(_libc().prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0))


def _loopback_up() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 1 | 0x40)  # IFF_UP, IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS


def _end_like(child: int, told: int) -> None:
    """Wait for the process inside, and end as it did; say on stderr why it could not begin."""
    reason = os.read(told, 1000)
    _, status = os.waitpid(child, 0)
    if reason:
        with contextlib.suppress(OSError):
            os.write(2, b"namespaces: " + reason + b"\n")
    os._exit(NOT_POSSIBLE if reason else max(0, os.waitstatus_to_exitcode(status)))


NOT_POSSIBLE = 77


def _unshare(flags: int) -> None:
    _call(_libc().unshare(flags))


def _mount(source, target, kind, flags: int, data: str = "") -> None:
    words = [None if w is None else os.fsencode(w) for w in (source, target, kind)]
    _call(_libc().mount(*words, ctypes.c_ulong(flags), data.encode()), str(target))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(result: int, what: str = "") -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what or None)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
