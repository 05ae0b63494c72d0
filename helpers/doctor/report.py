"""The report: what is wrong and its cure, which lessons will run, as plain text and as HTML."""

import textwrap
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import NamedTuple

from helpers.doctor.facts import Facts, Torch
from helpers.doctor.packages import in_range
from helpers.syllabus import Lesson

GIGABYTE = 10**9
# What the CUDA 13 build of torch needs; older drivers and cards take the CUDA 12.6 build.
CUDA_13_DRIVER = "580"
WIDTH = 14


class Finding(NamedTuple):
    """One thing the user should know.

    level: "must" (lessons fail), "may" (something optional is missing), "note".
    cure: the exact command, or "".
    """

    level: str
    sentence: str
    cure: str = ""


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


def findings(facts: Facts) -> list[Finding]:
    """Return what the user should know: of each level, what matters most comes first."""
    must, note, may = (partial(Finding, level) for level in ("must", "note", "may"))
    repair, torch, driver = partial(install, facts), facts.torch, facts.nvidia_driver
    misfits = [p for p in facts.packages if not p.fits]
    needed = ", ".join(
        f"{p.name} ({p.found} is here, {p.needed} is needed)" if p.found else p.name
        for p in misfits
        if not p.group and p.name != "torch"
    )
    tests = ", ".join(p.name for p in misfits if p.group == "test")
    hub = any(p.group == "hub" for p in misfits)
    full, one_core = facts.disk_free < GIGABYTE // 2, facts.cores == 1
    blind, unused = torch.cuda and not torch.gpus, torch.version and not torch.cuda and driver
    sees = blind and driver and f"torch (CUDA {torch.cuda}) sees no GPU with driver {driver}"
    old = sees and torch.cuda.startswith("13") and in_range(driver, f"<{CUDA_13_DRIVER}")
    table = (  # each sentence stands behind its condition and before its cure
        must(torch_problem(facts), repair()),
        must(needed and f"Packages are missing or of another version: {needed}.", repair()),
        must(facts.processes and f"No process can be started: {facts.processes}."),
        must(
            facts.loopback
            and f"Two programs on this machine cannot talk over 127.0.0.1: {facts.loopback}. "
            "Allow Python in the firewall."
        ),
        must(full and "The disk is almost full: keep half a gigabyte free."),
        note(
            one_core
            and "One core: every lesson computes the same numbers, but the ranks take turns on it. "
            "Expect two to three times the minutes, and no speed-up from more ranks."
        ),
        note(
            blind
            and not driver
            and "torch is a CUDA build and there is no NVIDIA driver: scripts use the CPU, too."
        ),
        may(
            old
            and f"{sees}: it needs driver {CUDA_13_DRIVER}. Update the driver, or take an older "
            "CUDA.",
            repair(torch="--torch-index https://download.pytorch.org/whl/cu126"),
        ),
        may(sees and not old and f"{sees}: scripts use the CPU, too."),
        may(
            unused
            and "There is an NVIDIA driver, but this torch has no CUDA: scripts use the CPU, too.",
            repair(torch="--torch cuda"),
        ),
        may(
            tests and f"To run the tests, these are missing or of another version: {tests}.",
            repair("test"),
        ),
        may(
            hub
            and "The real TinyStories from the hub need the package datasets; the lessons do not.",
            repair("hub"),
        ),
        may(not facts.mpirun and "No mpirun: only starting ranks by MPI needs it."),
        may(not facts.compiler and "No C++ compiler: only torch.compile needs one."),
    )
    return [finding for finding in table if finding.sentence]


def status(lesson: Lesson, facts: Facts) -> tuple[Lesson, str, str]:
    """Return the lesson, whether it runs ("yes", "slower" or "no"), and why ("" for a "yes")."""
    missing = [p.name for p in facts.packages if not (p.group or p.found or p.name == "torch")]
    room, need = f"{lesson.gigabytes:g} GB of memory", lesson.gigabytes * GIGABYTE
    little, little_free = (
        there is not None and there < need for there in (facts.memory, facts.memory_free)
    )
    in_turn = lesson.ranks > 1 and facts.cores == 1
    table = (
        ("no", torch_problem(facts) and "it needs torch"),
        ("no", missing and f"{missing[0]} is missing"),
        ("no", lesson.ranks and facts.processes and "it starts processes"),
        ("no", lesson.ranks and facts.loopback and "its ranks talk over 127.0.0.1"),
        ("no", little and f"it needs {room}"),
        ("slower", in_turn and f"{lesson.ranks} ranks take turns on one core"),
        ("slower", little_free and f"less than {room} are free"),
    )
    return lesson, *next((row for row in table if row[1]), ("yes", ""))


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
    statuses: tuple[tuple[Lesson, str, str], ...]  # what `status` returns

    @property
    def ready(self) -> bool:
        """Whether every lesson runs here."""
        return not any(finding.level == "must" for finding in self.findings) and all(
            answer != "no" for _, answer, _ in self.statuses
        )

    @property
    def headline(self) -> str:
        if not self.ready:
            return "This machine is not ready yet."
        slower = [lesson.number for lesson, answer, _ in self.statuses if answer == "slower"]
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
        for lesson, answer, why in self.statuses:
            words = f"{answer} ({why})" if why else answer
            lines.append(f"  {lesson.number} {lesson.title}: {words}")
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
