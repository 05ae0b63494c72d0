"""Keep the experts equally busy: a term of the loss, or a bias that follows the counts."""

import torch


def balance_loss(probabilities, counts):
    """Return E * (sum over experts of share * mean probability), a scalar; 1 if all is even.

    probabilities: (N, E), the router's softmax. counts: (E,), how many choices fell on each expert;
    its share is that of all choices. Only the probabilities carry a gradient, because a count has
    none. Fedus et al. 2021, arXiv 2101.03961, section 2.2.

    It balances the tokens that it is given. The mean of the ranks' terms isn't the term of their
    joint batch: it asks each rank's few tokens to be even, which is a stronger demand. With the
    counts added up over the ranks, the share is that of the global batch (Qiu et al. 2025, arXiv
    2501.11873, of Qwen).
    """
    # BEGIN SOLUTION EP-3
    share = counts / counts.sum()
    return len(counts) * (share.to(probabilities.dtype) * probabilities.mean(0)).sum()
    # END SOLUTION


def adjust_bias(bias, counts, rate):
    """Move the bias of each expert by `rate`, in place: down if it had more than the mean, else up.

    One that had exactly the mean stays. counts: (E,), the choices of the whole batch; with several
    ranks the sum over all of them, or their copies of the bias would drift apart. Wang et al. 2024,
    arXiv 2408.15664.
    """
    # BEGIN SOLUTION EP-3
    counts = counts.to(bias.dtype)
    bias += rate * torch.sign(counts.mean() - counts)
    # END SOLUTION
