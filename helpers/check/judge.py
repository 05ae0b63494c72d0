"""`check`: run a student's work beside the solution, and name the mistake."""

import ast
import random
import re
import secrets
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import torch

from helpers.check.compare import same, where
from helpers.check.marks import TaskError, completed, mutated
from helpers.check.notebook import holds_solution, take_anew, text_of
from helpers.check.progress import note_check
from helpers.check.ranks import WORK, launched
from helpers.check.task import Task, lab, load_task, solution_text, solved
from helpers.check.verdict import Verdict
from helpers.draw.themed import static
from helpers.words import LONGEST, shorten

RIGHT = "the solution"


def check(
    task_id: str, hint: int = 0, root: Path | None = None, seed: int | None = None
) -> Verdict:
    """Check one task; in a notebook the verdict shows itself. Wrong work raises nothing, a task or
    a hint that doesn't exist a ValueError.

    Args:
        hint: which hint to show if it failed: 1 is a nudge, the last nearly the answer, 0 none.
        root: whose work; this lab's by default, and then what passed is remembered.
        seed: what the inputs are drawn from; drawn anew unless told.
    """
    task, begun = load_task(task_id), time.monotonic()
    if hint not in range(len(task.hints) + 1):
        there = f"a number from 1 to {len(task.hints)}" if task.hints else f"0: see {task.page}"
        raise ValueError(f"hint must be {there}, not {hint!r}")
    folder = lab() if root is None else root.resolve()
    drawn_before = random.getstate()
    try:
        with torch.random.fork_rng(devices=()):  # a lesson goes on as if nothing had been drawn
            facts = not_begun(task, folder) or judged(task, folder, seed)
    except Exception as error:
        what = f"the check itself failed, which isn't your mistake: {type(error).__name__}: {error}"
        facts = {"kind": "check", "reason": what, "details": traceback.format_exc()}
    random.setstate(drawn_before)
    facts["reason"] = shorten(facts["reason"], LONGEST)  # the work may `raise ValueError(a_list)`
    verdict = Verdict(task, **facts, seconds=time.monotonic() - begun, hint=hint)
    if root is None and verdict.passed:
        take_anew(task)
        if holds_solution(task, text_of(task)):  # which is nobody's try
            return verdict if static() else replace(verdict, counted=False)
    if root is None:
        note_check(task.id, verdict.kind)
    return verdict


def not_begun(task: Task, root: Path) -> dict | None:
    """Return the facts of a verdict on work that can't run, or whose stub still stands."""
    try:
        source = (root / task.file).read_bytes()
        ast.parse(source)
    except OSError as error:
        why = "" if isinstance(error, FileNotFoundError) else f" that can be read: {error.strerror}"
        return {"kind": "no file", "reason": f"there is no file {task.file} in {root}{why}"}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if getattr(error, "lineno", None) else ""
        what = getattr(error, "msg", None) or error
        return {"kind": "crash", "reason": f"{task.file}{line}: {type(error).__name__}: {what}"}
    text = source.decode(errors="replace")
    for name in task.functions:
        if name.rpartition(".")[2] not in text:
            what = f"{task.file} has no function {name}: keep its name, and write inside it"
            return {"kind": "crash", "reason": what}
    raises = rf"^[ \t]*raise NotImplementedError\(\s*[\"']Task {task.id}: "
    if stub := re.search(raises, text, re.MULTILINE):
        line = text.count("\n", 0, stub.start()) + 1
        return {"kind": "to do", "reason": f"Write {task.calls} in {task.file}, line {line}."}
    return None


def drawn(task: Task, seed: int) -> list:
    random.seed(seed)
    torch.manual_seed(seed)
    return list(task.side.cases())


def judged(task: Task, root: Path, seed: int | None, launched: Callable = launched) -> dict:
    side, text, ours = task.side, solution_text(task), str(solved())
    cases = drawn(task, secrets.randbelow(1 << 31) if seed is None else seed)
    mutants = {says: change for change, says in getattr(side, "MUTANTS", {}).items()}
    works = {RIGHT: (ours, text)} if mutants else {}
    seen, report = launched(task, works | {WORK: (str(root), None)}, cases)
    if report.failure:
        return failed(task, report)

    def of_mutants(count: int, sentences: Iterable[str] = mutants) -> dict[str, list]:
        """What mistakes lead to in the first cases."""
        works = {one: (ours, mutated(text, task.id, mutants[one])) for one in sentences}
        found, report = launched(task, works, cases[:count])
        if report and report.failure:
            raise TaskError(f"a mutant of {task.id} doesn't run: {report.failure}")
        return found

    facts = {"kind": "mistake", "printed": "".join(report.texts)}
    if reason := reason_of(task, cases, seen[WORK], seen.get(RIGHT), of_mutants):
        return facts | {"reason": reason}
    score = side.passed(cases, seen[WORK]) if hasattr(side, "passed") else None
    facts |= {"kind": "pass", "score": score, "reason": score.words if score else ""}
    return facts | {"code": completed(text, task.id)}


def reason_of(
    task: Task, cases: list, work: list, right: list | None, of_mutants: Callable
) -> str | None:
    """Return what is wrong with the observations, in one sentence; None if they're right."""
    side, tolerance = task.side, getattr(task.side, "TOLERANCE", None)
    explain = getattr(side, "explain", lambda case, seen: None)
    if right is None:
        found = ((case, explain(case, seen)) for case, seen in zip(cases, work, strict=True))
        case, sentence = next(((case, said) for case, said in found if said), (None, None))
    else:
        wrong = [n for n, one in enumerate(work) if not same(right[n], one, tolerance)]
        if not wrong:
            return None
        case, seen = cases[wrong[0]], work[wrong[0]]
        place = where(right[wrong[0]], seen, task.ranks, tolerance)
        mistake = known_mistake(of_mutants, work, wrong, tolerance)
        sentence = f"{mistake} ({place})" if mistake else explain(case, seen) or place
    # A few words on the case stand before the sentence, or nothing.
    before = ""
    if isinstance(case, dict):
        before = getattr(side, "NAME", case.get("name", "")).format_map(case)
    elif isinstance(case, list | tuple):
        before = getattr(side, "NAME", "").format(*case)
    return f"{before}: {sentence}" if sentence and before else sentence


def known_mistake(
    of_mutants: Callable, work: list, wrong: list[int], tolerance: float | None
) -> str | None:
    """Return the mistake that explains the first wrong case, and the most of the others."""
    first, last = wrong[0], wrong[-1]
    found = of_mutants(first + 1)
    fit = [says for says, seen in found.items() if same(seen[first], work[first], tolerance)]
    if len(fit) > 1 and last > first:
        found = of_mutants(last + 1, fit)
        return max(fit, key=lambda s: sum(same(found[s][n], work[n], tolerance) for n in wrong))
    return fit[0] if fit else None


def failed(task: Task, report) -> dict:
    side, failure = task.side, report.failure
    sentence = failure.sentence
    if failure.error == "NotImplementedError" and failure.text.startswith("Task "):
        return {"kind": "to do", "reason": f"not done yet: {failure.text}"}
    if failure.rank is None:
        sentence = ". ".join(filter(None, (sentence, failure.cure)))
    if failure.waiting and hasattr(side, "stuck"):
        sentence = side.stuck(failure.waiting) or sentence
    for words, says in getattr(side, "STOPPED", {}).items():
        if re.search(words, sentence):
            sentence = f"{says} ({sentence})"
    facts = {"kind": "crash", "reason": sentence, "waits": failure.waits}
    details = "\n".join(filter(None, (failure.details, failure.traceback)))
    return facts | {"details": details, "printed": "".join(report.texts)}
