"""The report: what is wrong and its cure, which lessons will run, as plain text and as HTML."""

import textwrap
from dataclasses import dataclass
from html import escape

from helpers.doctor.facts import Facts, Torch
from helpers.doctor.packages import in_range
from helpers.syllabus import LESSONS, Lesson

GIGABYTE = 10**9
# What the CUDA 13 build of torch needs; older drivers and cards take the CUDA 12.6 build.
CUDA_13_DRIVER = "580"
WIDTH = 14


@dataclass(frozen=True)
class Finding:
    """One thing the user should know.

    level: "must" (lessons fail), "may" (something optional is missing), "note".
    cure: the exact command, or "".
    """

    level: str
    sentence: str
    cure: str = ""


@dataclass(frozen=True)
class LessonStatus:
    """Whether a lesson runs: "yes", "slower" or "no", and why ("" for a plain yes)."""

    lesson: Lesson
    answer: str
    why: str = ""


def install(facts: Facts, extra: str = "", torch: str = "") -> str:
    """Return the command, to be run in the lab's folder, that repairs the current environment.

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
    """Return the range of torch versions that pyproject.toml requires."""
    return next(p.needed for p in facts.packages if p.name == "torch" and not p.group)


def torch_problem(facts: Facts) -> str:
    """Return what is wrong with torch in one sentence, or ""."""
    needed = torch_needed(facts)
    wanted = needed.removeprefix("==")
    torch = facts.torch
    if torch.problem == "missing":
        return f"torch is not installed; the lessons need torch {wanted}."
    if torch.problem:
        return f"torch does not work here: {torch.detail}."
    if in_range(torch.version, needed):
        return "" if torch.gloo else f"torch {torch.version} was built without gloo: ranks need it."
    age = "too old" if in_range(torch.version, f"<{wanted}") else "another version"
    return f"torch {torch.version} is {age}: the lessons were made and tested with torch {wanted}."


def must(facts: Facts) -> list[Finding]:
    """Return what keeps lessons from running."""
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
    """Return what the user should know although the lessons run."""
    found = []
    if facts.cores == 1:
        found.append(
            Finding(
                "note",
                "One core: every lesson computes the same numbers, but the ranks take turns on it. "
                "Expect two to three times the minutes, and no speed-up from more ranks.",
            )
        )
    if facts.torch.cuda and not facts.torch.gpus:
        found.append(no_gpu(facts))
    elif facts.nvidia_driver and facts.torch.version and not facts.torch.cuda:
        said = "There is an NVIDIA driver, but this torch has no CUDA: scripts use the CPU, too."
        found.append(Finding("may", said, install(facts, torch="--torch cuda")))
    return found


def no_gpu(facts: Facts) -> Finding:
    """Explain why a CUDA build sees no GPU."""
    driver = facts.nvidia_driver
    if driver is None:
        said = "torch is a CUDA build and there is no NVIDIA driver: scripts use the CPU, too."
        return Finding("note", said)
    old = facts.torch.cuda.startswith("13") and in_range(driver, f"<{CUDA_13_DRIVER}")
    said = f"torch (CUDA {facts.torch.cuda}) sees no GPU with driver {driver}"
    if old:
        index = "https://download.pytorch.org/whl/cu126"
        said += f": it needs driver {CUDA_13_DRIVER}. Update the driver, or take an older CUDA."
        return Finding("may", said, install(facts, torch=f"--torch-index {index}"))
    return Finding("may", said + ": scripts use the CPU, too.")


def optional(facts: Facts) -> list[Finding]:
    """Return what is missing but needed only for some uses."""
    found = []
    bad = [p.name for p in facts.packages if p.group == "test" and not p.fits]
    if bad:
        said = f"To run the tests, these are missing or of another version: {', '.join(bad)}."
        found.append(Finding("may", said, install(facts, "test")))
    if any(p.group == "hub" and not p.fits for p in facts.packages):
        said = "The real TinyStories from the hub need the package datasets; the lessons do not."
        found.append(Finding("may", said, install(facts, "hub")))
    if facts.mpirun is None:
        found.append(Finding("may", "No mpirun: only starting ranks by MPI needs it."))
    if facts.compiler is None:
        found.append(Finding("may", "No C++ compiler: only torch.compile needs one."))
    return found


def status(lesson: Lesson, facts: Facts, blocked: str = "") -> LessonStatus:
    """Return whether one lesson runs. blocked: why no lesson that needs packages can run."""
    if torch_problem(facts):
        return LessonStatus(lesson, "no", "it needs torch")
    if blocked:
        return LessonStatus(lesson, "no", blocked)
    if lesson.ranks and facts.processes:
        return LessonStatus(lesson, "no", "it starts processes")
    if lesson.ranks and facts.loopback:
        return LessonStatus(lesson, "no", "its ranks talk over 127.0.0.1")
    if facts.memory is not None and facts.memory < lesson.gigabytes * GIGABYTE:
        return LessonStatus(lesson, "no", f"it needs {lesson.gigabytes:g} GB of memory")
    if lesson.ranks > 1 and facts.cores == 1:
        return LessonStatus(lesson, "slower", f"{lesson.ranks} ranks take turns on one core")
    if facts.memory_free is not None and facts.memory_free < lesson.gigabytes * GIGABYTE:
        return LessonStatus(
            lesson, "slower", f"less than {lesson.gigabytes:g} GB of memory are free"
        )
    return LessonStatus(lesson, "yes")


def statuses(facts: Facts) -> list[LessonStatus]:
    """Return one status for each lesson."""
    missing = [
        p.name for p in facts.packages if not p.group and p.found is None and p.name != "torch"
    ]
    blocked = f"{missing[0]} is missing" if missing else ""
    return [status(lesson, facts, blocked) for lesson in LESSONS]


def size(count: int | None) -> str:
    """Format bytes: "8.3 GB"."""
    return "unknown" if count is None else f"{count / GIGABYTE:.1f} GB"


def torch_words(torch: Torch) -> str:
    """Describe torch in one line."""
    if torch.problem:
        return {"missing": "not installed"}.get(torch.problem, f"does not work: {torch.detail}")
    build = f"CUDA {torch.cuda} build" if torch.cuda else "CPU build"
    has = [f"NCCL {torch.nccl}"] if torch.nccl else []
    has += ["gloo"] if torch.gloo else []
    has += ["MPS"] if torch.mps else []
    return f"{torch.version} ({build}; {', '.join(has) or 'no way for ranks to talk'})"


def rows(facts: Facts) -> list[tuple[str, str]]:
    """Return what the machine has, as (name, words)."""
    gpus = "; ".join(f"{name}, {size(memory)}" for name, memory in facts.torch.gpus)
    gpus += " (for scripts; lessons compute on the processor)" if gpus else ""
    packages = [
        f"{p.name} {p.found or 'missing'}"
        + ("" if p.fits or not p.found else f" (needs {p.needed})")
        for p in facts.packages
        if p.name != "torch" and not p.group
    ]
    cores = f"{facts.cores} usable"
    if facts.cores_in_all != facts.cores:
        cores += f" of {facts.cores_in_all}"
    return [
        ("system", facts.system),
        ("Python", f"{facts.python}, {facts.environment}"),
        ("cores", cores),
        ("memory", f"{size(facts.memory)}, {size(facts.memory_free)} free"),
        ("disk", f"{size(facts.disk_free)} free"),
        ("torch", torch_words(facts.torch)),
        ("GPU", gpus or ("Apple (MPS)" if facts.torch.mps else "none that torch can use")),
        ("NVIDIA driver", facts.nvidia_driver or "none"),
        ("processes", facts.processes or "can be started"),
        ("127.0.0.1", facts.loopback or "works"),
        ("packages", ", ".join(packages)),
        ("mpirun", facts.mpirun or "none (only for starting ranks by MPI)"),
        ("C++ compiler", facts.compiler or "none (only for torch.compile)"),
    ]


@dataclass(frozen=True, repr=False)
class Report:
    """What `doctor()` returns. Print it, or leave it as the last value of a cell."""

    facts: Facts
    findings: tuple[Finding, ...]
    statuses: tuple[LessonStatus, ...]

    @property
    def ready(self) -> bool:
        """Whether every lesson runs here."""
        return not any(finding.level == "must" for finding in self.findings) and all(
            status.answer != "no" for status in self.statuses
        )

    @property
    def headline(self) -> str:
        if not self.ready:
            return "This machine is not ready yet."
        slower = [v.lesson.number for v in self.statuses if v.answer == "slower"]
        if slower:
            return f"Every lesson runs on this machine, slower: {', '.join(slower)}."
        return "Every lesson runs on this machine."

    @property
    def text(self) -> str:
        lines = [*_wrapped("", "", self.headline), ""]
        for level, title in (
            ("must", "To do first"),
            ("note", "Good to know"),
            ("may", "Optional"),
        ):
            found = [finding for finding in self.findings if finding.level == level]
            lines += [f"{title}:"] if found else []
            for number, finding in enumerate(found):
                lines += _wrapped("- ", "  ", finding.sentence)
                # One command may cure several findings: print it after the last of them.
                if finding.cure and finding.cure not in [f.cure for f in found[number + 1 :]]:
                    lines.append(f"      {finding.cure}")
            lines += [""] if found else []
        lines += ["Lessons:"]
        for status in self.statuses:
            why = f" ({status.why})" if status.why else ""
            lines.append(f"  {status.lesson.number} {status.lesson.title}: {status.answer}{why}")
        lines += ["", "This machine:"]
        for name, words in rows(self.facts):
            lines += _wrapped(f"  {name:<{WIDTH}}", " " * (WIDTH + 2), words)
        return "\n".join(lines)

    @property
    def short(self) -> str:
        """Return one line if all is well, and else what keeps lessons from running, and its cure.

        What only tests, authors and people with questions need stays in `text`.
        """
        if self._shown:
            below = (line for f in self._shown for line in (f.sentence, f.cure) if line)
            return "\n".join((self.headline, *below))
        return f"{self.headline[:-1]}: {self.machine}."

    @property
    def machine(self) -> str:
        """Return the machine in a few words."""
        facts = self.facts
        gpus = "; ".join(name for name, _ in facts.torch.gpus)
        cores = f"{facts.cores} core{'s' * (facts.cores > 1)}"
        memory = f"{size(facts.memory)} of memory"
        return f"{cores}, {memory}, {gpus or 'no GPU that torch can use, and none is needed'}"

    @property
    def _shown(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.level != "may"]

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.short

    def _repr_html_(self) -> str:
        # No color carries a meaning, and none is set: dark and light themes both fit.
        if not self._shown and self.ready:
            return f"<p><strong>{escape(self.short)}</strong></p>"
        whole = (
            f"<details><summary>the whole report</summary><pre>{escape(self.text)}</pre></details>"
        )
        return f"<pre>{escape(self.short)}</pre>{whole}"


def _wrapped(first: str, later: str, words: str) -> list[str]:
    return textwrap.wrap(
        words, 96, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
