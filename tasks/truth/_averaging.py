"""The mean over the ranks, and the ways to miss it: for every task that averages something.

A way is a function new(rank, name, tensors of all ranks) -> the tensor that this rank then has.
"""

from helpers.grade.verify import same


def mean(rank, name, tensors):
    """As one device computes it."""
    return (sum(t.double() for t in tensors) / len(tensors)).to(tensors[0].dtype)


def why(own, seen, place):
    """What the facts say where no known way explains them; None where they say nothing.

    own, seen: for each rank {name: tensor or None}, before and after.
    """
    names, ranks = list(own[0]), range(len(own))
    none = [name for name in names if own[0][name] is None]
    taken = [name for name in none if any(seen[r].get(name) is not None for r in ranks)]
    if taken:
        return (
            f"the parameter {taken[0]!r} takes no part, and its {place} isn't None any more: look "
            "at how the parts of the flat tensor find their way back to their parameters"
        )
    rest = [name for name in names if name not in none]
    lost = [(r, name) for name in rest for r in ranks if seen[r].get(name) is None]
    if lost:
        return (
            f"{lost[0][1]} on rank {lost[0][0]} is None, or is not there at all: after the call, "
            f"{place} must be a tensor like the one before it, with the mean in it"
        )
    right = {n: mean(0, n, [own[r][n] for r in ranks]) for n in rest}
    good = [r for r in ranks if all(same(right[n], seen[r][n]) for n in rest)]
    if good:
        who = f"rank {good[0]} has" if len(good) == 1 else f"ranks {', '.join(map(str, good))} have"
        return (
            f"only {who} the mean, and every rank needs it: take all_reduce, not reduce, and let "
            "every rank do the same"
        )
    done = [n for n in rest if all(same(right[n], seen[r][n]) for r in ranks)]
    if done and all(same(own[r][n], seen[r][n]) for n in rest if n not in done for r in ranks):
        return _only(done, names, none, place)
    if all(same(right[n], seen[r][n], 1e-5) for n in rest for r in ranks):
        return f"float64 comes back with float32's accuracy: keep the dtype of {place}"
    return None


def _only(done, names, none, place):
    if done == names[:1]:
        return (
            "only the first parameter was averaged, the others were left as they were: look for a "
            "return or a break inside the loop"
        )
    if none and done == names[: names.index(none[0])]:
        return (
            f"the averaging stops at the first parameter whose {place} is None, and those after it "
            "were left as they were: go on with the next one (continue, not break or return)"
        )
    return f"only {', '.join(done)} were averaged, the other parameters were left as they were"
