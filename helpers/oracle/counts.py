"""How often each micro-batch counts in the gradients that a rank ended up with."""

import torch

from helpers.oracle.case import Case
from helpers.oracle.compare import same
from helpers.oracle.tensors import combine, flat

MOST_PARTS = 64  # more micro-batches than this are not told apart


def micro_batch_counts(case: Case) -> torch.Tensor | None:
    """How often each micro-batch counts in each rank's gradient: (ranks, micro-batches).

    All ones is right. None where the gradients are no mixture of the micro-batches', or where
    more than one mixture gives them.
    """
    parts = [part.gradients for part in case.expected.parts]
    if not 1 < len(parts) <= MOST_PARTS or any(not r.gradients for r in case.ranks):
        return None
    gram = torch.zeros(len(parts), len(parts), dtype=torch.float64)
    products = torch.zeros(len(parts), case.n_ranks, dtype=torch.float64)
    for name in case.names:  # one after the other: all at once may not fit into memory
        like = case.expected.gradients[name]
        rows = torch.stack([flat(part[name], like) for part in parts])
        gram += rows @ rows.T
        products += rows @ torch.stack([flat(g[name], like) for g in case.gradients]).T
    sizes = gram.diagonal().sqrt().clamp_min(1e-300)
    if torch.linalg.eigvalsh(gram / sizes / sizes[:, None])[0] < 1e-5:
        return None
    right = torch.tensor(case.tokens, dtype=torch.float64) / sum(case.tokens)
    counts = []
    for rank, mixture in zip(case.ranks, torch.linalg.solve(gram, products).T, strict=True):
        if not same(combine(parts, mixture.tolist()), rank.gradients, case.tolerance):
            return None
        counts.append(mixture / right)
    return torch.stack(counts)
