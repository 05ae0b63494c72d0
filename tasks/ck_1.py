"""CK-1: save a checkpoint of several ranks, whole or not at all.

What could go wrong depends on who is quick. So nobody is raced: each rank lists what it does, and
how many collectives it had met by then. Whatever two ranks do between the same two of them may come
in either order.
"""

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

from helpers.check import same
from helpers.hang.monitor import the_monitor

HINTS = (
    "A rename is atomic, writing a file isn't. Under which name are the parts kept while ranks "
    "are still writing? Which rank may give the folder its final name, and how does it know that "
    "the others are done?",
    "Rank 0: shutil.rmtree and mkdir of a folder with another name; barrier. All: open their file "
    "in it, torch.save, flush, os.fsync; barrier. Rank 0: names_to_disk of the draft, os.rename, "
    "names_to_disk of `folder`; barrier.",
)
LESSON, MINUTES, RANKS = "beyond_one_machine", 35, 3


def listed_save(module, state, folder, step):
    """One `save_part`: what this rank does, in its order; "note" is a collective that it meets."""
    whole, events = folder / f"step-{step}", []
    mark = folder.with_name(f"begun{dist.get_rank()}")

    def listing(owner, name, facts=lambda *args, **kwargs: {}):
        real = getattr(owner, name)

        def call(*args, **kwargs):
            met = sum(event["what"] == "note" for event in events)
            events.append({"what": name, "met": met, "there": whole.exists()})
            events[-1] |= facts(*args, **kwargs)
            return real(*args, **kwargs)

        return mock.patch.object(owner, name, call)

    def of_file(file):
        return {"of": os.fstat(file if isinstance(file, int) else file.fileno()).st_ino}

    def of_rename(old, new, *_, **__):
        end = time.monotonic() + 2  # the others may be about to write: none shall lack the folder
        while len([*mark.parent.glob("begun*")]) < RANKS and time.monotonic() < end:
            time.sleep(0.01)
        return {"named": Path(new) == whole, "from": str(old), "of": os.stat(old).st_ino}

    with contextlib.ExitStack() as stack:
        for patch in (
            listing(torch, "save", lambda *_, **__: mark.touch() or {}),
            listing(shutil, "rmtree"),
            listing(os, "mkdir"),
            listing(os, "fsync", of_file),
            listing(os, "rename", of_rename),
            listing(os, "replace", of_rename),
            listing(the_monitor(), "note"),  # of every call of torch.distributed
        ):
            stack.enter_context(patch)
        module.save_part(state, folder, step)
    dist.barrier()
    mark.unlink(missing_ok=True)
    part = whole / f"rank{dist.get_rank()}.pt"
    inode = part.stat().st_ino if part.exists() else None
    dist.barrier()  # before anybody goes on
    return {"events": events, "part": inode, "folder": folder.stat().st_ino}


def observe(module, case):
    """On every rank: two saves, the second as after a run that was killed, and what's read then."""
    rank, step = dist.get_rank(), case["step"]
    given = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(given, src=0)
    folder = Path(given[0]) / "checkpoints"
    folder.mkdir(exist_ok=True)
    state, whole = case["states"][rank], folder / f"step-{step}"
    saves, first = [listed_save(module, state, folder, step)], [None] * RANKS
    dist.all_gather_object(first, saves[0])
    for event in saves[0]["events"]:
        if event.get("named"):  # this rank gave the name: as a killed run leaves it
            draft = whole.rename(event["from"])
            (draft / "rank0.pt").write_bytes(b"half")
            (draft / "rank9.pt").write_bytes(b"of a run with more ranks")
    dist.barrier()
    if not whole.exists() and not wrong_order(first, step):
        saves.append(listed_save(module, state, folder, step))
    dist.barrier()
    found = {"saves": saves, "parts": sorted(path.name for path in whole.glob("*")), "loaded": None}
    with contextlib.suppress(Exception):
        found["loaded"] = torch.load(whole / f"rank{rank}.pt")
    dist.barrier()
    if rank == 0:
        shutil.rmtree(given[0], ignore_errors=True)
    return found


def cases():
    step = random.randint(10, 99_999)
    weights = [torch.full((5,), float(step + rank)) for rank in range(RANKS)]
    states = [{"weights": each, "rank": rank} for rank, each in enumerate(weights)]
    return [{"step": step, "states": states}]


NO_FOLDER = (
    "a rank wants a folder that is not there: the others must wait until one rank has made it "
    "(dist.barrier), and only one may rename it"
)


def explain(case, seen):
    for saves in zip(*(one["saves"] for one in seen), strict=True):
        if sentence := wrong_order(saves, case["step"]):
            return sentence
    parts, expected = seen[0]["parts"], [f"rank{rank}.pt" for rank in range(RANKS)]
    if set(parts) > set(expected):
        return (
            "what a killed run has left under the other name is now part of the checkpoint: remove "
            f"it before you begin (there is {parts[-1]})"
        )
    if parts != expected:
        return f"the folder holds {parts} and should hold {expected}: one part for each rank"
    loaded = [one["loaded"] for one in seen]
    if same(loaded[1:] + loaded[:1], case["states"]):
        return (
            "each part holds the state of the rank before: it does not hold the state that rank of "
            "its number has saved"
        )
    for rank, state in enumerate(case["states"]):
        if not same(state, loaded[rank]):
            return f"rank{rank}.pt does not hold the state that rank {rank} has saved"
    on_disk = (not_on_disk(saves) for saves in zip(*(one["saves"] for one in seen), strict=True))
    return next(filter(None, on_disk), None)


def wrong_order(saves, step):
    ranks, writes = [save["events"] for save in saves], []

    def when(rank, what):
        return [event["met"] for event in ranks[rank] if event["what"] == what]

    for rank, save in enumerate(saves):  # a part is being written until it's synced
        synced = [event for event in ranks[rank] if event.get("of") == save["part"]]
        begun = [event for event in ranks[rank] if event["what"] == "save"]
        writing = [event for event in synced if event["what"] == "fsync"] or begun
        if any(event["there"] for event in begun or writing):
            return (
                f"the folder has its final name before rank {rank} has written anything: write the "
                "parts into a folder with another name, and rename it when all are complete"
            )
        writes.append([event["met"] for event in writing])
    makers = [when(rank, "mkdir") for rank in range(RANKS)]
    for rank, mine in enumerate(writes):
        made = makers[rank] or any(each[:1] < mine[:1] for each in makers if each)
        others = (when(other, "rmtree") for other in range(RANKS) if other != rank)
        if mine and any(makers) and (not made or any(each[-1:] >= mine[:1] for each in others)):
            return NO_FOLDER
    named = [(e["met"], rank) for rank in range(RANKS) for e in ranks[rank] if e.get("named")]
    for rank, mine in enumerate(writes):
        if not named or rank == named[0][1]:
            continue
        if mine and mine[-1] >= named[0][0]:
            return (
                f"the folder has its final name while rank {rank} still writes: let all ranks meet "
                "(dist.barrier) when their parts are complete, and rename after that"
            )
        if len(when(rank, "note")) <= named[0][0]:
            return (
                f"rank {rank} returns and step-{step} is not there yet: the ranks must meet once "
                "more after the folder got its name"
            )


def not_on_disk(saves):
    """Say what was never synced: the bytes of a part, their names, or that of the folder."""
    events = [event for save in saves for event in save["events"]]
    synced = [(event["of"], event["there"]) for event in events if event["what"] == "fsync"]
    for rank, save in enumerate(saves):
        if save["part"] not in [one for one, _ in synced]:
            return (
                f"rank {rank} does not call os.fsync in every save: when the power fails, a name "
                "can be on the disk and the bytes below it not"
            )
    for event in events:
        if event.get("named") and os.name != "nt":
            if (event["of"], False) not in synced:
                return (
                    "the files are on the disk and their names may not be: call names_to_disk for "
                    "the draft's folder before you rename it"
                )
            if (saves[0]["folder"], True) not in synced:
                return (
                    "when the power fails after the return, the folder's name may be gone: call "
                    "names_to_disk(folder) after the folder got its name"
                )


STOPPED = {
    "FileExistsError|Directory not empty": "what a killed run has left under the other name is in "
    "the way: remove it before you make the folder",
    "FileNotFoundError": NO_FOLDER,
}
