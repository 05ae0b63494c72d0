"""What the doctor says of machines that lack something."""

from dataclasses import replace
from html import escape

import pytest

from helpers.doctor import examine
from helpers.doctor.facts import Facts, Torch
from helpers.doctor.packages import Package
from helpers.syllabus import LESSONS

# A laptop on which everything is right, for tests to take things away from.
GOOD = Facts(
    system="Linux 6.1 (x86_64)",
    python="3.12.4",
    environment="the lab's environment (.venv)",
    cores=2,
    cores_in_all=2,
    memory=8 * 10**9,
    memory_free=6 * 10**9,
    disk_free=50 * 10**9,
    torch=Torch(version="2.13.0+cpu", gloo=True),
    packages=(
        Package("torch", "==2.13.0", "2.13.0+cpu"),
        Package("numpy", ">=2.4,<3", "2.4.6"),
        Package("jupyterlab", ">=4.6,<5", "4.6.6"),
        Package("pytest", ">=9.2,<10", "9.2.0", "test"),
        Package("datasets", ">=5.2,<6", "5.2.0", "hub"),
    ),
    mpirun="mpirun 5",
    compiler="g++ 13",
)


@pytest.fixture
def machine():
    """`machine(cores=1)`: the good laptop with one thing changed."""
    return lambda **changes: replace(GOOD, **changes)


def answers(report) -> set[str]:
    return {status.answer for status in report.statuses}


def test_a_good_laptop_runs_every_lesson(machine):
    report = examine(machine())
    assert report.ready and answers(report) == {"yes"}
    assert report.findings == ()
    assert report.text.startswith("Every lesson runs on this machine.\n")


@pytest.mark.parametrize(
    ("torch", "sentence"),
    [
        (Torch(problem="missing"), "torch is not installed; the lessons need torch 2.13.0."),
        (Torch("2.4.1", gloo=True), "torch 2.4.1 is too old: the lessons were made and tested"),
        (Torch("1.13.1+cu117", gloo=True), "torch 1.13.1+cu117 is too old"),
        (Torch("3.0.0", gloo=True), "torch 3.0.0 is another version"),
        (Torch(problem="broken", detail="no libc"), "torch does not work here: no libc."),
        (Torch("2.13.0"), "was built without gloo: ranks need it"),
    ],
)
def test_a_torch_that_will_not_do_is_one_sentence_and_one_command(machine, torch, sentence):
    report = examine(machine(torch=torch))
    (finding,) = report.findings
    assert sentence in finding.sentence and finding.level == "must"
    assert finding.cure == "python3 tools/install.py"
    assert not report.ready and answers(report) == {"no"}


def test_one_core_says_what_that_means(machine):
    report = examine(machine(cores=1))
    (finding,) = report.findings
    assert "ranks take turns" in finding.sentence and "no speed-up" in finding.sentence
    slower = [v for v in report.statuses if v.answer == "slower"]
    assert {v.lesson.number for v in slower} == {n.number for n in LESSONS if n.ranks > 1}
    assert report.ready
    assert f"slower: {', '.join(v.lesson.number for v in slower)}." in report.headline


def test_a_missing_package_stops_every_lesson_and_an_old_one_is_named(machine):
    good = machine()
    packages = tuple(replace(p, found=None) if p.name == "numpy" else p for p in good.packages)
    report = examine(machine(packages=packages))
    assert answers(report) == {"no"} and "numpy" in report.findings[0].sentence
    packages = tuple(replace(p, found="1.26") if p.name == "numpy" else p for p in good.packages)
    (finding,) = examine(machine(packages=packages)).findings
    assert "numpy (1.26 is here, >=2.4,<3 is needed)" in finding.sentence


def test_what_only_tests_or_the_hub_need_is_optional(machine):
    packages = tuple(replace(p, found=None) if p.group else p for p in machine().packages)
    report = examine(machine(packages=packages, mpirun=None, compiler=None))
    assert report.ready and {finding.level for finding in report.findings} == {"may"}
    assert [f.cure for f in report.findings] == [
        "python3 tools/install.py --extras test",
        "python3 tools/install.py --extras hub",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"processes": "operation not permitted"}, "it starts processes"),
        ({"loopback": "connection refused"}, "its ranks talk over 127.0.0.1"),
        ({"memory": 10**9}, "it needs {} GB of memory"),
    ],
)
def test_what_keeps_ranks_from_running_stops_the_lessons_with_ranks(machine, facts, why):
    report = examine(machine(**facts))
    for status in report.statuses:
        told = why.format(f"{status.lesson.gigabytes:g}")
        assert (status.answer, status.why) == (("no", told) if status.lesson.ranks else ("yes", ""))


def test_little_free_memory_is_slower_and_unknown_memory_is_no_problem(machine):
    assert answers(examine(machine(memory_free=10**9))) == {"yes", "slower"}
    assert answers(examine(machine(memory=None, memory_free=None))) == {"yes"}


def test_a_full_disk_is_said(machine):
    assert "disk is almost full" in examine(machine(disk_free=10**8)).findings[0].sentence


def test_a_gpu_that_torch_does_not_use_is_said_with_the_command(machine):
    report = examine(machine(nvidia_driver="580.65"))
    assert report.findings[0].cure == "python3 tools/install.py --torch cuda"
    cuda = Torch("2.13.0", cuda="13.0", gloo=True)
    (finding,) = examine(machine(torch=cuda, nvidia_driver="535.12")).findings
    assert "needs driver 580" in finding.sentence
    assert finding.cure.endswith("--torch-index https://download.pytorch.org/whl/cu126")
    (finding,) = examine(machine(torch=cuda)).findings
    assert finding.level == "note" and "scripts use the CPU, too" in finding.sentence
    gpu = replace(cuda, gpus=(("A card", 8 * 10**9),), nccl="2.28")
    report = examine(machine(torch=gpu, nvidia_driver="580.65"))
    assert report.findings == () and "A card, 8.0 GB" in report.text


def test_commands_fit_the_system_and_the_environment(machine):
    missing = Torch(problem="missing")

    def cure(**facts):
        return examine(machine(torch=missing, **facts)).findings[0].cure

    assert cure(system="Windows 11 (AMD64)") == "python tools/install.py"
    for environment in ("a conda environment", "another virtual environment"):
        assert cure(environment=environment) == 'python -m pip install --editable "."'
    report = examine(machine(environment="a conda environment", nvidia_driver="580"))
    assert report.findings[0].cure == "python -m pip install --force-reinstall torch==2.13.0"


def test_one_command_that_cures_two_things_is_shown_once(machine):
    packages = (Package("torch", "==2.13.0", None), Package("numpy", ">=2.4,<3", None))
    text = examine(machine(torch=Torch(problem="missing"), packages=packages)).text
    assert text.count("python3 tools/install.py") == 1


def test_a_report_is_plain_ascii_with_no_line_too_long_to_paste(machine):
    text = examine(machine(cores=1, compiler=None)).text
    assert text.isascii() and max(map(len, text.splitlines())) <= 100
    assert str(examine(machine())) == examine(machine()).text


def test_where_all_is_well_a_notebook_shows_one_line_and_nothing_that_only_authors_need(machine):
    report = examine(machine(mpirun=None, compiler=None))
    assert {finding.level for finding in report.findings} == {"may"}
    line = (
        "Every lesson runs on this machine: 2 cores, 8.0 GB of memory, no GPU that torch can use, "
        "and none is needed."
    )
    assert repr(report) == line
    assert report._repr_html_() == f"<p><strong>{line}</strong></p>"
    assert "pytest" not in report.text and "mpirun" in report.text


def test_the_html_says_the_same_and_escapes_what_it_shows(machine):
    report = examine(machine(compiler="<b>g++</b>", cores=1))
    html = report._repr_html_()
    assert "&lt;b&gt;g++" in html and "<b>g++" not in html
    assert escape(report.text) in html
    assert "ranks take turns" in html and "ranks take turns" in repr(report)
    assert "color" not in html  # dark and light themes: no color of our own
