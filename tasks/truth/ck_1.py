"""CK-1: what is on the disk, and when.

Which rank first sees a name too early depends on the order of the ranks, so for that there is a
rule in `explain`, and no mistake with a fixed outcome.
"""

import random

import torch

from helpers.grade.verify import same

RANKS = 3
PARTS = [f"rank{rank}.pt" for rank in range(RANKS)]


def cases(seed):
    """In the second save another rank is slow: at least once, it is not the one that renames."""
    draw = random.Random(seed)
    step, slow = draw.randint(10, 99_999), draw.randrange(RANKS)
    states = [
        {"weights": torch.full((5,), float(step + rank)), "rank": rank} for rank in range(RANKS)
    ]
    return [{"step": step, "states": states, "slow": [slow, (slow + 1) % RANKS]}]


def truth(case, **change):
    """What each rank sees; change: {fact: with one of the known mistakes}."""
    return [
        {
            "the name is there": ["", ""],
            "there at the return": True,
            "parts": PARTS,
            "loaded": case["states"][rank],
            "synced": [True, True],
            "names": ["", ""],
            **{fact: new(case, rank) for fact, new in change.items()},
        }
        for rank in range(RANKS)
    ]


MISTAKES = {
    "what a killed run has left under the other name is now part of the checkpoint: remove it "
    "before you begin": {"parts": lambda case, rank: [*PARTS, "rank9.pt"]},
    "each part holds the state of the rank before: it does not hold the state that rank of its "
    "number has saved": {"loaded": lambda case, rank: case["states"][rank - 1]},
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
        if not all(one["synced"]):
            return (
                f"rank {rank} does not call os.fsync in every save: when the power fails, a name "
                "can be on the disk and the bytes below it not"
            )
        if "draft" in one["names"]:
            return (
                "the files are on the disk and their names may not be: call names_to_disk for the "
                "draft's folder before you rename it"
            )
        if "folder" in one["names"]:
            return (
                f"when the power fails after the return, step-{case['step']} may be gone: call "
                "names_to_disk(folder) after the folder got its name"
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
