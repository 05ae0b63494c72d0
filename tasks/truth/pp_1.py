"""PP-1: one device's loss and gradients; all rules are those of the pipelines."""

from tasks.truth import _stages


def cases(seed):
    """Two calls; the second comes without zero_grad(): its gradients add to those of the first."""
    return _stages.cases(seed, calls=((1, 3, 7), (1, 2, 5)))


def explain(case, seen):
    return _stages.mistake(case, seen)


stopped, stuck = _stages.stopped, _stages.stuck
