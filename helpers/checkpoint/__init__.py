"""Checkpoints that survive: sharded, whole or not there, loaded into any layout.

    training = Training(stage, optimizer, name=lambda name: whole_name(name, stage.first_layer))
    done = resume("checkpoints", training)                  # nothing there: step 0
    for step in range(done.step, steps):
        …
        if (step + 1) % 10 == 0:
            save("checkpoints", training, step + 1, position=step + 1)

All ranks call `save`, `load` and `resume` together; whatever goes wrong is one sentence, the same
on all of them. `steps` and `latest` say what a folder holds, and work on any process.

    checkpoints/step-00000010/                  whole: it has had this name since it was complete
        __0_0.distcp … .metadata                what each rank wrote, and where each tensor lies
        SHA256SUMS                              every file's sum, written last
    checkpoints/.step-00000020.TOKEN.draft/     being written, or left by a run that was killed

Each rank writes its own part, with torch.distributed.checkpoint, under names of the whole model, so
DP 2 x PP 3 can go on as DP 3 x PP 2, or on one device. torch keeps the list of tensors in a pickle:
the sums find damage, not malice, so load only checkpoints that people you trust have made.
"""

from helpers.checkpoint.saving import Resumed, latest, load, resume, save, steps
from helpers.checkpoint.training import CheckpointError, Training
