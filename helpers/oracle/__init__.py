"""Compare tensors with those of one device, and name the mistake that explains a difference.

    differences(expected, actual)    what differs, tensor by tensor; empty if nothing does
    common_factor(expected, actual)  c, if every tensor is c times what it should be
    explain(actual, candidates)      the first known mistake that gives exactly these tensors
    averaging_mistake(before, after) was it the mean over the ranks? If not, one sentence

All are pure: the caller computes both sides.
"""

from helpers.oracle.averaging import averaging_mistake
from helpers.oracle.compare import Difference, common_factor, differences, explain

__all__ = ["Difference", "averaging_mistake", "common_factor", "differences", "explain"]
