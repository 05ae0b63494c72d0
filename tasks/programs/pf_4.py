"""PF-4: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

BODY = """
        if dtype in HALF:
            model.to(dtype)

        with record_function("forward"):
            with torch.autocast(source.device.type, dtype, enabled=dtype in HALF):
                y = model(source, target)
            kind = torch.promote_types(y.dtype, torch.float32)
            loss = (y.to(kind) - target.to(kind)).square().mean()
        with record_function("backward"):
            scaler.scale(loss).backward()
        with record_function("update"):
            scaler.step(optimizer)
            scaler.update()
        return loss.detach()
        """

PROGRAMS = (
    Program(
        "not scaled",
        BODY.replace("\n        if dtype in HALF:\n            model.to(dtype)\n", "").replace(
            "scaler.scale(loss)", "loss"
        ),
        says="let the scaler scale",
    ),
    Program(
        "loss in half",
        BODY.replace("\n        if dtype in HALF:\n            model.to(dtype)\n", "").replace(
            "torch.promote_types(y.dtype, torch.float32)", "y.dtype"
        ),
        says="wide before the loss",
    ),
    Program(
        "weights in half",
        BODY,
        says="they must stay torch.float32",
    ),
)

RIGHT = {
    "autocast only where it is needed": """
        from contextlib import nullcontext

        half = dtype in HALF
        where = torch.autocast(source.device.type, dtype) if half else nullcontext()
        with record_function("forward"):
            with where:
                found = model(source, target)
            if half:
                found, target = found.float(), target.float()
            loss = ((found - target) ** 2).mean()
        with record_function("backward"):
            scaled = scaler.scale(loss)
            scaled.backward()
        with record_function("update"):
            scaler.step(optimizer)
            scaler.update()
        return loss.detach()
        """,
}
