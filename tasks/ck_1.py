"""CK-1: a sharded checkpoint that is whole or not there."""

import contextlib
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist

from helpers.grade import Task
from helpers.grade.verify import same
from helpers.hang.monitor import the_monitor

TASK = Task(
    title="save a checkpoint of several ranks, whole or not at all",
    file="DP_PP/survival/by_hand.py",
    function="save_part",
    lesson="training_never_stops",
    kind="evidence",
    minutes=35,
    ranks=3,
    hints=(
        "A rename is atomic, writing a file isn't. Under which name are the parts kept while ranks "
        "are still writing? Which rank may give the folder its final name, and how does it know "
        "that the others are done?",
        "The ranks must wait for each other three times (dist.barrier): when the draft folder is "
        "there, when all parts are written, and when the folder has its final name. Rank 0 makes "
        "the draft folder and renames it; first it removes what a killed run may have left. Call "
        "names_to_disk twice: before the rename for the folder that holds the parts, and after it "
        "for the one that holds the final name.",
        "Rank 0: shutil.rmtree and mkdir of a folder with another name; barrier. All: open their "
        "file in it, torch.save, flush, os.fsync; barrier. Rank 0: names_to_disk of the draft, "
        "os.rename, names_to_disk of `folder`; barrier.",
    ),
)
RANKS = 3
LONGEST_S = 5.0  # how long a rank is held, at most, where no other rank ever comes to wait for it
NAMING = ("rename", "replace")


class Holds:
    """Where each rank stands in one save, told by files in `folder`.

    A rank is held where another one could run ahead of it, until the others wait for it or have
    left: so what is seen does not depend on who is quick.
    """

    def __init__(self, folder, rank):
        self.folder, self.rank, self.met = folder, rank, 0
        folder.mkdir(parents=True, exist_ok=True)

    def tell(self, what):
        """Say where this rank stands."""
        (self.folder / f"{self.rank} {what}").touch()

    def meet(self, note):
        """`note`, which is called for every operation; first it counts it, and says so."""

        def counted(operation):
            self.met += 1
            self.tell(f"met {self.met}")
            return note(operation)

        return counted

    def let_others_run(self, here, *places):
        """Stand `here` until each other rank meets once more, has left, or stands at a place."""
        self.tell(here)
        enough = (f"met {self.met + 1}", "left", *places)
        end = time.monotonic() + LONGEST_S
        while time.monotonic() < end and not all(
            any((self.folder / f"{rank} {place}").exists() for place in enough)
            for rank in range(RANKS)
            if rank != self.rank
        ):
            time.sleep(0.01)
        self.go_on(here)

    def go_on(self, here):
        """Say that this rank no longer stands `here`."""
        (self.folder / f"{self.rank} {here}").unlink(missing_ok=True)


def watched_save(module, state, folder, step, held, slow):
    """One `save_part`: what this rank sees of the folder while it writes and when it returns, what
    it synced, which file is its part, and the draft that it gave the name to.

    held: where each rank is held; slow: the rank that writes last.
    """
    whole = folder / f"step-{step}"
    seen = {"early": "", "draft": None, "part": None, "synced": []}
    real_save, real_sync, real_mkdir = torch.save, os.fsync, os.mkdir
    real_rmtree = shutil.rmtree

    def save(*args, **kwargs):
        if whole.exists():
            seen["early"] = seen["early"] or "before"
        if held.rank == slow:
            held.let_others_run("save")
        held.tell("save")
        real_save(*args, **kwargs)
        if whole.exists():
            seen["early"] = seen["early"] or "while"
        held.go_on("save")

    def sync(descriptor):
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        seen["synced"].append((os.fstat(number).st_ino, whole.exists()))
        return real_sync(descriptor)

    def mkdir(*args, **kwargs):
        held.let_others_run("mkdir", "mkdir", "save", "rename", "rmtree")
        return real_mkdir(*args, **kwargs)

    def rmtree(*args, **kwargs):
        held.let_others_run("rmtree", "rmtree")
        return real_rmtree(*args, **kwargs)

    def named(real):
        def rename(old, new, *args, **kwargs):
            held.let_others_run("rename", "save", "rename")
            real(old, new, *args, **kwargs)
            if Path(new) == whole:
                seen["draft"] = Path(old)
                seen["synced"].append(("renamed", whole.stat().st_ino, folder.stat().st_ino))

        return rename

    patches = [mock.patch.object(torch, "save", save), mock.patch.object(os, "fsync", sync)]
    patches += [mock.patch.object(os, "mkdir", mkdir), mock.patch.object(shutil, "rmtree", rmtree)]
    patches += [mock.patch.object(os, name, named(getattr(os, name))) for name in NAMING]
    watch = the_monitor()  # of every call of torch.distributed, however its name was imported
    patches += [mock.patch.object(watch, "note", held.meet(watch.note))]
    for patch in patches:
        patch.start()
    try:
        module.save_part(state, folder, step)
        seen["returned"] = whole.exists()
        with contextlib.suppress(OSError):
            seen["part"] = (whole / f"rank{held.rank}.pt").stat().st_ino
    finally:
        held.tell("left")
        for patch in patches:
            patch.stop()
    return seen


def reached_disk(save):
    """On every rank: whether its part was synced, by any rank; and which folder's names nobody
    synced, "draft" or "folder", else "".
    """
    everyone = [None] * dist.get_world_size()
    dist.all_gather_object(everyone, save["synced"])
    found = [one for each in everyone for one in each]
    part = save["part"] in [one[0] for one in found]
    for _, draft, parent in [one for one in found if one[0] == "renamed"][:1]:
        if (draft, False) not in found and os.name != "nt":
            return part, "draft"
        if (parent, True) not in found and os.name != "nt":
            return part, "folder"
    return part, ""


def observe(module, case):
    """On every rank: what is there while others write, at the return, and after a run was killed;
    whether each save synced its files and the names of both folders, and what was read at last.

    When a name appears, and what was synced, can only be seen here.
    case: the step, each rank's state, and of two saves the rank that writes last.
    """
    rank, step = dist.get_rank(), case["step"]
    given = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(given, src=0)
    root = Path(given[0])
    folder = root / "checkpoints"
    folder.mkdir(exist_ok=True)
    state, whole = case["states"][rank], folder / f"step-{step}"
    first = watched_save(module, state, folder, step, Holds(root / "first", rank), case["slow"][0])
    saves = [first]
    dist.barrier()
    if first["draft"]:  # on the rank that gave the name: as a killed run leaves it
        whole.rename(first["draft"])
        (first["draft"] / "rank0.pt").write_bytes(b"half")
        (first["draft"] / "rank9.pt").write_bytes(b"of a run with more ranks")
    dist.barrier()
    if not whole.exists():
        held = Holds(root / "second", rank)
        saves.append(watched_save(module, state, folder, step, held, case["slow"][1]))
    dist.barrier()
    facts = {
        "the name is there": [save["early"] for save in saves],
        "there at the return": first["returned"],
        "parts": sorted(path.name for path in whole.glob("*")),
        "loaded": None,
    }
    synced, names = map(list, zip(*map(reached_disk, saves), strict=True))
    facts |= {"its part is synced": synced, "whose names nobody synced": names}
    with contextlib.suppress(Exception):
        facts["loaded"] = torch.load(whole / f"rank{rank}.pt")
    dist.barrier()
    if rank == 0:
        shutil.rmtree(root, ignore_errors=True)
    return facts


PARTS = [f"rank{rank}.pt" for rank in range(RANKS)]


def cases(seed):
    """In the second save another rank is slow: at least once, it is not the one that renames."""
    draw = random.Random(seed)
    step, slow = draw.randint(10, 99_999), draw.randrange(RANKS)
    states = [
        {"weights": torch.full((5,), float(step + rank)), "rank": rank} for rank in range(RANKS)
    ]
    return [{"step": step, "states": states, "slow": [slow, (slow + 1) % RANKS]}]


MUTANTS = {
    (
        ("shutil.rmtree(draft, ignore_errors=True)", "pass"),
        ("draft.mkdir(parents=True)", "draft.mkdir(parents=True, exist_ok=True)"),
    ): "what a killed run has left under the other name is now part of the checkpoint: remove it "
    "before you begin",
    ("rank{rank}.pt", "rank{(rank + 1) % dist.get_world_size()}.pt"): "each part holds the state "
    "of the rank before: it does not hold the state that rank of its number has saved",
    ("names_to_disk(draft)", "pass"): "the files are on the disk and their names may not be: call "
    "names_to_disk for the draft's folder before you rename it",
    ("names_to_disk(folder)", "pass"): "when the power fails after the return, the folder's name "
    "may be gone: call names_to_disk(folder) after the folder got its name",
}


def explain(case, seen):
    """The causes before their effects, each on all ranks."""
    early = [(rank, told) for rank, one in enumerate(seen) for told in one["the name is there"]]
    for rank, told in early:
        if told == "before":
            return (
                f"the folder has its final name before rank {rank} has written anything: write the "
                "parts into a folder with another name, and rename it when all are complete"
            )
    for rank, told in early:
        if told:
            return (
                f"the folder has its final name while rank {rank} still writes: let all ranks "
                "meet (dist.barrier) when their parts are complete, and rename after that"
            )
    for rank, one in enumerate(seen):
        if not one["there at the return"]:
            return (
                f"rank {rank} returns and step-{case['step']} is not there yet: the ranks must "
                "meet once more after the folder got its name"
            )
        if one["parts"] != PARTS:
            return (
                f"the folder holds {one['parts']} and should hold {PARTS}: one part for each "
                "rank, with its number"
            )
        if not same(case["states"][rank], one["loaded"]):
            return f"rank{rank}.pt does not hold the state that rank {rank} has saved"
        if not all(one["its part is synced"]):
            return (
                f"rank {rank} does not call os.fsync in every save: when the power fails, a name "
                "can be on the disk and the bytes below it not"
            )
    return None


def stopped(sentence):
    """An error of the disk says what was forgotten."""
    if "FileExistsError" in sentence or "Directory not empty" in sentence:
        return (
            "what a killed run has left under the other name is in the way: remove it before you "
            f"make the folder ({sentence})"
        )
    if "FileNotFoundError" in sentence:
        return (
            "a rank wants a folder that is not there: the others must wait until one rank has made "
            f"it (dist.barrier), and only one may rename it ({sentence})"
        )
    return None
