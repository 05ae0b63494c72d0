"""The autograder for Gradescope: what the zip holds, and what results.json says."""

import io
import json
import shutil
import zipfile

from helpers.grade import gradescope, many
from helpers.grade.limits import Limits
from helpers.grade.submission import Submission
from helpers.grade.task import load_task
from helpers.grade.verdict import Verdict


def test_the_zip_holds_the_lab_without_lessons_and_scripts_and_two_programs():
    with zipfile.ZipFile(io.BytesIO(gradescope.autograder_zip(["DP-1", "13"]))) as archive:
        files = set(archive.namelist())
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
        assert archive.getinfo("lab/pyproject.toml").external_attr >> 16 & 0o444 == 0o444
        said = archive.read("run_autograder").decode().splitlines()[-1]
    assert said.endswith("--run /autograder DP-1 TP-5 TP-6 TP-7 TP-2 TP-3")
    assert {"setup.sh", "lab/tasks/dp_1.py", "lab/pyproject.toml"} <= files
    assert not [name for name in files if name.startswith(("lab/notebooks", "lab/DP", "lab/tests"))]


def test_one_test_for_each_task_whatever_happens(tmp_path, monkeypatch):
    asked = []

    def judge(found, submission, seed, seconds, gigabytes):
        assert gigabytes == gradescope.GIGABYTES
        asked.append(submission.root)
        before = json.loads((tmp_path / "results" / "results.json").read_text())
        assert [test["score"] for test in before["tests"]][:2] == [10 * (len(asked) > 1), 0]
        if found.task.id == "DP-3":
            raise RuntimeError("the machine is gone")
        passed = found.task.id == "DP-1"
        return Verdict(found.task, "pass" if passed else "mistake", "" if passed else "no <b>")

    monkeypatch.setattr(many, "judge", judge)
    monkeypatch.setattr(gradescope, "close_to_others", lambda place: None)
    (tmp_path / "submission" / "homework" / "DP" / "gradient_aggr").mkdir(parents=True)
    task = load_task("DP-1").task
    (tmp_path / "submission" / "homework" / task.file).write_text("x = 1\n")
    facts = gradescope.run(tmp_path, ["DP-1", "DP-2", "DP-3"])
    assert facts == json.loads((tmp_path / "results" / "results.json").read_text())
    assert asked[0] == tmp_path / "submission" / "homework" and facts["score"] == 10
    names = [test["name"].partition(":")[0] for test in facts["tests"]]
    assert names == ["DP-1", "DP-2", "DP-3"]
    assert facts["tests"][1]["output"] == "no <b>" and facts["tests"][1]["max_score"] == 10
    assert facts["tests"][2]["output"].startswith("not graded")
    assert "is gone" in facts["output"]
    shutil.rmtree(tmp_path / "submission" / "homework")
    (tmp_path / "submission" / "x.zip").write_text("PK")
    (test,) = gradescope.run(tmp_path, ["DP-1"])["tests"]
    assert (test["score"], test["output"][:25]) == (0, "x.zip cannot be unpacked:")


def test_work_that_runs_as_another_user_sees_no_answers_and_no_results(tmp_path):
    names = ("results/results.json", "lab/tasks/answers/x.py", "lab/tasks/x_1.py", "lab/gpt2/a.py",
             "lab/gpt2/b.py")  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(
            "# BEGIN SOLUTION X-1\n" if name.endswith("a.py") else "x = 1\n"
        )
    gradescope.close_to_others(tmp_path, tmp_path / "lab")
    open_to = {name: (tmp_path / name).stat().st_mode & 0o077 for name in names[2:]}
    assert [name for name in open_to if open_to[name]] == ["lab/gpt2/b.py"]
    assert all((tmp_path / name).parent.stat().st_mode & 0o077 == 0 for name in names[:2])
    with Submission(tmp_path, confined=False, user="nobody") as submission:
        held = submission.held(Limits())
    assert held.open == ["files", "network"] and held.held["user"] == "nobody"
