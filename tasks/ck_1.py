"""CK-1: a sharded checkpoint that is whole or not there."""

from helpers.grade import Mistake, Submission, Task, WorkFailed

TASK = Task(
    id="CK-1",
    title="save a checkpoint of several ranks, whole or not at all",
    file="DP_PP/survival/by_hand.py",
    function="save_part",
    notebook="15",
    points=20,
    minutes=35,
    hints=(
        "A name is given in one moment, a file is written in many. Under which name do the parts "
        "lie while ranks still write? And which rank may give the final name, and when does it "
        "know that the others are done?",
        "Three times the ranks must wait for each other (dist.barrier): when the folder for the "
        "drafts is there, when all parts are written, and when the folder has its name. Rank 0 "
        "makes the folder and renames it; before it makes it, it removes what a killed run left.",
        "Rank 0: shutil.rmtree and mkdir of a folder with another name; barrier. All: open their "
        "file in it, torch.save, flush, os.fsync; barrier. Rank 0: os.rename of the folder; "
        "barrier.",
    ),
)
RANKS = 3
SLOW = 0.15  # seconds: enough for the other ranks to run ahead of a slow one


def state_of(seed, rank):
    """What a rank saves."""
    import torch

    return {"weights": torch.full((5,), float(seed + rank)), "rank": rank}


def work(module, seed):
    """On a rank: what is there while others write, at the return, and after a run was killed; and
    what was read at last.

    When a name appears, and what was synced, can only be seen here.
    """
    import os
    import shutil
    import tempfile
    import time
    from pathlib import Path
    from unittest import mock

    import torch
    import torch.distributed as dist

    rank = dist.get_rank()
    given = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(given, src=0)
    folder = Path(given[0])
    whole, slow_writer = folder / f"step-{seed}", seed % RANKS
    facts = {"early": "", "returned": True, "synced": 0, "slow": SLOW}
    real_save, real_sync, real_mkdir, drafts = torch.save, os.fsync, os.mkdir, []

    def save(state, *args, **kwargs):
        if whole.exists():
            facts["early"] = facts["early"] or "before"
        if rank == slow_writer:
            time.sleep(facts["slow"])
        real_save(state, *args, **kwargs)
        if rank == slow_writer:
            time.sleep(facts["slow"])
        if whole.exists():
            facts["early"] = facts["early"] or "while"

    def sync(descriptor):
        facts["synced"] += 1
        return real_sync(descriptor)

    def slowly(call):
        """So that a rank which does not wait for a folder or its name comes before it."""

        def after_a_while(*args, **kwargs):
            time.sleep(facts["slow"])
            result = call(*args, **kwargs)
            if call is not real_mkdir and Path(args[1]) == whole:
                drafts.append(Path(args[0]))
            return result

        return after_a_while

    state = state_of(seed, rank)
    patches = [mock.patch.object(torch, "save", save), mock.patch.object(os, "fsync", sync)]
    names = ((os, "mkdir"), (os, "rename"), (os, "replace"))
    patches += [mock.patch.object(on, name, slowly(getattr(on, name))) for on, name in names]
    for patch in patches:
        patch.start()
    try:
        module.save_part(state, folder, seed)
        facts.update(returned=whole.exists(), slow=0.0)
        dist.barrier()
        for draft in drafts:  # on the rank that gave the name: as a killed run leaves it
            whole.rename(draft)
            (draft / "rank0.pt").write_bytes(b"half")
            (draft / "rank9.pt").write_bytes(b"of a run with more ranks")
            break
        dist.barrier()
        if not whole.exists():
            module.save_part(state, folder, seed)
        dist.barrier()
    finally:
        for patch in patches:
            patch.stop()
    facts["parts"] = sorted(path.name for path in whole.glob("*"))
    try:
        found = module.load_part(folder, seed)
        facts["loaded"] = int(found["rank"]), found["weights"].detach().clone()
    except Exception:
        facts["loaded"] = None
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder, ignore_errors=True)
    return facts


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    try:
        answers = submission.on_ranks(work, RANKS, submission.seed)
    except WorkFailed as failed:
        explain(failed.sentence)
        raise
    expected = [f"rank{number}.pt" for number in range(RANKS)]
    for rank, fact in enumerate(answers):
        if fact["early"] == "before":
            raise Mistake(
                f"the folder has its final name before rank {rank} has written anything: write the "
                "parts into a folder with another name, and rename it when all are complete"
            )
    for rank, fact in enumerate(answers):
        if fact["early"]:
            raise Mistake(
                f"the folder has its final name while rank {rank} still writes: let all ranks "
                "meet (dist.barrier) when their parts are complete, and rename after that"
            )
    for rank, fact in enumerate(answers):
        if not fact["returned"]:
            raise Mistake(
                f"rank {rank} returns and step-{submission.seed} is not there yet: the ranks must "
                "meet once more after the folder got its name"
            )
        if "rank9.pt" in fact["parts"]:
            raise Mistake(
                "what a killed run has left under the other name is now part of the checkpoint: "
                "remove it before you begin"
            )
        if fact["parts"] != expected:
            raise Mistake(
                f"the folder holds {fact['parts']} and should hold {expected}: one part for each "
                "rank, with its number"
            )
        if not same(fact["loaded"], state_of(submission.seed, rank)):
            raise Mistake(f"rank{rank}.pt does not hold the state that rank {rank} has saved")
        if fact["synced"] < 2:
            raise Mistake(
                f"rank {rank} does not call os.fsync in every save: when the power fails, a name "
                "can be on the disk and the bytes below it not"
            )


def same(loaded, state):
    """Whether this is the state that was saved."""
    import torch

    if loaded is None or not isinstance(loaded[1], torch.Tensor):
        return False
    return loaded[0] == state["rank"] and torch.equal(loaded[1], state["weights"])


def explain(sentence: str) -> None:
    """Raise Mistake for an error of the disk that says what was forgotten."""
    if "FileExistsError" in sentence or "Directory not empty" in sentence:
        raise Mistake(
            "what a killed run has left under the other name is in the way: remove it before you "
            f"make the folder ({sentence})"
        )
    if "FileNotFoundError" in sentence:
        raise Mistake(
            "a rank wants a folder that is not there: the others must wait until one rank has made "
            f"it (dist.barrier), and only one may rename it ({sentence})"
        )
