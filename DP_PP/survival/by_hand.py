"""A sharded checkpoint by hand, in one function; `helpers.checkpoint` does the same and much more.

On the disk, for three ranks:   folder/step-7/rank0.pt  rank1.pt  rank2.pt
"""

import os
import shutil
from pathlib import Path

import torch
import torch.distributed as dist

from helpers.files import names_to_disk


def save_part(state, folder, step):
    """Save this rank's part, so that `folder/step-7` is whole or not there, whatever happens.

    The part goes to `step-7/rank0.pt`, with this rank's number. As soon as there is a folder of
    that name, all parts are in it, complete and on the disk, even if a rank is killed in the middle
    or the power fails. So it is written under another name first; what a killed run has left under
    that other name is removed. When the function returns, on any rank, `step-7` is there.

    A file is on the disk after os.fsync of the file, but its *name* only after os.fsync of the
    folder that holds the name: `names_to_disk(folder)` does that. Two folders get a new name here.

    Args:
        state: this rank's part, anything that torch.save writes.
        folder: a path that all ranks see. It has no `step-7` yet.
        step: of the name, 7 for `step-7`. All ranks call it together.
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
        names_to_disk(draft)  # the names of the parts
        os.rename(draft, whole)
        names_to_disk(folder)  # the name of the whole
    dist.barrier()  # now it has its name
    # END SOLUTION
