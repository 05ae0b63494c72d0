"""What this machine has, which lessons will run on it, and what to install.

`doctor()` in a notebook, `python -m helpers.doctor` in a terminal. Works without torch and without
any other package. The report names no person and no folder: it can be pasted into a question.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "The lab needs Python 3.11 or newer and this is Python {}.{}: install a newer one, then "
        "run `python3.12 tools/install.py` (or the version that you took).".format(
            *sys.version_info[:2]
        )
    )

from helpers.doctor.facts import Facts, gather
from helpers.doctor.judge import must, notes, optional, verdicts
from helpers.doctor.report import Report

__all__ = ["Facts", "Report", "doctor", "examine"]


def doctor() -> Report:
    """Look at this machine. Takes about two seconds, most of them for torch's import."""
    return examine(gather())


def examine(facts: Facts) -> Report:
    """The report on any machine, from its facts."""
    findings = (*must(facts), *notes(facts), *optional(facts))
    return Report(facts, findings, tuple(verdicts(facts)))
