"""PF-4: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("not scaled", {"scaler.scale(loss)": "loss"}, says="let the scaler scale"),
    Program(
        "loss in half",
        {"torch.promote_types(output.dtype, torch.float32)": "output.dtype"},
        says="wide before the loss",
    ),
    Program(
        "weights in half",
        {"    with torch.auto": "    dtype in HALF and model.to(dtype)\n    with torch.auto"},
        says="they must stay torch.float32",
    ),
)
