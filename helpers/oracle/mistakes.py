"""The known mistakes: each function yields the sentences that explain all of the evidence.

To add a mistake, add its sentence to a function, or a function to `GRADIENTS`. All are tried, the
simplest first: where several explain the same facts, all are said.
"""

from collections.abc import Iterator

from helpers.oracle.compare import combine, common_factor, distance, is_zero, mean_of, same
from helpers.oracle.evidence import Evidence, copies
from helpers.oracle.symptoms import OTHERWISE, PRECONDITIONS, any_factor, span


def name_mistakes(evidence: Evidence) -> list[str]:
    """Return the sentences that explain what differs, the simplest first; [] for a right step."""
    for find in PRECONDITIONS:
        if sentence := find(evidence):
            return [sentence]
    found = list(frozen(evidence))
    if evidence.wrong:
        found += [sentence for find in GRADIENTS for sentence in find(evidence)]
    if evidence.wrong_weights:
        found += wrong_step(evidence)
    if found := found or _on_a_part(evidence):
        return found
    return next(([sentence] for find in OTHERWISE if (sentence := find(evidence))), [])


def _on_a_part(evidence: Evidence) -> list[str]:
    """The mistakes that explain the wrong gradients where all others are right on every rank."""
    names = [name for name in evidence.names if name in evidence.wrong_names]
    if not names or len(names) == len(evidence.names):
        return []
    part = evidence.only(names)
    found = [sentence for find in GRADIENTS for sentence in find(part)]
    found = found or [sentence for sentence in [any_factor(part)] if sentence]
    return [f"only in {span(evidence.names, names)}, and all else is right: {s}" for s in found]


def frozen(e: Evidence) -> Iterator[str]:
    for rank, step in enumerate(e.ranks):
        for name in (n for n, g in e.expected.gradients.items() if g is None):
            moved = 0.0
            if name in e.expected.after and step.after.get(name) is not None:
                moved = distance(e.expected.after[name], step.after[name])[0]
            gradient = not is_zero(step.gradients.get(name))
            if not moved and not gradient:
                continue
            did = f"moved by up to {moved:.3g}" if moved else "has a gradient"
            cause = (
                "a gradient was written to it: look at how the parts of a flat tensor find their "
                "way back to their parameters, and set requires_grad to False"
                if gradient
                else "leave it out of the optimizer, and out of every average of weights"
            )
            yield f"the frozen parameter {name!r} {did}{e.on(rank)}: {cause}"
            return


def sums(e: Evidence) -> Iterator[str]:
    """A sum was taken where a mean was meant."""
    ranks, micro = e.n_ranks, e.n_micro
    own = [e.own, e.own_unweighted] if e.shares else []

    def too_large(count, candidates):
        return count > 1 and (e.is_times(count) or e.everywhere(candidates()))

    if too_large(micro, lambda: (combine([g], [micro]) for g in e.over_ranks(e.own_unweighted))):
        yield (
            f"every gradient is {micro} times too large: the gradients of {micro} micro-batches "
            "were summed, not averaged; divide each micro-batch's loss by their number before "
            "backward()"
        )
    if too_large(ranks, lambda: (combine(each, [1.0] * ranks) for each in own)):
        yield (
            f"every gradient is {ranks} times too large: the gradients of {ranks} ranks were "
            "summed, not averaged; divide by world_size after the all_reduce"
        )
    parts = [part.gradients for part in e.expected.parts]
    if min(ranks, micro) > 1 and too_large(
        ranks * micro, lambda: [combine(parts, [1.0] * len(parts))]
    ):
        yield (
            f"every gradient is {ranks * micro} times too large: those of {micro} micro-batches "
            f"were summed, and those of {ranks} ranks too; divide the loss of each micro-batch by "
            f"{micro}, and the all_reduce's result by world_size"
        )
    total = sum(e.tokens)
    divisors = {1, ranks, micro, len(e.tokens)}
    if total > len(e.tokens) and e.is_times(*(total / divisor for divisor in divisors)):
        yield (
            f"every gradient is {e.times:.4g} times too large: the loss is a sum over tokens "
            f"({total} in all), not their mean; look at the reduction of the loss, or divide by "
            "the number of tokens"
        )


def divided_twice(e: Evidence) -> Iterator[str]:
    ranks, micro = e.n_ranks, e.n_micro
    found = []
    if ranks > 1 and e.is_times(1 / ranks):
        found.append(
            f"the {ranks} ranks: divide by world_size once, before the all_reduce or after it, and "
            "never where the loss is divided by the tokens of all ranks"
        )
    if micro > 1 and e.is_times(1 / micro):
        found.append(
            f"the {micro} micro-batches: divide the loss of each by their number, and the gradient "
            "no more"
        )
    if min(ranks, micro) > 1 and e.is_times(1 / ranks / micro):
        found.append(f"the {ranks} ranks and the {micro} micro-batches: divide once for each")
    if found:
        small = f"every gradient is {round(1 / e.times)} times too small"
        yield f"{small}: it was divided twice for {'; or for '.join(found)}"


def communication(e: Evidence) -> Iterator[str]:
    """The ranks' gradients were never averaged, or their weights were."""
    if not e.shares or e.n_ranks == 1:
        return
    if _weights_averaged(e):
        alike = "" if e.wrong_weights else " (as it did here)"
        yield (
            "the weights were averaged where the gradients were meant: every rank stepped with its "
            "own gradients, and then took the mean of the weights; average p.grad before "
            f"optimizer.step(). Only plain SGD gives the same weights both ways{alike}"
        )
    elif any(e.each(own) for own in e.owns):
        yield (
            "every rank still has its own gradients: the average was never taken, or never written "
            "back into p.grad (assigning to a loop variable changes no tensor; use copy_, or "
            "divide in place)"
        )
    elif factor := next((f for own in e.owns if (f := e.factor(own))), None):
        divided = abs(factor * e.n_ranks - 1) < 1e-4
        of = "divided by world_size" if divided else f"times {factor:.4g}"
        yield (
            f"every rank has its own gradients {of}: nothing was communicated, or the result of "
            "the all_reduce was never written back into p.grad"
        )


def _weights_averaged(e: Evidence) -> bool:
    own = next((own for own in e.owns if e.each(own)), None)
    if own is None or not e.knows_weights or not e.expected.make_optimizer:
        return False
    stepped = [e.expected.update(gradients) for gradients in own]
    return any(e.after_is([mean] * e.n_ranks) for mean in e.over_ranks(stepped))


def one_micro_batch(e: Evidence) -> Iterator[str]:
    if not e.shares or min(map(len, e.shares)) < 2:
        return
    inside = "zero_grad() stands inside the loop over the micro-batches; call it once, before"
    early = "the loop ends too early, or the later ones never reach backward()"
    for which, place, where in (("last", -1, inside), ("first", 0, early)):
        one = [e.parts(rank)[place] for rank in range(e.n_ranks)]
        tokens = [e.tokens_of(rank)[place] for rank in range(e.n_ranks)]
        if any(e.factor([mean] * e.n_ranks) for mean in (mean_of(one, tokens), mean_of(one))):
            yield f"only the {which} micro-batch of each rank counts: look whether {where}"
            return


def step_before(e: Evidence) -> Iterator[str]:
    if e.previous is None:
        return
    if e.everywhere([combine([e.previous, e.expected.gradients], [1.0, 1.0])]):
        yield (
            "every gradient is the sum of this step's and the step's before: zero_grad() was "
            "forgotten; call it once for each step, before the first backward()"
        )
    if e.everywhere([e.previous]):
        yield (
            "the gradients are those of the step before: a buffer is stale; wait for the message "
            "(work.wait()) and fill the buffer again before it is read"
        )


def token_counts_ignored(e: Evidence) -> Iterator[str]:
    if not e.shares:
        return
    micro = [mean_of([p.gradients for p in e.expected.parts]), *e.over_ranks(e.own_unweighted)]
    counts = [sum(e.tokens_of(rank)) for rank in range(e.n_ranks)]
    found = [("ranks", counts)] if e.everywhere(e.over_ranks(e.own)[1:]) else []
    if counts != e.tokens and e.everywhere(micro):
        found.append(("micro-batches", e.tokens))
    if not found:
        return
    alike = ", or ".join(
        f"the {what} count alike, though they have {', '.join(map(str, counts[:6]))}"
        f"{', …' if len(counts) > 6 else ''} tokens"
        for what, counts in found
    )
    yield (
        f"a mean of means: {alike}; weight each by its tokens: add up the losses of all tokens, "
        "and divide by the number of all tokens"
    )


def tied(e: Evidence) -> Iterator[str]:
    """One tensor under two names: its gradient is the sum over its uses, once."""
    wrong, ties = e.wrong_names, e.expected.ties
    for name, names in ties.items():
        right = e.expected.gradients.get(name)
        for rank, step in enumerate(e.raw):
            held = copies(e.expected, name, step.gradients)
            if right is None or len(held) < 2 or name not in wrong:
                continue
            if same({name: right}, {name: sum(held)}):
                yield (
                    f"the tied parameter {' = '.join(names)} has {len(held)} gradients{e.on(rank)} "
                    "that were never added: it is one tensor, so add the gradients of all its "
                    "copies, and give every copy the sum, before the step"
                )
                return
    if not wrong <= set(ties):
        return
    shown = " = ".join(ties[sorted(wrong)[0]])
    right = {name: e.expected.gradients[name] for name in wrong}
    factors = [common_factor(right, {n: g.get(n) for n in wrong}) for g in e.gradients]
    if all(factor is not None and abs(factor - 2) < 1e-4 for factor in factors):
        yield (
            f"the tied parameter {shown} counts twice: it is one tensor with two names, so take "
            "model.parameters(), which gives it once, or add its gradients once only"
        )
    else:
        yield (
            f"only the tied parameter {shown} is wrong: each of its uses gives a gradient, and all "
            "of them must be added, once, before the step"
        )


def layer_without_gradient(e: Evidence) -> Iterator[str]:
    wrong = e.wrong_names
    if not wrong < set(e.names):
        return
    if not all(is_zero(g.get(name)) for g in e.gradients for name in wrong):
        return
    order = [name for name in e.names if name in wrong]
    if order == e.names[: len(order)]:
        yield (
            f"the backward stops before {e.names[len(order)]!r} is passed on: {order[-1]!r} and "
            "all before it got no gradient; look whether the gradient of the activations is sent "
            "back, and for a detach() or no_grad() there"
        )
        return
    shown = ", ".join(order[:3]) + (", …" if len(order) > 3 else "")
    yield (
        f"no gradient for {shown}, and every other is right: look for a detach() or no_grad() "
        "around that layer, or for a parameter that the averaging leaves out"
    )


GRADIENTS = (
    sums,
    divided_twice,
    communication,
    one_micro_batch,
    step_before,
    token_counts_ignored,
    tied,
    layer_without_gradient,
)


def wrong_step(e: Evidence) -> Iterator[str]:
    """The optimizer took no step, or took it too early."""
    if e.after_is([rank.before for rank in e.ranks]):
        yield (
            "no weight has moved: optimizer.step() was not called, or the optimizer holds other "
            "parameters than the model"
        )
    if e.wrong or not e.shares or e.n_ranks == 1 or not e.expected.make_optimizer:
        return
    for own in e.owns:
        if e.after_is([e.expected.update(gradients) for gradients in own]):
            yield (
                "the optimizer stepped before the averaging: each rank's weights moved by its own "
                "gradients; average first, then call optimizer.step()"
            )
            return
