"""The process in which the work of one submission runs: it takes jobs, and gives back plain data.

    orders, in:   a payload for each job, from the judge
    answers, out: payloads, which the reader need not trust

It has imported torch, and no line of any work: for each job it is forked, and the copy takes on its
limits, imports the work, runs it on ranks, and ends with all that it has started. What is answered
is what the work wants to answer, and no more: the judgement is made elsewhere.
"""

import contextlib
import gc
import importlib
import os
import shutil
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from helpers.draw import who_waits
from helpers.grade.limits import Limits, hold_resources
from helpers.grade.look import look_at
from helpers.grade.payload import PayloadError, pack, unpack
from helpers.grade.pipes import receive_bytes, send_bytes
from helpers.grade.processes import adopt, end_below
from helpers.grade.sandbox import become_nobody
from helpers.grade.task import ROOT, Task, WorkFailed, load_module, read_task

LIBRARIES = ("numpy", "torch.distributed", "psutil", "cloudpickle", "helpers.hang.monitor")
LIBRARIES += ("helpers.hang.checked",)
LIBRARIES += ("helpers.ranks.start", "helpers.ranks.worker", "helpers.oracle")
# What work imports from the lab: imported here once, and not by each rank of each check.
LIBRARIES += ("helpers.grid", "helpers.parallel", "helpers.pipeline", "helpers.ranks.script")
LIBRARIES += ("helpers.trace", "simplellm.dataloaders", "simplellm.llama", "simplellm.models")
CAN_FORK = hasattr(os, "fork") and sys.platform == "linux"


@dataclass(frozen=True)
class Job:
    """Run the work on cases.

    number: of this job in its workshop. task: the file with the task's facts and `observe`.
    tasks: the folder that it is from, which the work must not read.
    work: the folder that holds the copied work.
    lab: a folder with copies of labs, from which is imported first, or "".
    """

    number: int
    task: str
    tasks: str
    work: str
    lab: str
    cases: list
    seconds: float
    gigabytes: float


def serve(orders: int, answers: int, confined: bool) -> None:
    """Take jobs until there are no more. The numbers are file descriptors."""
    other_user = confined and become_nobody()
    gc.disable()  # nothing that is imported goes away: looking for it takes a tenth of the time
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # what is there now stays shared between all copies
    gc.enable()
    adopt()
    user = f"{'another' if other_user else 'the same'}, without rights" if confined else ""
    send_bytes(answers, pack({"user": user}))
    while True:
        try:
            job = Job(**unpack(receive_bytes(orders)))
        except EOFError:
            break
        for name in read_task(Path(job.task)).task.libraries:
            importlib.import_module(name)
        status = 0
        if CAN_FORK:
            scratch = tempfile.mkdtemp(prefix="scratch-")
            child = os.fork()
            if child == 0:
                os.close(orders)
                _work(job, answers, scratch, other_user)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            _end_the_rest(confined)
            with contextlib.suppress(RecursionError):  # folders in folders, thousands of them
                shutil.rmtree(scratch, ignore_errors=True)
        else:
            send_bytes(answers, answer(job))
        send_bytes(answers, pack({"ended": job.number, "status": status}))
        if not CAN_FORK:
            break
    os._exit(0)


def _work(job: Job, answers: int, scratch: str, own_user: bool) -> None:
    """In the copy: take on the limits, do the job, answer, and end."""
    try:
        os.setsid()
        os.chdir(scratch)
        tempfile.tempdir = scratch
        os.environ |= {"HOME": scratch, "TMPDIR": scratch, "USER": "work"}
        limits = Limits(job.seconds, job.gigabytes)
        hold_resources(limits, own_user)
        send_bytes(answers, answer(job))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def _end_the_rest(confined: bool) -> None:
    """End what a job has left running: nothing of it may meet the next one."""
    if confined:
        try:
            os.kill(-1, signal.SIGKILL)  # all that this process can see, except itself
        except ProcessLookupError:
            pass
    else:
        end_below(os.getpid(), itself=False)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def answer(job: Job) -> bytes:
    """Do a job; the payload that says how it went."""
    try:
        found = read_task(Path(job.task))
        look_at(Path(job.work, found.task.file), found.task)
        return _run(job, found.task, found.path)
    except WorkFailed as failed:
        return pack({"kind": failed.kind, "sentence": failed.sentence})
    except PayloadError as error:
        return pack({"kind": "crash", "sentence": str(error)})
    except Exception as error:
        sentence = f"the work cannot be run: {type(error).__name__}: {error}"
        return pack({"kind": "crash", "sentence": sentence, "details": traceback.format_exc()})


def _run(job: Job, task: Task, path: Path) -> bytes:
    from helpers.ranks import launch
    from helpers.ranks.pool import fork_from_here

    if CAN_FORK:
        fork_from_here()
    report = launch(
        observe,
        ranks=max(1, task.ranks),
        args=(str(path), job.tasks, [str(Path(job.work, task.file))], job.lab, job.cases),
        backend="gloo",
        timeout=job.seconds,
        on_error="report",
        quiet=True,
    )
    texts = [text[-(1 << 16) :] for text in report.texts]
    if report.failure is not None:
        return pack({**_in_our_words(report.failure), "texts": texts})
    if not all(isinstance(r, list) and len(r) == len(job.cases) for r in report.results):
        return pack({"kind": "crash", "sentence": "a rank ended without a result", "texts": texts})
    results = [list(r) if task.ranks else r[0] for r in zip(*report.results, strict=True)]
    return pack({"results": results, "texts": texts})


def observe(
    task_path: str, tasks: str, files: list[str], lab: str, cases: list, folder: str = "."
) -> list[Any]:
    """On a rank: import the task and each work; what `observe` of the task returns for each case,
    for one file after the other. folder: where it runs."""
    os.chdir(folder)
    _hide_tasks(str(ROOT / "tasks"), tasks)
    if lab:
        sys.path[:0] = map(str, Path(lab).iterdir())  # labs with names of their own: gpt2
    task = load_module(Path(task_path), "lab_task")
    modules = map(load_work, map(Path, files))
    return [task.observe(module, case) for module in modules for case in cases]


def _hide_tasks(*folders: str) -> None:
    """Refuse to open or import the tasks in these folders, where no sandbox hides them.

    What several of them share lies beside them, and has a name that begins with `_`.
    """
    inside = tuple(folder + os.sep for folder in folders)
    beside = {*folders, *(os.path.join(folder, "__pycache__") for folder in folders)}

    def refuse(event: str, args: tuple) -> None:
        if event == "open" and not isinstance(args[0], int):
            place, name = os.path.split(os.path.abspath(os.fsdecode(args[0])))
            shared = place in beside and name.startswith("_")
            hidden = not shared and f"{place}{os.sep}".startswith(inside)
        else:
            name = str(args[0]) if event == "import" else ""
            hidden = name.startswith("tasks.") and not name.startswith("tasks._")
        if hidden:
            raise PermissionError("what the tasks expect is for the judge alone")

    sys.addaudithook(refuse)


def load_work(path: Path) -> ModuleType:
    """Import the file to grade, as `import` would do from beside it.

    Its folder comes last on the import path: a file there that is called like a part of Python,
    of torch or of this lab does not take the place of that part.
    """
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    return load_module(path, path.stem)


def _in_our_words(failure: Any) -> dict:
    """A failure of the ranks in the words of a verdict."""
    sentence = failure.sentence
    details = "\n".join(part for part in (failure.details, failure.traceback) if part)
    found = {"kind": "crash", "sentence": sentence, "details": details, "waits": failure.waiting}
    if failure.waits:
        picture = who_waits(failure.waits)
        found |= {"picture": picture.svg(), "alt": picture.alt}
    found["misfit"] = failure.misfit
    if failure.rank is None:
        text = ". ".join(filter(None, (sentence, failure.cure)))
        return found | {"kind": "time-out", "sentence": text}
    if failure.error == "NotImplementedError" and failure.text.startswith("Task "):
        return found | {"kind": "not done", "sentence": f"not done yet: {failure.text}"}
    return found


def main() -> None:
    """Serve on stdin and stdout; whatever is printed goes to stderr."""
    orders, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    serve(orders, answers, "--confined" in sys.argv)


if __name__ == "__main__":
    main()
