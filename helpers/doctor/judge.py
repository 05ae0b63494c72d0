"""From facts to verdicts: what is wrong and its cure, and which lessons will run."""

from dataclasses import dataclass

from helpers.doctor.facts import Facts
from helpers.doctor.lessons import LESSONS, Lesson
from helpers.doctor.packages import compare, in_range, numbers

GIGABYTE = 10**9
# What the CUDA 13 build of torch needs; older drivers and cards take the CUDA 12.6 build.
CUDA_13_DRIVER = "580"


@dataclass(frozen=True)
class Finding:
    """One thing that a person should know.

    level: "must" (lessons fail), "may" (something optional is missing), "note".
    cure: the exact command, or "".
    """

    level: str
    sentence: str
    cure: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a lesson runs: answer "yes", "slower" or "no", and why ("" for a plain yes)."""

    lesson: Lesson
    answer: str
    why: str = ""


def install(facts: Facts, extra: str = "", torch: str = "") -> str:
    """The command, in the lab's folder, that puts the environment right in which we run.

    extra: "test" or "hub". torch: flags of tools/install.py that choose a build.
    """
    python = "python" if facts.system.startswith("Windows") else "python3"
    if "conda" in facts.environment or "another" in facts.environment:
        if torch:
            index = {"--torch cuda": ""}.get(torch, torch.replace("--torch-index", "--index-url"))
            request = f"torch{torch_needed(facts)}"
            return " ".join(f"python -m pip install --force-reinstall {index} {request}".split())
        return f'python -m pip install --editable ".{f"[{extra}]" if extra else ""}"'
    flags = f"--extras {extra}" if extra else torch
    return f"{python} tools/install.py {flags}".strip()


def torch_needed(facts: Facts) -> str:
    """The range of torch versions that pyproject.toml asks for."""
    return next(p.needed for p in facts.packages if p.name == "torch" and not p.group)


def torch_problem(facts: Facts) -> str:
    """One sentence on torch, or "" where it is right."""
    needed = torch_needed(facts)
    wanted = needed.removeprefix("==")
    torch = facts.torch
    if torch.problem == "missing":
        return f"torch is not installed; the lessons need torch {wanted}."
    if torch.problem:
        return f"torch does not work here: {torch.detail}."
    if in_range(torch.version, needed):
        return "" if torch.gloo else f"torch {torch.version} was built without gloo: ranks need it."
    age = "too old" if compare(numbers(torch.version), numbers(wanted)) < 0 else "another version"
    return f"torch {torch.version} is {age}: the lessons were made and tested with torch {wanted}."


def must(facts: Facts) -> list[Finding]:
    """What keeps lessons from running."""
    found = []
    problem = torch_problem(facts)
    if problem:
        found.append(Finding("must", problem, install(facts)))
    bad = [p for p in facts.packages if not p.group and not p.fits and p.name != "torch"]
    if bad:
        words = ", ".join(
            f"{p.name} ({p.found} is here, {p.needed} is needed)" if p.found else p.name
            for p in bad
        )
        found.append(
            Finding("must", f"Packages are missing or of another version: {words}.", install(facts))
        )
    if facts.processes:
        found.append(Finding("must", f"No process can be started: {facts.processes}."))
    if facts.loopback:
        said = f"Two programs on this machine cannot talk over 127.0.0.1: {facts.loopback}."
        found.append(Finding("must", said + " Allow Python in the firewall."))
    if facts.disk_free < GIGABYTE // 2:
        found.append(Finding("must", "The disk is almost full: keep half a gigabyte free."))
    return found


def notes(facts: Facts) -> list[Finding]:
    """What a person should know, though lessons run."""
    found = []
    if facts.cores == 1:
        found.append(
            Finding(
                "note",
                "One core: every lesson gives the same numbers, but the ranks take turns on it. "
                "Expect two to three times the minutes, and no speed-up from more ranks.",
            )
        )
    if facts.torch.cuda and not facts.torch.gpus:
        found.append(no_gpu(facts))
    elif facts.nvidia_driver and facts.torch.version and not facts.torch.cuda:
        said = (
            "There is an NVIDIA driver, but this torch was built without CUDA: lessons use the CPU."
        )
        found.append(Finding("may", said, install(facts, torch="--torch cuda")))
    return found


def no_gpu(facts: Facts) -> Finding:
    """A CUDA build that sees no GPU."""
    driver = facts.nvidia_driver
    if driver is None:
        said = "torch is a CUDA build and there is no NVIDIA driver: lessons use the CPU."
        return Finding("note", said)
    old = (
        facts.torch.cuda.startswith("13") and compare(numbers(driver), numbers(CUDA_13_DRIVER)) < 0
    )
    said = f"torch (CUDA {facts.torch.cuda}) sees no GPU with driver {driver}"
    if old:
        index = "https://download.pytorch.org/whl/cu126"
        said += f": it needs driver {CUDA_13_DRIVER}. Update the driver, or take an older CUDA."
        return Finding("may", said, install(facts, torch=f"--torch-index {index}"))
    return Finding("may", said + ": lessons use the CPU.")


def optional(facts: Facts) -> list[Finding]:
    """What is missing and only some people need."""
    found = []
    bad = [p.name for p in facts.packages if p.group == "test" and not p.fits]
    if bad:
        said = f"To run the tests, these are missing or of another version: {', '.join(bad)}."
        found.append(Finding("may", said, install(facts, "test")))
    if any(p.group == "hub" and not p.fits for p in facts.packages):
        said = "The real TinyStories from the hub need the package datasets; the lessons do not."
        found.append(Finding("may", said, install(facts, "hub")))
    if facts.browser is None:
        found.append(Finding("may", "No Chromium or Chrome: only the browser tests need one."))
    if facts.mpirun is None:
        found.append(Finding("may", "No mpirun: only starting ranks by MPI needs it."))
    if facts.compiler is None:
        found.append(Finding("may", "No C++ compiler: only torch.compile needs one."))
    return found


def verdict(lesson: Lesson, facts: Facts, blocked: str = "") -> Verdict:
    """Whether one lesson runs. blocked: why none of those that need packages does."""
    if torch_problem(facts):
        return Verdict(lesson, "no", "it needs torch")
    if blocked:
        return Verdict(lesson, "no", blocked)
    if lesson.ranks and facts.processes:
        return Verdict(lesson, "no", "it starts processes")
    if lesson.ranks and facts.loopback:
        return Verdict(lesson, "no", "its ranks talk over 127.0.0.1")
    if facts.memory is not None and facts.memory < lesson.gigabytes * GIGABYTE:
        return Verdict(lesson, "no", f"it needs {lesson.gigabytes:g} GB of memory")
    if lesson.ranks > 1 and facts.cores == 1:
        return Verdict(lesson, "slower", f"{lesson.ranks} ranks take turns on one core")
    if facts.memory_free is not None and facts.memory_free < lesson.gigabytes * GIGABYTE:
        return Verdict(lesson, "slower", f"less than {lesson.gigabytes:g} GB of memory are free")
    return Verdict(lesson, "yes")


def verdicts(facts: Facts, lessons: tuple[Lesson, ...] = LESSONS) -> list[Verdict]:
    """One for each lesson."""
    missing = [
        p.name for p in facts.packages if not p.group and p.found is None and p.name != "torch"
    ]
    blocked = f"{missing[0]} is missing" if missing else ""
    return [verdict(lesson, facts, blocked) for lesson in lessons]
