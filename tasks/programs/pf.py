"""Work in place of the solutions of PF: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("PF-1", "no check", {"number >= gpus": "False"}, says="so raise ValueError"),
    Program("PF-2", "one attention", {"2 * attention": "attention"}, says="two attentions"),
    Program(
        "PF-3",
        "shared with workers",
        {"self.owner != os.getpid()": "self.file is None"},
        says="it must open one of its own",
    ),
    Program(
        "PF-4",
        "zero_grad with its flag",
        {"scaler.update()": "scaler.update()\n    optimizer.zero_grad(set_to_none=True)"},
    ),
    Program("PF-4", "not scaled", {"scaler.scale(loss)": "loss"}, says="let the scaler scale"),
    Program(
        "PF-4",
        "loss in half",
        {"torch.promote_types(output.dtype, torch.float32)": "output.dtype"},
        says="wide before the loss",
    ),
    Program(
        "PF-4",
        "weights in half",
        {"    with torch.auto": "    dtype in HALF and model.to(dtype)\n    with torch.auto"},
        says="they must stay torch.float32",
    ),
    Program(
        "PF-5",
        "not shifted",
        {"source, before": "source, target"},
        says="shift the target by one place",
    ),
)
