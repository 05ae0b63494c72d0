"""`python -m helpers.check.student [FOLDER]`: write a student's copy of the lab, without solutions.

It holds lessons, scripts and what they import, with a stub in the place of each solution. Tasks,
answers and the scripts as they were are in tasks.zip, so that nobody reads them by accident.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from helpers.check.marks import replaced
from helpers.check.task import LABS, PACKED, load_task
from helpers.clone import ROOT, need_clone
from helpers.plain_errors import plain_errors

COPIED = "helpers simplellm notebooks imgs demo.py pyproject.toml constraints.txt LICENSE"
COPIED += " LICENSE-TEXT .gitignore .devcontainer Dockerfile tools/install.py tools/on_volume.sh"
COPIED += " docs/glossary.md docs/scripts.md docs/torch.md bench/cluster_model"
LEFT_OUT = "notebooks/source/"
# What stands elsewhere here.
MOVED = {"README.student.md": "README.md", "tools/student.Makefile": "Makefile"}
MOVED |= {"tools/classroom.yml": ".github/workflows/tasks.yml"}
MADE = re.compile(r"(^|/)(\.|__pycache__|build/|runs/)|\.(pyc|log|hdf5)$|\.mine\d+\.py$")


def write(out: Path) -> None:
    """Write the copy into a new folder: whole, or not at all."""
    new = out.with_name(f".{out.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        fill(new)
        new.rename(out)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def fill(out: Path) -> None:
    labs, rest = (tuple(f"{name}/" for name in names) for names in (LABS, COPIED.split()))
    for name in [*(name for name in files() if f"{name}/".startswith(labs + rest)), *MOVED]:
        if not name.startswith(LEFT_OUT):
            path = out / MOVED.get(name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path)
    for path in (path for lab in LABS for path in (out / lab).rglob("*.py")):
        stubbed = replaced(path.read_text("utf-8"), lambda task, _: load_task(task).stub)
        path.write_text(stubbed, "utf-8")
    for path in (out / "notebooks").glob("*.ipynb"):
        path.write_text(unread(path.read_text("utf-8")), "utf-8")
    with zipfile.ZipFile(out / PACKED, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in files():
            if name.startswith((*labs, "tasks/")):
                packed.write(ROOT / name, name)


def unread(text: str) -> str:
    """Return a notebook as before anybody has run it, without links to pages that stay behind."""
    notebook = json.loads(text)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
        kept = r"\[([^]]*)\]\(\.\./docs/(?!glossary|scripts|torch)[^)]*\)"
        cell["source"] = re.sub(kept, r"\1", "".join(cell["source"])).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def files() -> list[str]:
    """Return the files of the lab: what git tracks; without git, what nothing has made."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "-z"]
        names = subprocess.check_output(command, cwd=ROOT, text=True).split("\0")
    else:
        found = (path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*"))
        names = [name for name in found if not MADE.search(name) or name == ".gitignore"]
    return sorted(name for name in names if (ROOT / name).is_file())


def main(arguments: list[str]) -> int:
    """Return 0 if a copy is there now, 1 if this is one."""
    parser = argparse.ArgumentParser("helpers.check.student", description=__doc__)
    parser.add_argument("folder", nargs="?", default=ROOT / "my-lab", type=Path)
    out = parser.parse_args(arguments).folder.absolute()
    if out.is_file():
        parser.error(f"{out} is a file: name a folder")
    if (ROOT / PACKED).exists():
        print("This is a student's copy already: there is nothing to write.")
        return 1
    need_clone()
    if out.exists():  # it may hold somebody's work
        print(f"Your copy of the lab is there already, and stays as it is: {out}")
    else:
        write(out)
        print(f"Your copy of the lab, without solutions: {out}")
    print(f"To go on there at any time: cd {out} && make lab")
    print('Next: open a lesson; where it says "your turn", write in the file that it links to.')
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main(sys.argv[1:]))
