"""The doctor's report: plain text that can be pasted into a question, and the same as HTML."""

import textwrap
from dataclasses import dataclass
from html import escape

from helpers.doctor.facts import Facts, Torch
from helpers.doctor.judge import Finding, Verdict

GIGABYTE = 10**9
WIDTH = 14


def size(count: int | None) -> str:
    """Bytes for people: "8.3 GB"."""
    return "unknown" if count is None else f"{count / GIGABYTE:.1f} GB"


def torch_words(torch: Torch) -> str:
    """torch in one line."""
    if torch.problem:
        return {"missing": "not installed"}.get(torch.problem, f"does not work: {torch.detail}")
    build = f"CUDA {torch.cuda} build" if torch.cuda else "CPU build"
    has = [f"NCCL {torch.nccl}"] if torch.nccl else []
    has += ["gloo"] if torch.gloo else []
    has += ["MPS"] if torch.mps else []
    return f"{torch.version} ({build}; {', '.join(has) or 'no way for ranks to talk'})"


def rows(facts: Facts) -> list[tuple[str, str]]:
    """What the machine has, as (name, words)."""
    gpus = [f"{name}, {size(memory)}" for name, memory in facts.torch.gpus]
    packages = [
        f"{p.name} {p.found or 'missing'}"
        + ("" if p.fits or not p.found else f" (needs {p.needed})")
        for p in facts.packages
        if p.name != "torch" and (p.found or not p.group)
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
        (
            "GPU",
            "; ".join(gpus) or ("Apple (MPS)" if facts.torch.mps else "none that torch can use"),
        ),
        ("NVIDIA driver", facts.nvidia_driver or "none"),
        ("processes", facts.processes or "can be started"),
        ("127.0.0.1", facts.loopback or "works"),
        ("packages", ", ".join(packages)),
        ("Chromium", facts.browser or "none (only for browser tests)"),
        ("mpirun", facts.mpirun or "none (only for starting ranks by MPI)"),
        ("C++ compiler", facts.compiler or "none (only for torch.compile)"),
    ]


@dataclass(frozen=True, repr=False)
class Report:
    """What `doctor()` returns. Print it, or leave it as the last value of a cell."""

    facts: Facts
    findings: tuple[Finding, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def ready(self) -> bool:
        """Whether every lesson runs here."""
        return not any(finding.level == "must" for finding in self.findings) and all(
            verdict.answer != "no" for verdict in self.verdicts
        )

    @property
    def headline(self) -> str:
        if not self.ready:
            return "This machine is not ready yet."
        slower = [v.lesson.number for v in self.verdicts if v.answer == "slower"]
        if slower:
            return f"Every lesson runs on this machine, slower: {', '.join(slower)}."
        return "Every lesson runs on this machine."

    @property
    def text(self) -> str:
        lines = [self.headline, ""]
        for level, title in (
            ("must", "To do first"),
            ("note", "Good to know"),
            ("may", "Optional"),
        ):
            found = [finding for finding in self.findings if finding.level == level]
            lines += [f"{title}:"] if found else []
            for number, finding in enumerate(found):
                lines += _wrapped("- ", "  ", finding.sentence)
                # One command may cure several things that stand one after the other.
                if finding.cure and finding.cure not in [f.cure for f in found[number + 1 :]]:
                    lines.append(f"      {finding.cure}")
            lines += [""] if found else []
        lines += ["Lessons:"]
        for verdict in self.verdicts:
            why = f" ({verdict.why})" if verdict.why else ""
            lines.append(f"  {verdict.lesson.number} {verdict.lesson.title}: {verdict.answer}{why}")
        lines += ["", "This machine:"]
        for name, words in rows(self.facts):
            lines += _wrapped(f"  {name:<{WIDTH}}", " " * (WIDTH + 2), words)
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # No colour carries a meaning, and none is set: dark and light themes both fit.
        parts = [f"<p><strong>{escape(self.headline)}</strong></p>"]
        for level, title in (
            ("must", "To do first"),
            ("note", "Good to know"),
            ("may", "Optional"),
        ):
            found = [finding for finding in self.findings if finding.level == level]
            if found:
                items = "".join(f"<li>{_finding(finding)}</li>" for finding in found)
                inside = f"<ul>{items}</ul>"
                if level == "may":
                    parts.append(f"<details><summary>{title}</summary>{inside}</details>")
                else:
                    parts.append(f"<p>{title}</p>{inside}")
        lessons = [
            (v.lesson.number, v.lesson.title, v.answer + (f" ({v.why})" if v.why else ""))
            for v in self.verdicts
        ]
        parts.append(_table(("", "lesson", "runs here"), lessons))
        parts.append(_table(("this machine", ""), rows(self.facts)))
        return "".join(parts)


def _wrapped(first: str, later: str, words: str) -> list[str]:
    return textwrap.wrap(
        words, 96, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )


def _finding(finding: Finding) -> str:
    cure = f"<pre>{escape(finding.cure)}</pre>" if finding.cure else ""
    return escape(finding.sentence) + cure


def _table(head: tuple[str, ...], body: list[tuple[str, ...]]) -> str:
    left = 'style="text-align:left"'
    top = "".join(f"<th {left}>{escape(cell)}</th>" for cell in head)
    lines = (
        "<tr>" + "".join(f"<td {left}>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in body
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
