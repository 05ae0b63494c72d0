"""How many examples hypothesis draws for a test, and which.

The same ones each time, so that nobody's change fails for what somebody else overlooked. Once a
week LAB_SEED=… draws others, twenty times as many; the same number draws them again.

An example that fails is made small, which takes up to five silent minutes: not in CI, where it
would look like a hang. Run the test at home, it fails there by the same example.
"""

import os

from hypothesis import Phase, seed, settings

SEED = os.environ.get("LAB_SEED")
CI = os.environ.get("CI", "") not in ("", "0", "false")
PHASES = [phase for phase in Phase if not (CI and phase in (Phase.shrink, Phase.explain))]


def examples(number):
    """Return a decorator: so many examples of each push, or twenty times as many of LAB_SEED."""
    how = {"deadline": None, "database": None, "phases": PHASES, "print_blob": True}
    if SEED is None:
        return settings(max_examples=number, derandomize=True, **how)
    return lambda test: seed(int(SEED))(settings(max_examples=20 * number, **how)(test))
