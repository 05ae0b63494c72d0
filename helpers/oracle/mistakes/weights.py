"""The gradients are right, and the weights after the step are not."""

from helpers.oracle.case import Case
from helpers.oracle.compare import common_factor
from helpers.oracle.tensors import combine, on_ranks


def never_stepped(case: Case) -> str | None:
    if not case.wrong_weights or not case.after_is([rank.before for rank in case.ranks]):
        return None
    return (
        "no weight has moved: optimizer.step() was not called, or the optimizer holds other "
        "parameters than the model"
    )


def stepped_first(case: Case) -> str | None:
    if case.wrong or not case.wrong_weights or not case.shares or case.n_ranks == 1:
        return None
    if not case.expected.make_optimizer:
        return None
    for own in case.owns:
        if case.after_is([case.expected.update(gradients)[0] for gradients in own]):
            return (
                "the optimizer stepped before the averaging: each rank's weights moved by its own "
                "gradients; average first, then call optimizer.step()"
            )
    return None


def moved_by_a_factor(case: Case) -> str | None:
    if case.wrong or not case.wrong_weights or not all(rank.before for rank in case.ranks):
        return None
    right = _move(case.expected)
    moves = [_move(rank) for rank in case.ranks]
    factor = common_factor(on_ranks([right] * case.n_ranks), on_ranks(moves), tolerance=1e-3)
    if not factor:
        return None
    return (
        f"the gradients are right, and every weight moved {factor:.4g} times as far as it should: "
        "look at the learning rate, and whether optimizer.step() is called once"
    )


def some_weights(case: Case) -> str | None:
    wrong = sorted({rank for rank, _ in case.wrong_weights})
    if case.wrong or not wrong or len(wrong) == case.n_ranks:
        return None
    shown = ", ".join(map(str, wrong))
    return (
        f"the gradients are right, and the weights after the step are not on rank {shown}: every "
        "rank must step, once, with the same optimizer"
    )


def _move(step) -> dict:
    names = [name for name in step.before if name in step.after]
    before = {name: step.before[name].double() for name in names}
    return combine([{n: step.after[n].double() for n in names}, before], [1.0, -1.0])
