"""The student edition: every solution a stub, no line of a solution or a truth anywhere, and checks
that work in it."""

import html
import json
import os
import re
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest
import yaml

from helpers.grade.folder import Content, FolderError, write_folder
from helpers.grade.leaks import leaked, pieces_of
from helpers.grade.marks import MarkError, Region, find_regions
from helpers.grade.student import LeakError, main, student_edition
from helpers.grade.task import ROOT, load_task, task_ids
from helpers.grade.tracked import MARKER, tracked_files

SOLUTION = "added_by_hand = number + 1\nreturn added_by_hand"
TRUE = "def long_way(case):\n    first = case + 1\n    return first + case - case\n"


def text_of(edition, name):
    return edition.files[name].data.decode()


def test_solutions_become_stubs_the_truth_is_packed_and_all_else_stays(small, task):
    small.write("data.bin", "\r\n\0é")
    small.write("notes.md", "Between # BEGIN SOLUTION and # END SOLUTION stand solutions.\n")
    small.write("tasks/programs/t_1.py", SOLUTION)
    small.write("tests/grade/test_t_1.py", SOLUTION)
    edition = student_edition(small.root)
    stub = "".join(f"    {line}\n" for line in task.stub().splitlines())
    head = '\n"""Work."""\n\n\ndef add_one(number):\n    """The number plus one."""\n'
    assert text_of(edition, "lab/work.py") == head + stub
    assert edition.stubs == ["T-1 in lab/work.py"]
    assert edition.left_out == ["tasks/programs/t_1.py", "tests/grade/test_t_1.py"]
    same = ["data.bin", "helpers/grade/__init__.py", "notes.md", "tasks/t_1.py"]
    packed = ["tasks/reference.zip", "tasks/truth.zip"]
    assert sorted(edition.files) == sorted([*same, "lab/work.py", *packed])
    assert all(edition.files[name].data == (small.root / name).read_bytes() for name in same)
    with zipfile.ZipFile(BytesIO(edition.files["tasks/truth.zip"].data)) as archive:
        assert archive.read("truth/t_1.py") == (small.tasks / "truth" / "t_1.py").read_bytes()
    (small.tasks / "truth" / "t_1.py").touch()
    assert student_edition(small.root).files == edition.files


def notebook(*cells):
    cells = [
        {
            "cell_type": "code",
            "execution_count": 1,
            "metadata": {},
            "outputs": [{"output_type": "display_data", "metadata": {}, "data": data}],
            "source": source.splitlines(keepends=True),
        }
        for source, data in cells
    ]
    return json.dumps({"cells": cells, "metadata": {}}, indent=1) + "\n"


def test_a_notebook_loses_its_outputs_and_may_hold_no_solution(small):
    marked = f"# BEGIN SOLUTION T-1\n{SOLUTION}\n# END SOLUTION"
    small.write("notebooks/01.ipynb", notebook(("x = 1", {"text/plain": ["T-1  PASS"]})))
    (cell,) = json.loads(text_of(student_edition(small.root), "notebooks/01.ipynb"))["cells"]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == (["x = 1"], [], None)
    small.write("notebooks/01.ipynb", notebook((marked, {})))
    with pytest.raises(MarkError, match="01.ipynb: a solution stands in a cell"):
        student_edition(small.root)
    small.write("notebooks/01.ipynb", "# a script")
    with pytest.raises(MarkError, match="01.ipynb: this is not a Jupyter notebook"):
        student_edition(small.root)


def test_a_teachers_files_stay_and_a_students_readme_comes(small, task):
    for name in ("README.md", "README.student.md", "TEACHING.md", "docs/exercises.md"):
        small.write(name, name)
    small.write(".github/workflows/tests.yml", "ours")
    small.write("tools/classroom.yml", "theirs")
    edition = student_edition(small.root, with_references=False)
    assert text_of(edition, "README.md") == "README.student.md"
    here = {"TEACHING.md", "README.student.md", "docs/exercises.md", "tasks/reference.zip"}
    assert not here & edition.files.keys()
    workflows = {name for name in edition.files if name.startswith((".github", "tools"))}
    assert workflows == {".github/workflows/tasks.yml"}
    assert text_of(edition, ".github/workflows/tasks.yml") == "theirs"


@pytest.mark.parametrize("planted", [SOLUTION, TRUE], ids=["solution", "truth"])
@pytest.mark.parametrize("name", ["notes.md", "lab/other.py", "notebooks/01.ipynb", "tasks/_x.py"])
def test_a_planted_line_stops_it(small, name, planted, capsys):
    small.write("tasks/truth/t_1.py", f"cases = lambda seed: [seed]\n\n\n{TRUE}")
    assert student_edition(small.root).files
    small.write(name, notebook((planted, {})) if name.endswith(".ipynb") else f"x\n\n{planted}\n")
    with pytest.raises(LeakError, match=f"^{name}: lines of the solution of T-1 stand here"):
        student_edition(small.root)
    assert main([], small.root) == 1
    assert capsys.readouterr().err.startswith(f"no student edition: {name}: lines of the solution")
    assert not (small.root / "build").exists()


def test_the_program(small, capsys):
    small.write("tests/grade/test_t_1.py", "")
    assert main([], small.root) == main([], small.root) == 0  # again, in the place of the first
    out = small.root / "build" / "student"
    said = capsys.readouterr().out.split("student edition: ")
    assert said[1] == said[2] and said[1].startswith(f"5 files in {out}\n")
    assert "left out: tests/grade/ (1 file)" in said[1] and "stub: T-1 in lab/work.py" in said[1]
    assert main([], out) == 0
    assert "this is the student edition already" in capsys.readouterr().out
    for place in (".", ".."):
        assert main(["--out", str(small.root / place)], small.root) == 1
        assert "contains the repository itself" in capsys.readouterr().err
    small.write("lab/other.py", "# BEGIN SOLUTION T-2\n# END SOLUTION\n")
    assert main([], small.root) == 1
    assert "lab/other.py:1: there is no task T-2: the tasks are T-1" in capsys.readouterr().err
    assert small.work.exists()


# --- the student edition of this repository ------------------------------------------------------


@pytest.fixture(scope="module")
def edition():
    return student_edition()


@pytest.fixture(scope="module")
def folder(edition, tmp_path_factory):
    out = tmp_path_factory.mktemp("editions") / "student"
    write_folder(out, edition.files)
    return out


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_no_line_of_a_solution_is_left(edition):
    """Read as a student would: the lines one after the other, in whatever form a file has them."""
    texts = [content.data.decode(errors="replace") for content in edition.files.values()]
    everything = squeezed(re.sub(r"[A-Za-z0-9+/=]{400,}", "", "\n".join(texts)))  # no pictures
    for name in sorted({load_task(task_id).task.file for task_id in task_ids()}):
        assert "# BEGIN SOLUTION" not in text_of(edition, name)
        for region in find_regions((ROOT / name).read_text(encoding="utf-8")):
            lines = [squeezed(line) for line in region.body.splitlines() if line.strip()]
            for three in zip(lines, lines[1:], lines[2:], strict=False):
                for between in ("", "\\n", '\\n","', "+"):
                    left = between.join(three) in everything  # megabytes: not for a message
                    assert not left, (region.task, three)
    assert not [name for name in edition.files if name.startswith(("tasks/truth/", "tests/grade/"))]


def test_it_grades_itself(folder, edition):
    """As a student does, in the fresh folder, with the checks that lie there: first each task is to
    do, and DP-1 passes as soon as it's solved."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def graded(*names):
        command = [sys.executable, "-m", "helpers.grade", *names, "--json"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.stdout, done.stderr
        (one,) = json.loads(done.stdout)["submissions"]
        assert "task " in done.stderr, "the table stands beside the document"
        return one["verdicts"]

    kinds = {found["task"]: found["kind"] for found in graded()}
    assert kinds == dict.fromkeys(kinds, "not done") and sorted(kinds) == sorted(task_ids())
    name = load_task("DP-1").task.file
    (folder / name).write_bytes((ROOT / name).read_bytes())
    (found,) = graded("DP-1")
    assert found["passed"], found


def test_its_workflow_runs_what_is_there(folder, capsys):
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "tasks.yml").read_text("utf-8"))
    lines = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    assert lines[0] == "python tools/install.py" and (folder / "tools" / "install.py").is_file()
    command, to = lines[1].split(" > ")
    assert to == workflow["jobs"]["check"]["steps"][-1]["with"]["path"]
    python, *arguments = command.replace("$TASKS", workflow["env"]["TASKS"]).split()
    assert python == ".venv/bin/python"
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True)
    (one,) = json.loads(done.stdout)["submissions"]
    assert [v["task"] for v in one["verdicts"]] == ["DP-1"] and "DP-1" in done.stderr
    assert done.returncode == (0 if one["points"] else 1)


# --- leaks ---------------------------------------------------------------------------------------

BODY = """\
gathered = [p.weight for p in model.parameters()]
# a comment that counts for nothing

together = torch.cat(gathered)
dist.all_reduce(together)
together /= number_of_ranks
scatter(together, gathered)"""
LINES = [line for line in BODY.splitlines() if line and line[0] != "#"]
PIECES = pieces_of([Region("DP-1", 1, 9, "", BODY)])


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(LINES[1:4]),  # half of the lines in a row
        "    " + BODY.replace("\n", "\n        "),
        "\n".join(f"+{line}" for line in LINES),
        "\n".join(f"# {line}" for line in LINES),
        json.dumps({"text": BODY.replace("# a comment that counts for nothing\n", "")}),
        "".join(f'<ins style="color: red">{html.escape(line)}</ins>\n' for line in LINES),
        "\n".join(LINES).replace(" = ", "=").replace("(", "( "),
    ],
)
def test_a_solution_is_recognized_in_another_dress(text):
    assert leaked(text, PIECES) == "DP-1"


def test_what_is_no_leak():
    assert leaked("\n".join(LINES[1:3]), PIECES) is None  # less than half
    assert leaked("\n".join([*LINES[:2], "x = 1", *LINES[3:]]), PIECES) is None
    for short in ("return total", "# nothing but a comment stands in this one"):
        assert pieces_of([Region("A-1", 1, 3, "", short)]) == []
    one = pieces_of([Region("A-1", 1, 3, "", "return total / number_of_ranks")])
    assert leaked("x = 1\nreturn total/number_of_ranks", one) == "A-1"
    lines = [f"line_number_{n} = {n}" for n in range(40)]
    long = pieces_of([Region("A-1", 1, 42, "", "\n".join(lines))])
    assert leaked("\n".join(lines[10:14]), long) and not leaked("\n".join(lines[10:13]), long)


# --- the folder that is written, and the files that belong to it ---------------------------------

FILES = {"a.txt": Content(b"a"), "lab/run.sh": Content(b"b", executable=True)}


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_folder_is_written_whole_and_replaced_whole(tmp_path):
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)  # an empty one is taken
    write_folder(out, FILES)
    first = contents(out)
    assert sorted(first) == [MARKER, "a.txt", "lab/run.sh"]
    if os.name == "posix":
        assert os.access(out / "lab/run.sh", os.X_OK) and not os.access(out / "a.txt", os.X_OK)
    (out / ".venv").mkdir()
    write_folder(out, dict(reversed(FILES.items())))
    assert contents(out) == first and not (out / ".venv").exists()
    # A file can't stand where a folder must be: like a full disk, it stops the writing midway.
    with pytest.raises(FolderError, match="could not be written and is as it was before"):
        write_folder(out, {"a": Content(b""), "a/b": Content(b"")})
    assert contents(out) == first and list(out.parent.iterdir()) == [out]


def test_where_the_folder_is_published_its_history_stays(tmp_path):
    out = tmp_path / "course"
    write_folder(out, FILES)
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    write_folder(out, {"a.txt": FILES["a.txt"]})
    assert sorted(contents(out)) == [".git/HEAD", MARKER, "a.txt"]


@pytest.mark.parametrize("marker", [None, "", "[]", '{"files": 3}'])
@pytest.mark.parametrize("force", [False, True])
def test_never_replaces_a_folder_of_somebody_else(tmp_path, marker, force):
    (tmp_path / "thesis.txt").write_bytes(b"years of work")
    if marker is not None:
        (tmp_path / MARKER).write_text(marker)
    before = contents(tmp_path)
    with pytest.raises(FolderError, match="was not written by this program"):
        write_folder(tmp_path, FILES, force)
    with pytest.raises(FolderError, match="thesis.txt is not a folder: name another with --out"):
        write_folder(tmp_path / "thesis.txt", FILES)
    assert contents(tmp_path) == before


def test_work_in_it_is_kept_unless_forced(tmp_path):
    write_folder(tmp_path / "out", FILES)
    (tmp_path / "out" / "a.txt").write_bytes(b"my solution")
    with pytest.raises(FolderError, match="a.txt has been changed since it was written"):
        write_folder(tmp_path / "out", FILES)
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"my solution"
    write_folder(tmp_path / "out", FILES, force=True)
    assert (tmp_path / "out" / "a.txt").read_bytes() == b"a"


def test_what_git_tracks_and_what_looks_so_without_git(tmp_path, monkeypatch):
    made = ("build/c.txt", ".venv/d.py", "lab/__pycache__/e.pyc", "old/a.py", f"old/{MARKER}")
    for name in ("a.py", "lab/é.txt", "gone.txt", *made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    walked = ["a.py", "gone.txt", "lab/é.txt"]
    assert tracked_files(tmp_path) == (walked, "there is no .git here")
    (tmp_path / ".git").write_text("gitdir: nowhere\n")
    names, source = tracked_files(tmp_path)
    assert names == walked and source.startswith("git said: fatal: not a git repository")
    (tmp_path / ".git").unlink()
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init"], check=True, capture_output=True)
    assert tracked_files(tmp_path) == (walked, "git tracks no file here yet")
    subprocess.run([*git, "add", "a.py", "build/c.txt", "gone.txt", "lab/é.txt"], check=True)
    (tmp_path / "gone.txt").unlink()
    assert tracked_files(tmp_path) == (["a.py", "build/c.txt", "lab/é.txt"], "git")
    monkeypatch.setenv("PATH", "")
    assert tracked_files(tmp_path)[1] == "git is not installed"
