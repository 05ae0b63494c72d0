"""Run the wrong and the right bodies of the old form through the new check: one table for each task.

    python tools/parity.py DP-1 [PP-1 …]     writes tasks/programs/parity/dp_1.json, prints what fails

A row: body, its old words, the old sentence, the new one, and a reason, which is written by hand
into the file where the new sentence doesn't contain the old words, and kept from run to run.
"""

import json
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLD = Path("/work/wt/old")
sys.path.insert(0, str(ROOT))

from helpers.grade.marks import replace_regions
from helpers.grade.parcel import pack, unpack
from helpers.grade.task import load_module, load_task, load_truth
from helpers.grade.verify import coincide, draw, verify
from helpers.grade.workshop import load_work
from helpers.ranks import launch


def planted(task, body):
    """The file with `body` in every region of the task; None leaves the solution."""
    path = ROOT / task.file
    text = path.read_text(encoding="utf-8")
    if body is None:
        return text
    return replace_regions(text, lambda r: body if r.task == task.id else r.body, str(path))


def run_all(task_path, files, cases):
    """On a rank: for each file the observations of all cases, or the error."""
    task = load_module(task_path, "lab_task")
    found = []
    for file in files:
        try:
            module = load_work(file)
            found.append((pack([task.run(module, case) for case in cases]), ""))
        except Exception as error:
            if len(files) == 1:  # the launcher says it, as it would to a student
                raise
            found.append((None, f"{type(error).__name__}: {error}"))
    return found


def sentence_of(truth, task, cases, seen, stop):
    if stop:
        return "STOPPED " + ((hasattr(truth, "stopped") and truth.stopped(stop)) or stop)
    return verify(truth, cases, seen, task.ranks) or ""


def check_bodies(found, truth, bodies, folder, alone, seed):
    """The new sentence on each body; "" for a pass."""
    task, cases = found.task, draw(truth, seed)
    sent = unpack(pack(cases))
    files = []
    for number, body in enumerate(bodies):
        file = folder / str(number) / Path(task.file).name
        file.parent.mkdir(parents=True)
        source = ROOT / Path(task.file).parent
        for beside in source.rglob("*.py") if source != ROOT else ():
            to = file.parent / beside.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(beside.read_bytes())
        file.write_text(planted(task, body and textwrap.dedent(body)), encoding="utf-8")
        files.append(file)
    groups = [[file] for file in files] if alone else [files]
    sentences = []
    for group in groups:
        report = launch(
            run_all,
            max(task.ranks, 1),
            (found.path, group, sent),
            quiet=True,
            on_error="report",
            timeout=20 if alone else 150,
        )
        if report.failure is not None:
            sentences += [
                sentence_of(truth, task, cases, None, str(report.failure).splitlines()[0])
            ] * len(group)
            continue
        for answers in zip(*report.results, strict=True):
            stops = [f"rank {r} failed first: {e}" for r, (_, e) in enumerate(answers) if e]
            seen = None
            if not stops:
                by_rank = [unpack(data) for data, _ in answers]
                seen = (
                    [list(one) for one in zip(*by_rank, strict=True)] if task.ranks else by_rank[0]
                )
            sentences.append(sentence_of(truth, task, cases, seen, stops and stops[0]))
    return sentences


def main(ids):
    failed = 0
    for task_id in ids:
        found = load_task(task_id)
        truth = load_truth(found)
        planted_file = load_module(ROOT / "tasks/mistakes" / found.path.name, "planted")
        old = (
            {row["name"]: row["old"] for row in json.loads((OLD / f"{task_id}.json").read_text())}
            if (OLD / f"{task_id}.json").exists()
            else {}
        )
        file = ROOT / "tasks/programs/parity" / f"{found.path.stem}.json"
        reasons = (
            {r["body"]: r["reason"] for r in json.loads(file.read_text())} if file.exists() else {}
        )
        right = getattr(planted_file, "ALSO_RIGHT", {})
        rows = []
        for seed in range(20):
            if together := coincide(truth, draw(truth, seed)):
                print(f"{task_id}: {together}")
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            said = check_bodies(
                found, truth, [None, *right.values()], folder / "right", False, 1
            )
            for name, sentence in zip(["the solution", *right], said, strict=True):
                rows.append(
                    {
                        "body": name,
                        "right": True,
                        "says": "",
                        "old": "",
                        "new": sentence,
                        "reason": "",
                    }
                )
                if sentence:
                    failed += 1
                    print(f"{task_id} RIGHT WORK FAILS {name!r}: {sentence}")
            for alone in (False, True):
                wrong = [m for m in planted_file.MISTAKES if m.alone == alone]
                said = (
                    check_bodies(
                        found, truth, [m.body for m in wrong], folder / f"alone{alone}", alone, 2
                    )
                    if wrong
                    else []
                )
                for m, sentence in zip(wrong, said, strict=True):
                    rows.append(
                        {
                            "body": m.name,
                            "right": False,
                            "says": m.says,
                            "old": old.get(m.name, ""),
                            "new": sentence,
                            "reason": reasons.get(m.name, ""),
                        }
                    )
                    if not sentence:
                        failed += 1
                        print(f"{task_id} WRONG WORK PASSES {m.name!r}")
                    elif m.says not in sentence and not reasons.get(m.name):
                        print(
                            f"{task_id} other words for {m.name!r}:\n   wanted {m.says}\n   got    {sentence}"
                        )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        wrong = [r for r in rows if not r["right"]]
        same_words = sum(r["says"] in r["new"] for r in wrong)
        print(
            f"{task_id}: {len(wrong)} wrong, {sum(bool(r['new']) for r in wrong)} caught, {same_words} with the old words; {len(rows) - len(wrong)} right"
        )
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
