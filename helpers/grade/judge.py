"""The process that checks one task: reads an order on stdin, writes one verdict on stdout.

    {"task": "DP-1", "path": …, "folder": …, "seed": …, "seconds": …, "token": …}
    -> {"token": …, "kind": "pass", "sentence": "", "details": ""}

Nothing that is printed while the check runs can be taken for the verdict: the pipe of the verdict
is kept aside first, and everything else goes to stderr. The token is told to this process alone.
"""

import json
import os
import sys
import time
import traceback
from pathlib import Path

from helpers.grade.look import look_at
from helpers.grade.submission import Submission, WorkFailed
from helpers.grade.task import Mistake, load_task


def main() -> None:
    """Serve one order. Called by `helpers.grade.run` in a fresh interpreter."""
    answer = os.dup(1)  # not inherited by any process that the check starts
    order = json.load(sys.stdin)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    kind, sentence, details = judge(order)
    sys.stdout.flush()
    verdict = {"token": order["token"], "kind": kind, "sentence": sentence, "details": details}
    with open(answer, "wb") as pipe:
        pipe.write(json.dumps(verdict).encode())


def judge(order: dict) -> tuple[str, str, str]:
    """Kind of the verdict, its sentence, and details."""
    path = Path(order["path"])
    try:
        found = load_task(order["task"], Path(order["folder"]))
        look_at(path, found.task)
        deadline = time.monotonic() + order["seconds"]
        note = found.verify(Submission(found.task, path, found.path, order["seed"], deadline))
    except Mistake as mistake:
        return "mistake", str(mistake), ""
    except WorkFailed as failed:
        return failed.kind, failed.sentence, failed.details
    except BaseException as error:
        sentence = (
            f"the check itself failed, which is not your mistake: {type(error).__name__}: {error}"
        )
        return "check", sentence, traceback.format_exc()
    return "pass", str(note or ""), ""


if __name__ == "__main__":
    main()
