"""What Slurm writes in a form of its own: steps, tasks on each node, lists of nodes."""

import re
from collections.abc import Mapping

LARGEST_STEP = 0xFFFFFF00  # above it Slurm numbers what is no step: a batch script, a shell


def is_step(environ: Mapping[str, str]) -> bool:
    """Whether srun started this process.

    In a batch script, and in a shell inside an allocation, its variables exist although srun did
    not start them; only a job step that it numbered 0, 1, … counts.
    """
    step = environ.get("SLURM_STEP_ID", "")
    return step.isdigit() and int(step) < LARGEST_STEP


def tasks_of_each_node(text: str) -> list[int]:
    """The short form spelled out: "4(x2),3" -> [4, 4, 3]; empty where it is no such form."""
    counts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if not found:
            return []
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def first_host(names: str) -> str:
    """The first host of a list: "node[03-05,9],gpu1" -> "node03"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", names.strip()).group()
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)
