"""What this machine has, which lessons will run on it, and what to install.

`doctor()` in a notebook, `python -m helpers.doctor` in a terminal. It works without torch or any
other package. The report contains no user name and no path, so it can be pasted into a question.

    lessons    what the lab needs: each lesson's ranks and memory, and the packages
    facts      what this machine has; `probe` asks torch in a process of its own
    report     what is wrong and its cure, which lessons will run, and how to print it
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "The lab needs Python 3.11 or newer and this is Python {}.{}: install a newer one, then "
        "run `python3.12 tools/install.py` (or whichever version you installed).".format(
            *sys.version_info[:2]
        )
    )

from helpers.doctor.facts import Facts, collect_facts
from helpers.doctor.report import Report, findings, status
from helpers.syllabus import LESSONS

__all__ = ["Facts", "Report", "doctor", "examine"]


def doctor() -> Report:
    """Examine this machine and return the report, in about two seconds (mostly torch's import)."""
    return examine(collect_facts())


def examine(facts: Facts) -> Report:
    """Return the report on a machine, given its facts."""
    found = tuple(findings(facts))
    return Report(facts, found, tuple(status(lesson, facts) for lesson in LESSONS))
