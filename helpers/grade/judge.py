"""The process that checks one task: reads an order on stdin, writes one verdict on stdout.

    {"task": "DP-1", "place": …, "checks": …, "seed": …, "seconds": …, "gigabytes": …, "token": …}
    -> {"token": …, "kind": "pass", "sentence": "", "details": "", "picture": [], "look_at": [],
        "limits": {…}}

No line of the work ever runs here. Nothing that is printed while the check runs can be taken for
the verdict: the pipe of the verdict is kept aside first, and everything else goes to stderr. The
token is told to this process alone, after the workshop has been made.
"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

from helpers.grade.limits import Held, Limits, hold_memory
from helpers.grade.look import look_at
from helpers.grade.signs import signs_of
from helpers.grade.submission import Submission, WorkFailed
from helpers.grade.task import Mistake, Task, load_task
from helpers.grade.words import cut
from helpers.grade.workshop import Order
from helpers.grade.workshop_client import Workshop

# Characters of what a verdict says. Work chooses some of it: `raise ValueError(str(a_list))`.
MOST = {"sentence": 2_000, "details": 8_000}
MOST_PICTURE = 40_000
LEAST_GIGABYTES = 2.0  # for this process: it computes what all ranks together should have


def main() -> None:
    """Serve one order. Called in a process of its own."""
    workshop = Workshop()  # may be a copy of this process: so before anything is known
    answer = os.dup(1)  # not inherited by any process that the check starts
    with open(0, "rb", closefd=False) as pipe:
        order = json.load(pipe)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    # What the work returns decides how much memory it takes to look at it.
    hold_memory(max(LEAST_GIGABYTES, order["gigabytes"]))
    verdict = judge(order, workshop)
    sys.stdout.flush()
    with open(answer, "wb") as pipe:
        pipe.write(json.dumps({"token": order["token"], **verdict}).encode())


def judge(order: dict, workshop: Workshop) -> dict:
    """Kind of the verdict, its sentence, details, a picture, what to look at, and the limits."""
    found = {"kind": "pass", "sentence": "", "details": "", "picture": [], "look_at": []}
    held, task = Held(), None
    try:
        checks = Path(order["checks"])
        task_file = load_task(order["task"], checks)
        task = task_file.task
        path_of_work = Path(order["place"], "work")
        path = path_of_work / task.file
        found["look_at"] = [cut(sign, 200) for sign in signs_of(path_of_work, task.file)]
        look_at(path, task)
        limits = Limits(order["seconds"], order["gigabytes"])
        wanted = Order(order["place"], str(checks), limits)
        try:
            held = workshop.open(wanted)
        except WorkFailed:  # this system does not let it have a world of its own
            workshop.close()
            workshop = Workshop(fork=False)
            held = workshop.open(Order(order["place"], str(checks), limits, alone=False))
        deadline = time.monotonic() + limits.seconds
        submission = Submission(task, path, task_file.path, order["seed"], deadline, workshop)
        found["sentence"] = str(task_file.verify(submission) or "")
    except Mistake as mistake:
        found |= {"kind": "mistake", "sentence": str(mistake)}
    except WorkFailed as failed:
        found |= {"kind": failed.kind, "sentence": failed.sentence, "details": failed.details}
        found["picture"] = list(failed.picture)
    except BaseException as error:
        found |= _not_judged(error, task, workshop.answered)
    finally:
        workshop.close()
    found |= {name: cut(found[name], most) for name, most in MOST.items()}
    if found["picture"] and len(found["picture"][0]) > MOST_PICTURE:
        found["picture"] = []
    found["picture"] = [*found["picture"][:1], *(cut(alt, 2_000) for alt in found["picture"][1:])]
    return found | {"limits": {"held": held.held, "open": held.open}}


def _not_judged(error: BaseException, task: Task | None, answered: bool) -> dict:
    """The verdict where the check raised an error that is no Mistake.

    answered: the work had given results back. They come from where the work can change every
    function, those of the check too; so a check may meet anything there.
    """
    told, details = f"{type(error).__name__}: {error}", traceback.format_exc()
    if answered and isinstance(error, MemoryError):
        sentence = "to judge what the work returned takes more memory than a check may use"
        return {"kind": "limit", "sentence": sentence, "details": details}
    if answered and isinstance(error, Exception) and not isinstance(error, OSError | ImportError):
        sentence = (
            f"the work returned something that the check can't read ({told}): return what the "
            f"docstring of {task.listed('{}')} says, and leave the functions of the check alone"
        )
        return {"kind": "crash", "sentence": sentence, "details": details}
    sentence = f"the check itself failed, which is not your mistake: {told}"
    return {"kind": "check", "sentence": sentence, "details": details}


if __name__ == "__main__":
    main()
