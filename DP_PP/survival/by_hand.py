"""A sharded checkpoint by hand, in one function; `helpers.checkpoint` does the same and much more.

On the disk, for three ranks:   folder/step-7/rank0.pt  rank1.pt  rank2.pt
"""

import os
import shutil
from pathlib import Path

import torch
import torch.distributed as dist


def save_part(state, folder, step):
    """Save this rank's part, so that `folder/step-7` is whole or is not there, whatever happens.

    state: this rank's part, anything that torch.save writes. folder: a path that all ranks see.
    step: of the name, 7 for `step-7`. All ranks call it together.

    The part goes to `step-7/rank0.pt`, with this rank's number. As soon as there is a folder of
    that name, all parts are in it, complete and on the disk (os.fsync), even if a rank is killed
    in the middle. So it is written under another name first. What a killed run has left under that
    other name is removed. When the function returns, on any rank, `step-7` is there.
    """
    # BEGIN SOLUTION CK-1
    rank = dist.get_rank()
    draft, whole = Path(folder) / f".draft-{step}", Path(folder) / f"step-{step}"
    if rank == 0:
        shutil.rmtree(draft, ignore_errors=True)  # of a run that was killed
        draft.mkdir(parents=True)
    dist.barrier()  # now there is a folder to write into
    with open(draft / f"rank{rank}.pt", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    dist.barrier()  # now all parts are complete
    if rank == 0:
        os.rename(draft, whole)
    dist.barrier()  # now it has its name
    # END SOLUTION


def load_part(folder, step):
    """This rank's part of a step, as it was saved."""
    return torch.load(Path(folder) / f"step-{step}" / f"rank{dist.get_rank()}.pt")
