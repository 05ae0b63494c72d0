"""Checkpoints that survive: sharded, whole or not there, loaded into any layout.

    training = Training(stage, optimizer, name=lambda name: whole_name(name, stage.first_layer))
    done = resume("checkpoints", training)                  # nothing there: step 0
    for step in range(done.step, steps):
        …
        if (step + 1) % 10 == 0:
            save("checkpoints", training, step + 1, position=step + 1)

What to call, on all ranks together:

    save(folder, training, step, position, keep)     write; old ones are removed
    load(folder, training, step)                     read a step, or the last one
    resume(folder, training)                         the same, or begin where there is none

And on any process: `steps(folder)`, `latest(folder)`.

Each rank writes its own part, with torch.distributed.checkpoint. The names in it are those of the
whole model, so DP 2 x PP 3 can go on as DP 3 x PP 2, or on one device. A part that layers are cut
into (tensor parallel, `fully_shard`) knows its place in the whole tensor.

A checkpoint is written under another name and renamed at the end, so one with a name is whole
(`folder` says more). A run that is killed loses at most the steps since the last save. One run at a
time saves to a folder; a second one gets an error.

torch keeps the list of tensors in a pickle. Its sum is checked before torch reads it, which finds
damage, not malice: load only checkpoints that you or people you trust have made.

Files, from the ground up: `errors`, the same on all ranks; `whole` judges one checkpoint, `folder`
keeps the last ones; `training` gives tensors their names; `saving` and `loading`.
"""

from helpers.checkpoint.errors import CheckpointError, NoCheckpoint
from helpers.checkpoint.folder import latest, steps
from helpers.checkpoint.loading import Resumed, load, resume
from helpers.checkpoint.saving import save
from helpers.checkpoint.training import Training

__all__ = [
    "CheckpointError",
    "NoCheckpoint",
    "Resumed",
    "Training",
    "latest",
    "load",
    "resume",
    "save",
    "steps",
]
