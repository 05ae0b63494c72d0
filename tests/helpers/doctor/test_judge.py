"""What the doctor says of machines that lack something."""

from dataclasses import replace
from html import escape

import pytest

from helpers.doctor import examine
from helpers.doctor.facts import Facts, Torch
from helpers.doctor.packages import Package

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


def machine(**changes):
    """Return the report on the good laptop with something changed."""
    return examine(replace(GOOD, **changes))


def answers(report) -> set[str]:
    return {answer for _, answer, _ in report.statuses}


def test_a_good_laptop_runs_every_lesson():
    report = machine()
    assert report.ready and answers(report) == {"yes"}
    assert report.findings == ()
    assert report.text.startswith("Every lesson runs on this machine.\n")


def torch(version=None, cuda=None, gloo=True, driver=None, **facts):
    return {"torch": Torch(version, cuda, gloo=gloo, **facts), "nvidia_driver": driver}


def without(name, found=None):
    """Return the packages with one missing, or of this version."""
    packages = (replace(p, found=found) if p.name == name else p for p in GOOD.packages)
    return {"packages": tuple(packages)}


CONDA, OTHER = ({"environment": f"a{kind} environment"} for kind in (" conda", "nother virtual"))
REPAIR, FORCED = "python3 tools/install.py", "python -m pip install --force-reinstall"
CU126, EDITABLE = "https://download.pytorch.org/whl/cu126", 'python -m pip install --editable "."'
MISSING, WINDOWS = torch(problem="missing"), {"system": "Windows 11 (AMD64)"}
OLD = torch("2.13.0", "13.0", driver="535.12")
# What is changed, the level of the one finding, words of its sentence, and its cure.
FINDINGS = [
    (MISSING, "must", "torch is not installed; the lessons need torch 2.13.0.", REPAIR),
    (MISSING | WINDOWS, "must", "not installed", "python tools/install.py"),
    (MISSING | CONDA, "must", "not installed", EDITABLE),
    (MISSING | OTHER, "must", "not installed", EDITABLE),
    (torch("2.4.1"), "must", "2.4.1 is too old: the lessons were made and tested", REPAIR),
    (torch("1.13.1+cu117"), "must", "torch 1.13.1+cu117 is too old", REPAIR),
    (torch("3.0.0"), "must", "torch 3.0.0 is another version", REPAIR),
    (torch(problem="broken", detail="no libc"), "must", "does not work here: no libc.", REPAIR),
    (torch("2.13.0", gloo=False), "must", "was built without gloo: ranks need it", REPAIR),
    (without("numpy"), "must", "missing or of another version: numpy.", REPAIR),
    (without("numpy", "1.26"), "must", "numpy (1.26 is here, >=2.4,<3 is needed)", REPAIR),
    ({"processes": "no room"}, "must", "No process can be started: no room.", ""),
    ({"loopback": "refused"}, "must", "cannot talk over 127.0.0.1: refused. Allow Python", ""),
    ({"disk_free": 10**8}, "must", "disk is almost full", ""),
    ({"cores": 1}, "note", "ranks take turns on it. Expect two to three times", ""),
    (torch("2.13.0", "13.0"), "note", "no NVIDIA driver: scripts use the CPU, too", ""),
    (torch("2.13.0", driver="580"), "may", "torch has no CUDA", f"{REPAIR} --torch cuda"),
    (torch("2.13.0", driver="580") | CONDA, "may", "no CUDA", f"{FORCED} torch==2.13.0"),
    (torch("2.13.0", "13.0", driver="580.65"), "may", "(CUDA 13.0) sees no GPU with driver 5", ""),
    (torch("2.13.0", "12.6", driver="535.12"), "may", "535.12: scripts use the CPU, too", ""),
    (OLD, "may", "needs driver 580", f"{REPAIR} --torch-index {CU126}"),
    (OLD | OTHER, "may", "needs driver", f"{FORCED} --index-url {CU126} torch==2.13.0"),
    (without("pytest"), "may", "To run the tests, these are miss", f"{REPAIR} --extras test"),
    (without("datasets"), "may", "need the package datasets", f"{REPAIR} --extras hub"),
    (without("datasets") | CONDA, "may", "datasets", EDITABLE.replace(".", ".[hub]")),
    ({"mpirun": None}, "may", "No mpirun", ""),
    ({"compiler": None}, "may", "No C++ compiler", ""),
]


@pytest.mark.parametrize(("changes", "level", "words", "cure"), FINDINGS)
def test_what_is_wrong_is_one_sentence_and_one_command(changes, level, words, cure):
    report = machine(**changes)
    (finding,) = report.findings
    assert words in finding.sentence
    assert (finding.level, finding.cure) == (level, cure)
    assert level != "must" or not report.ready


# What is changed, whether lessons with so many ranks or more run, and why; the others do.
STATUSES = [
    (torch("2.4.1"), 0, "no", "it needs torch"),
    (without("numpy"), 0, "no", "numpy is missing"),
    ({"processes": "operation not permitted"}, 1, "no", "it starts processes"),
    ({"loopback": "connection refused"}, 1, "no", "its ranks talk over 127.0.0.1"),
    ({"memory": 10**9}, 1, "no", "it needs {0.gigabytes:g} GB of memory"),
    ({"cores": 1}, 2, "slower", "{0.ranks} ranks take turns on one core"),
    ({"memory_free": 10**9}, 1, "slower", "less than {0.gigabytes:g} GB of memory are free"),
    ({"memory": None, "memory_free": None}, 0, "yes", ""),
    (without("numpy", "1.26"), 0, "yes", ""),
]


@pytest.mark.parametrize(("changes", "ranks", "answer", "why"), STATUSES)
def test_which_lessons_run_and_why_not(changes, ranks, answer, why):
    report = machine(**changes)
    for lesson, *told in report.statuses:
        other = lesson.ranks < ranks
        assert told == (["yes", ""] if other else [answer, why.format(lesson)]), lesson
    numbers = ", ".join(lesson.number for lesson, got, _ in report.statuses if got == "slower")
    assert not numbers or report.headline.endswith(f", slower: {numbers}.") and report.ready


def test_a_gpu_that_torch_uses_is_shown():
    gpu = torch("2.13.0", "13.0", driver="580.65", gpus=(("A card", 8 * 10**9),), nccl="2.28")
    report = machine(**gpu)
    assert report.findings == () and "A card, 8.0 GB" in report.text


def test_one_command_that_cures_two_things_is_shown_once():
    packages = (Package("torch", "==2.13.0", None), Package("numpy", ">=2.4,<3", None))
    text = machine(torch=Torch(problem="missing"), packages=packages).text
    assert text.count("python3 tools/install.py") == 1


def test_a_report_is_plain_ascii_with_no_line_too_long_to_paste():
    text = machine(cores=1, compiler=None).text
    assert text.isascii() and max(map(len, text.splitlines())) <= 100
    assert str(machine()) == machine().text


def test_where_all_is_well_a_notebook_shows_one_line_and_nothing_that_only_authors_need():
    report = machine(mpirun=None, compiler=None)
    assert {finding.level for finding in report.findings} == {"may"}
    line = (
        "Every lesson runs on this machine: 2 cores, 8.0 GB of memory, no GPU that torch can use, "
        "and none is needed."
    )
    assert repr(report) == line
    assert report._repr_html_() == f"<p><strong>{line}</strong></p>"
    assert "pytest" not in report.text and "mpirun" in report.text


def test_the_html_says_the_same_and_escapes_what_it_shows():
    report = machine(compiler="<b>g++</b>", cores=1)
    html = report._repr_html_()
    assert "&lt;b&gt;g++" in html and "<b>g++" not in html
    assert escape(report.text) in html
    assert "ranks take turns" in html and "ranks take turns" in repr(report)
    assert "color" not in html  # dark and light themes: no color of our own
