"""`python -m helpers.grade.handin LAB [--name NAME] [--out FILE]`: pack what is to be handed in.

The zip holds the files of the lab's tasks and the Python files beside and below them, which a check
may import; each at its place in the repository. `handin.json` lists the tasks, each file's
SHA-256, what is not done, the name, if one was given, and of the sender's record what was predicted
and how many minutes tasks took. The same files, name and record give the same zip, to the byte.
`python -m helpers.grade --root FILE.zip` and `--all` take it as it is.
"""

import argparse
import hashlib
import json
import re
import sys
import tempfile
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.copy import CopyError, copy_work, read_plain
from helpers.grade.folder import Content, zip_of
from helpers.grade.look import has_stub, look_at
from helpers.grade.notebook import find_root
from helpers.grade.record import minutes_of
from helpers.grade.task import Task, TaskError, WorkFailed, load_task, tasks_of
from helpers.grade.words import in_one_line, why_not
from helpers.plain_errors import plain_errors
from helpers.record import progress_file, read_all

MOST_FACTS = 100_000  # bytes of handin.json
KEPT = {"predictions": "chosen", "times": "minutes"}  # of the record: what a teacher can use


def pack(
    root: Path, tasks: list[Task], name: str = "", record: dict[str, dict] | None = None
) -> tuple[bytes, dict[str, str]]:
    """Return the zip's bytes, and {task: why it isn't done or can't be run}.

    record: as `to_hand_in` returns it.

    Raises CopyError for a file that is a link or too large.
    """
    undone, files = {}, {}
    for task in tasks:
        try:
            look_at(root / task.file, task)
            if has_stub(root / task.file, task):
                undone[task.id] = f"not done yet: {task.not_done}"
        except WorkFailed as failed:
            undone[task.id] = failed.sentence
        files |= _taken(root, task)
    facts = {
        **({"name": name} if name else {}),
        **({"record": record} if record else {}),
        "tasks": [task.id for task in tasks],
        "not done": undone,
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }
    files["handin.json"] = (json.dumps(facts, indent=1, ensure_ascii=False) + "\n").encode()
    packed = {name: Content(data) for name, data in files.items()}
    return zip_of(packed, compressed=False), undone


def _taken(root: Path, task: Task) -> dict[str, bytes]:
    """Return the files that a check of `task` would copy, by name, so that both agree."""
    with tempfile.TemporaryDirectory(prefix="handin-") as name:
        place = Path(name, "work")
        copy_work(root, task, place)
        found = [path for path in place.rglob("*") if path.is_file()]
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in found}


def to_hand_in(record: dict[str, dict]) -> dict[str, dict]:
    """Return the parts of a record that a hand-in carries: no pass, no try, no date."""
    return {
        kind: {
            key: {part: facts[part]}
            for key, facts in sorted(record.get(kind, {}).items())
            if isinstance(facts, dict) and facts.get(part)
        }
        for kind, part in KEPT.items()
    }


def facts_in(root: Path) -> dict:
    """Return what stands in handin.json, as its sender wrote it; nothing where there is none."""
    try:
        facts = json.loads(read_plain(root / "handin.json", MOST_FACTS) or b"{}")
        return facts if isinstance(facts, dict) else {}
    except Exception:  # whatever stands there instead
        return {}


def claims_in(root: Path) -> tuple[str, dict[str, int]]:
    """Return the name in a hand-in, and {task: minutes} of its record. Neither earns a point."""
    facts = facts_in(root)
    name = facts.get("name")
    name = in_one_line(name)[:100] if isinstance(name, str) else ""
    return name, minutes_of(facts.get("record"))


def main(arguments: list[str] | None = None) -> int:
    """0 if it was packed, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.handin", description="Pack the files of a lab's tasks."
    )
    parser.add_argument("lab", nargs="*", help="a lab (DP), a lesson (03) or a task (DP-1)")
    parser.add_argument("--name", default="", help="yours, or a number that your teacher knows")
    parser.add_argument("--out", type=Path, help="the zip to write (default: build/handin/LAB.zip)")
    options = parser.parse_args(arguments)
    root = find_root()
    try:
        if not options.lab:
            raise TaskError("which lab? Name one: make handin LAB=DP, a lesson (03) or a task")
        tasks = [load_task(task_id).task for task_id in tasks_of(options.lab)]
        name = in_one_line(options.name)[:100]
        record = to_hand_in(read_all(progress_file()))
        data, undone = pack(root, tasks, name, record)
        whose = re.sub(r"[^\w.@-]+", "-", name).strip("-.")
        file = "_".join(filter(None, [whose, "-".join(options.lab).upper()]))
        out = options.out or root / "build" / "handin" / f"{file}.zip"
        write_whole(out, data)
    except (TaskError, CopyError, ValueError) as error:  # a path that can't be one, too
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"nothing was packed: {why_not(error)}", file=sys.stderr)
        return 2
    print(f"packed the work on {len(tasks) - len(undone)} of {len(tasks)} tasks in {out}")
    for task_id, reason in undone.items():
        print(f"  {task_id}: {reason}")
    if any(record.values()):
        predicted, timed = (len(record[kind]) for kind in KEPT)
        print(f"packed of your record: predictions ({predicted}), minutes of tasks ({timed})")
    print("The packed ones can be run. To see whether they pass: python -m helpers.grade")
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main())
