"""The judgement of one task. No line of any work ever runs in this process."""

import secrets
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from helpers.grade.copy import CopyError
from helpers.grade.limits import Limits
from helpers.grade.reference import Lab, Reference
from helpers.grade.submission import Submission
from helpers.grade.task import ROOT, TaskError, TaskFile, WorkFailed, load_whole
from helpers.grade.verdict import Verdict
from helpers.grade.verify import verify
from helpers.grade.words import cut
from helpers.grade.workshop import LIBRARIES
from helpers.ranks import keep_warm

# Characters of what a verdict says. Work chooses some of it: `raise ValueError(str(a_list))`.
MOST_SENTENCE, MOST_DETAILS, MOST_PICTURE = 2_000, 8_000, 40_000
# One task at a time: it may set torch's default type, which all threads of a process share.
JUDGING = threading.Lock()
SEEDS = 1 << 31  # a seed is folded into so many: torch and NumPy take no larger ones, nor below 0


@cache
def the_lab(tasks: Path = ROOT / "tasks") -> Lab:
    """Where references and mutants run, once for this process."""
    return Lab(tasks)


def prepare(libraries: Iterable[str] = ()) -> None:
    """Let the process begin that the references' ranks are forked from.

    libraries: of the tasks that will be asked for.
    """
    keep_warm(1, [*LIBRARIES, *libraries])


@dataclass(frozen=True)
class Drawn:
    """A task's whole module, cases drawn for it, and what work is compared with, if anything."""

    side: ModuleType
    cases: list
    reference: Reference | None


def drawn(found: TaskFile, seed: int) -> Drawn:
    """Draw cases from a seed, and let the reference begin with them."""
    side = load_whole(found)
    cases = list(side.cases(seed))
    if not hasattr(side, "MUTANTS"):
        return Drawn(side, cases, None)
    return Drawn(side, cases, Reference(the_lab(found.path.parent), found, side, cases))


def judge(
    found: TaskFile,
    submission: Submission,
    seed: int | None = None,
    seconds: float | None = None,
    gigabytes: float = Limits.gigabytes,
    drawn: Callable[[TaskFile, int], Drawn] = drawn,
) -> Verdict:
    """The verdict on one task of a submission: everything that the work does wrong is one.

    Args:
        seed: what the cases are drawn from, any whole number; by default drawn anew.
        seconds, gigabytes: the limits; by default the task's own time.
        drawn: for many submissions, one that draws the cases of a seed once.
    """
    limits = Limits(found.task.seconds if seconds is None else seconds, gigabytes)
    seed = secrets.randbelow(SEEDS) if seed is None else seed % SEEDS
    begun, facts = time.monotonic(), {}
    side = None
    try:
        with JUDGING:
            asked = drawn(found, seed)
        side = asked.side
        seen = submission.observe(found, asked.cases, limits)
        facts = {"printed": seen.printed}
        facts |= _compared(found, asked, seen.observations)
    except CopyError as error:
        facts = {"kind": "no file", "reason": str(error)}
    except WorkFailed as failed:
        facts = _of_failed(failed, side)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        facts = {
            "kind": "check",
            "reason": f"the check itself failed, which is not your mistake: {what}",
            "details": traceback.format_exc(),
        }
    facts |= {"reason": cut(facts["reason"], MOST_SENTENCE)}
    facts |= {"details": cut(facts.get("details", ""), MOST_DETAILS)}
    spent = time.monotonic() - begun
    return Verdict(found.task, seconds=spent, limits=submission.held(limits), **facts)


def _compared(found: TaskFile, asked: Drawn, seen: list) -> dict:
    """Kind, reason and score, from what was observed.

    These come from a process in which the work can change every function, the task's own too, so
    anything may be among them.
    """
    try:
        with JUDGING:
            reason = verify(asked.side, asked.cases, seen, found.task.ranks, asked.reference)
        if reason is None:
            scored = hasattr(asked.side, "passed")
            score = asked.side.passed(asked.cases, seen) if scored else None
            return {"kind": "pass", "reason": score.words if score else "", "score": score}
        return {"kind": "mistake", "reason": reason}
    except TaskError:
        raise
    except MemoryError:
        sentence = "judging what the work returned takes more memory than a check may use"
        return {"kind": "limit", "reason": sentence, "details": traceback.format_exc()}
    except Exception as error:
        sentence = (
            f"the work returned something that the check can't read ({type(error).__name__}: "
            f"{error}): return what the docstring of {found.task.listed('{}')} says, and leave the "
            "functions of the check alone"
        )
        return {"kind": "crash", "reason": sentence, "details": traceback.format_exc()}


def _of_failed(failed: WorkFailed, side) -> dict:
    sentence = failed.sentence
    if failed.kind in ("crash", "time-out") and hasattr(side, "stopped"):
        sentence = side.stopped(sentence) or sentence
    if failed.waits and hasattr(side, "stuck"):
        sentence = side.stuck(failed.waits) or sentence
    sentence = getattr(side, "MISFITS", {}).get(failed.misfit, sentence)
    picture = tuple(cut(text, 2_000) if n else text for n, text in enumerate(failed.picture))
    return {
        "kind": failed.kind,
        "reason": sentence,
        "details": failed.details,
        "printed": failed.printed,
        "picture": picture if picture and len(picture[0]) <= MOST_PICTURE else (),
    }
