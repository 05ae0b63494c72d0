"""One step of training, in the precision that was asked for."""

import torch
from torch.profiler import record_function

HALF = (torch.float16, torch.bfloat16)


def train_step(model, optimizer, scaler, source, target, dtype):
    """Forward, backward and update; return the mean squared error, float32, detached.

    source, target: (B, S, E) and (B, T, E). The weights are float32 whatever the data is: the step
    of an update is smaller than what a half can tell apart. (Only float64 data has a model in
    float64.) In a half type the products are computed in it (`torch.autocast`), and the loss is
    computed in float32. Small gradients are 0 in float16, so its loss is multiplied by a large
    number first: `scaler` (torch.amp.GradScaler) does it, and does nothing where it is switched
    off. https://docs.pytorch.org/docs/stable/amp.html

    Its parts are marked for the profiler, by record_function: "forward" (with the loss),
    "backward", "update".
    """
    optimizer.zero_grad()
    # BEGIN SOLUTION PF-4
    with record_function("forward"):
        with torch.autocast(source.device.type, dtype, enabled=dtype in HALF):
            output = model(source, target)
        wide = torch.promote_types(output.dtype, torch.float32)
        loss = torch.nn.functional.mse_loss(output.to(wide), target.to(wide))
    with record_function("backward"):
        scaler.scale(loss).backward()
    with record_function("update"):
        scaler.step(optimizer)
        scaler.update()
    return loss.detach()
    # END SOLUTION
