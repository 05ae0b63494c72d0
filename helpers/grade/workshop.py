"""The process in which the work lives: it takes jobs from the check, and gives back plain data.

    orders, in:  pickled Order, then pickled jobs (from the check, which is trusted)
    answers, out: a parcel for each (`parcel`), which the reader need not trust

First it takes on its limits; then it starts ranks, and everything that the work does happens in
this process and those below it. What it answers is what the work wants to answer, and no more: the
judgement is made elsewhere.
"""

import os
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.grade import confine
from helpers.grade.limits import Held, Limits, hold_resources
from helpers.grade.parcel import ParcelError, pack
from helpers.grade.task import load_module
from helpers.ranks.protocol import receive, send_bytes

MOST_BYTES = 1 << 28  # of one answer


@dataclass(frozen=True)
class Order:
    """What the workshop needs before the first job.

    place: a folder with the submission in `place/work`; it belongs to this check alone.
    checks: the folder of the tasks. alone: whether to ask for namespaces.
    """

    place: str
    checks: str
    limits: Limits
    alone: bool = True


@dataclass(frozen=True)
class Job:
    """One call. ranks: on how many; 0 calls it in the workshop's own process."""

    path: str
    task_path: str
    function: str
    args: tuple
    ranks: int = 0
    seconds: float = 60.0

    def run(self) -> Any:
        """Import the check's function, and the work where there are ranks, and call it."""
        check = load_module(Path(self.task_path), "lab_task")
        function = getattr(check, self.function)
        return function(load_work(Path(self.path)), *self.args)


def load_work(path: Path):
    """Import the file to grade, as `import` would do from beside it.

    Its folder comes last on the import path: a file there that is called like a part of Python,
    of torch or of this lab does not take the place of that part.
    """
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    return load_module(path, path.stem)


def main(orders: int = 0, answers: int = 1) -> None:
    """Serve one check; the numbers are file descriptors. Ends when the orders do."""
    if (orders, answers) == (0, 1):  # nothing that is printed may stand between the answers
        orders, answers = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(2, 1)
    order = receive(orders)
    held = settle(order)
    send_bytes(answers, pack({"held": held.held, "open": held.open}))
    if "torch.distributed" in sys.modules:
        from helpers.grade.forked import use_forked_ranks

        use_forked_ranks()
    while True:
        try:
            job = receive(orders)
        except EOFError:
            break
        send_bytes(answers, answer(job))
    os._exit(0)


def settle(order: Order) -> Held:
    """Take on the limits of an order; say which hold."""
    held = Held({"time": f"{order.limits.seconds:g} s", "memory": f"{order.limits.gigabytes:g} GB"})
    scratch = Path(order.place, "scratch")
    held.held["processes"] = str(order.limits.processes)
    if order.alone and confine.possible():
        try:
            held.held |= confine.enter(Path(order.place), Path(order.checks))
            own_user = True
        except OSError as error:
            print(f"namespaces: {error}", file=sys.stderr)
    if "files" not in held.held:
        own_user = False
        scratch.mkdir(exist_ok=True)
        os.chdir(scratch)
        held.open += ["files", "network", "user"]
    tempfile.tempdir = str(scratch)
    os.environ |= {"HOME": str(scratch), "TMPDIR": str(scratch), "USER": "work"}
    hold_resources(order.limits, own_user)
    return held


def answer(job: Job) -> bytes:
    """Do a job; the parcel that says how it went."""
    try:
        if job.ranks:
            return _on_ranks(job)
        check = load_module(Path(job.task_path), "lab_task")
        return pack({"results": getattr(check, job.function)(job.path, *job.args)})
    except ParcelError as error:
        return pack({"kind": "crash", "sentence": str(error), "details": ""})
    except Exception as error:
        sentence = f"the work cannot be run: {type(error).__name__}: {error}"
        return pack({"kind": "crash", "sentence": sentence, "details": traceback.format_exc()})


def _on_ranks(job: Job) -> bytes:
    from helpers.ranks import launch

    report = launch(
        lambda: ["done", job.run()],
        ranks=job.ranks,
        backend="gloo",
        timeout=job.seconds,
        on_error="report",
        quiet=True,
    )
    texts = [text[-(1 << 16) :] for text in report.texts]
    if report.failure is not None:
        return pack({**_in_our_words(report.failure), "texts": texts})
    if not all(isinstance(r, list) and len(r) == 2 and r[0] == "done" for r in report.results):
        return pack({"kind": "crash", "sentence": "a rank ended without a result", "texts": texts})
    return pack({"results": [result for _, result in report.results], "texts": texts})


def _in_our_words(failure: Any) -> dict:
    """A failure of the ranks in the words of a verdict."""
    sentence = failure.sentence
    details = "\n".join(part for part in (failure.details, failure.traceback) if part)
    found = {"kind": "crash", "sentence": sentence, "details": details}
    if failure.picture:
        found |= {"picture": failure.picture.svg(), "alt": failure.picture.alt}
    if failure.rank is None:
        lines = [line.strip() for line in failure.details.splitlines()]
        cures = [line.removeprefix("Cure: ") for line in lines if line.startswith("Cure: ")]
        return found | {"kind": "time-out", "sentence": ". ".join([sentence, *cures])}
    _, stub, message = sentence.partition("NotImplementedError: Task ")
    if stub:
        return found | {"kind": "not done", "sentence": f"not done yet: Task {message}"}
    return found


if __name__ == "__main__":
    main()
