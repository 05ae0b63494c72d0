"""Right and wrong programs of every task, as a student's file holds them: is each told as it was?

    python tests/frozen/run_programs.py              every task
    python tests/frozen/run_programs.py DP-1 PZ      a task, or a lab
    python tests/frozen/run_programs.py --accept DP-1

programs/LAB.json holds them: `bodies` is the text in each place of the task's solution, `reason`
what the student read, `mistake` the part of it that names the mistake. A program keeps its
sentence (up to measured numbers), or the mistake, or differs. Two that were told by different
sentences must keep different ones: those that no longer do are merged.

--accept writes down that the new sentences, once read, name the same mistakes.
"""

import argparse
import itertools
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
PROGRAMS = Path(__file__).with_name("programs")
SEED = 23
LABS = "CP DP DP_PP EP PP TP forensics gpt2 jobs primer puzzles".split()


# What this file knows of the check: point `Check` elsewhere when the check moves.
class Check:
    """Checks one task's file, again and again, in a copy of the labs."""

    def __init__(self, task_id: str, root: Path):
        from helpers.check import judge, task

        self._task, self._judge, self._root = task.load_task(task_id), judge, root
        self._known: dict[str, list] = {}  # its mutants run once for all programs

    def _launched(self, task, works, cases):
        from helpers.check.ranks import WORK

        if WORK in works:
            self._cases = cases
            return self._judge.launched(task, works, cases)
        new = {name: work for name, work in works.items() if name not in self._known}
        if new:
            seen, report = self._judge.launched(task, new, self._cases)
            if report.failure:
                return seen, report
            self._known |= seen
        return {name: self._known[name][: len(cases)] for name in works}, None

    def __call__(self) -> tuple[bool, str]:
        """Whether the work passes, and the sentence that its student reads."""
        task, judge = self._task, self._judge
        facts = judge.not_begun(task, self._root)
        facts = facts or judge.judged(task, self._root, SEED, self._launched)
        return facts["kind"] == "pass", facts["reason"]

    def close(self) -> None:
        pass


def regions(text: str, task_id: str) -> list[tuple[int, int, str]]:
    """Of each place of a task's solution: its first line, the one behind it, and the indent."""
    found, begun = [], None
    for number, line in enumerate(text.split("\n")):
        if match := re.fullmatch(r"(\s*)# BEGIN SOLUTION (\S+)\s*", line):
            begun = (number + 1, match[2], match[1])
        elif re.fullmatch(r"\s*# END SOLUTION\s*", line) and begun:
            if begun[1] == task_id:
                found.append((begun[0], number, begun[2]))
            begun = None
    return found


def written(text: str, task_id: str, bodies: list[str]) -> str:
    """The text of a script with other bodies in the place of a task's solution; the marks stay."""
    lines = text.split("\n")
    places = regions(text, task_id)
    for (first, behind, indent), body in zip(reversed(places), reversed(bodies), strict=True):
        lines[first:behind] = [(indent + line).rstrip() for line in body.split("\n")]
    return "\n".join(lines)


def core(sentence: str) -> str:
    """A sentence without where two observations differ, which stands last in parentheses, and
    without numbers of lines and measured ones."""
    if sentence.endswith(")"):
        depth, at = 1, len(sentence) - 1
        while depth and at:
            at -= 1
            depth += {")": 1, "(": -1}.get(sentence[at], 0)
        sentence = sentence[:at].rstrip() or sentence
    return re.sub(r"(?<=line )\d+|\d+\.\d+(e[+-]?\d+)?", "#", sentence)


def copy_of_labs(to: Path) -> None:
    """Everything that stands beside a task's file, with solutions."""
    for name in LABS:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))


def checked(task_id: str, file: str, bodies: list[list[str]]):
    """Yield the verdict on each program of a task."""
    with tempfile.TemporaryDirectory(prefix="frozen-") as place:
        copy_of_labs(Path(place))
        path = Path(place, file)
        solution = path.read_text(encoding="utf-8")
        check = Check(task_id, Path(place))
        try:
            for work in bodies:
                path.write_text(written(solution, task_id, work), encoding="utf-8")
                yield check()
        finally:
            check.close()


def path_of(task_id: str) -> Path:
    lab = task_id.rpartition("-")[0].lower().replace("-", "_")
    return PROGRAMS / f"{lab}.json"


def load(task_id: str) -> dict:
    path = path_of(task_id)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save(task_id: str, facts: dict) -> None:
    PROGRAMS.mkdir(exist_ok=True)
    tasks = load(task_id) | {task_id: facts}
    text = json.dumps(dict(sorted(tasks.items())), indent=1, ensure_ascii=False)
    path_of(task_id).write_text(f"{text}\n", encoding="utf-8")


def replayed(task_id: str, facts: dict, accept: bool) -> dict[str, int]:
    """How many keep their sentence, how many the mistake; what differs is printed."""
    programs, said = facts["programs"], []
    counts = dict.fromkeys(("the same sentence", "the same mistake", "differ", "merged"), 0)
    for one, (passed, reason) in zip(
        programs,
        checked(task_id, facts["file"], [p["bodies"] for p in programs]),
        strict=True,
    ):
        said.append(core(reason) if not passed else None)
        words = [one.get("mistake", ""), *one.get("also", ())]
        if passed == one["passed"] and (passed or core(reason) == core(one["reason"])):
            counts["the same sentence"] += 1
        elif passed == one["passed"] and any(w in reason or w == core(reason) for w in words):
            counts["the same mistake"] += 1
        else:
            counts["differ"] += 1
            print(f"  {task_id} {one['name']}\n    was: {one['reason'] or 'passed'}")
            print(f"    is:  {reason or 'passed'}", flush=True)
            if accept and passed == one["passed"]:
                one.setdefault("also", []).append(core(reason))
    for (one, new), (other, newer) in itertools.combinations(zip(programs, said, strict=True), 2):
        apart = core(one["reason"]) != core(other["reason"])
        if apart and not one["passed"] and not other["passed"] and new and new == newer:
            counts["merged"] += 1
            print(f"  {task_id} no longer told apart: {one['name']!r} and {other['name']!r}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="tasks (DP-1) or labs (PZ); all unless given")
    parser.add_argument("--accept", action="store_true", help="the new sentences are as good")
    asked = parser.parse_args()
    paths = sorted(PROGRAMS.glob("*.json"))
    ids = [task_id for p in paths for task_id in json.loads(p.read_text(encoding="utf-8"))]
    names = {name.upper() for name in asked.names}
    ids = [i for i in ids if not names or {i, i.rpartition("-")[0]} & names]
    from helpers.check.task import task_ids

    total: dict[str, int] = {}
    for task_id in ids:
        if task_id not in task_ids():
            print(f"{task_id}: there is no such task any more")
            continue
        facts = load(task_id)[task_id]
        counts = replayed(task_id, facts, asked.accept)
        if asked.accept:
            save(task_id, facts)
        print(f"{task_id}: {', '.join(f'{n} {what}' for what, n in counts.items())}", flush=True)
        total = {what: total.get(what, 0) + n for what, n in counts.items()}
    print(f"all: {', '.join(f'{n} {what}' for what, n in total.items())}")


if __name__ == "__main__":
    main()
