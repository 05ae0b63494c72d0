"""GP-2: the truth and the mistakes of DP-1, whose function has one parameter more."""

from tasks.truth.dp_1 import MISTAKES, cases, explain, stopped, truth

__all__ = ["MISTAKES", "cases", "explain", "stopped", "truth"]
