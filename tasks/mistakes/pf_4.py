"""Wrong ways to do PF-4, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def step(
    on="dtype in HALF",
    mark="forward",
    wide="torch.promote_types(y.dtype, torch.float32)",
    back="scaler.scale(loss).backward()",
    move="scaler.step(optimizer)",
    then="scaler.update()",
    give="loss.detach()",
):
    """The right answer with one of its parts done in another way."""
    return f"""
    with record_function("{mark}"):
        with torch.autocast(source.device.type, dtype, enabled={on}):
            y = model(source, target)
        kind = {wide}
        loss = (y.to(kind) - target.to(kind)).square().mean()
    with record_function("backward"):
        {back}
    with record_function("update"):
        {move}
        {then}
    return {give}
    """


MISTAKES = (
    PlantedMistake("no autocast", step(on="False"), says="call the model under autocast"),
    PlantedMistake("loss in half", step(wide="y.dtype"), says="wide before the loss"),
    PlantedMistake(
        "weights in half",
        "\n    if dtype in HALF:\n        model.to(dtype)\n" + step(),
        says="they must stay torch.float32",
    ),
    PlantedMistake("not scaled", step(back="loss.backward()"), says="let the scaler scale"),
    PlantedMistake("a plain step", step(move="optimizer.step()"), says="let the scaler take"),
    PlantedMistake("no update of the scaler", step(then="pass"), says="factor never changes"),
    PlantedMistake("no step", step(move="pass", then="pass"), says="the loss is"),
    PlantedMistake("with the graph", step(give="loss"), says="detach it"),
    PlantedMistake("the scaled loss", step(give="scaler.scale(loss).detach()"), says="plain"),
    PlantedMistake("a number", step(give="loss.item()"), says="a tensor"),
    PlantedMistake("not marked", step(mark="model"), says="does not see: forward"),
    PlantedMistake(
        "the sum",
        step().replace(".mean()", ".sum()"),
        says="and must be",
    ),
)

ALSO_RIGHT = {
    "plain": step(),
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
