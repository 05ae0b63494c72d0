"""What a lesson says about its own measurements, held when the lesson is built."""

import os


def in_a_hurry() -> bool:
    """Return whether this run only walks through the lesson, with few steps (LAB_QUICK=1)."""
    return os.environ.get("LAB_QUICK") == "1"


def quick(full: int, few: int) -> int:
    """Return `full`, or `few` for a quick run."""
    return few if in_a_hurry() else full


def claim(holds: bool, sentence: str) -> None:
    """Print a sentence about what was measured; a lesson whose sentence isn't true isn't built.

    Raises:
        AssertionError: if it doesn't hold, except in a quick run, whose few steps prove nothing.
    """
    if not holds and not in_a_hurry():
        raise AssertionError(f"this lesson claims what was not measured: {sentence}")
    print(sentence)
