"""`python -m helpers.check.student [FOLDER]`: write a student's copy of the lab, without solutions.

It holds lessons, scripts and what they import, with a stub in the place of each solution. Tasks,
answers and the scripts as they were are in tasks.zip, so that nobody reads them by accident.
"""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from helpers.check.marks import regions, replaced
from helpers.check.task import LABS, PACKED, load_task
from helpers.clone import ROOT, need_clone
from helpers.plain_errors import plain_errors

COPIED = "helpers simplellm notebooks imgs demo.py pyproject.toml constraints.txt LICENSE"
COPIED += " LICENSE-TEXT .gitignore .devcontainer Dockerfile tools/install.py tools/on_volume.sh"
COPIED += " docs/glossary.md docs/scripts.md docs/torch.md"
LEFT_OUT = "notebooks/source/"
# What stands elsewhere here.
MOVED = {"README.student.md": "README.md", "tools/classroom.yml": ".github/workflows/tasks.yml"}
MADE = re.compile(r"(^|/)(\.|__pycache__|build/|runs/)|\.(pyc|log|hdf5)$|\.mine\d+\.py$")
MAKEFILE = """\
# The environment is that of the lab in which this copy was written; away from there, its own.
PYTHON ?= python3
VENV := $(if $(wildcard ../.venv/lab.done),../.venv,.venv)
export PYTHONPATH := $(CURDIR)

lab: $(VENV)/lab.done
\t$(VENV)/bin/python -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) \\
\t\t--ServerApp.root_dir=. notebooks/00_welcome.ipynb
progress: $(VENV)/lab.done
\t@$(VENV)/bin/python -m helpers.check --progress
.venv/lab.done:
\t@$(PYTHON) tools/install.py
"""


def write(out: Path) -> None:
    """Write the copy into a new folder: whole, or not at all.

    Raises:
        FileExistsError: the folder is there, and may hold somebody's work.
    """
    if out.exists():
        raise FileExistsError(f"{out} is there already, and stays as it is")
    new = out.with_name(f".{out.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        fill(new)
        new.rename(out)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def fill(out: Path) -> None:
    """Write the copy into a folder that isn't there."""
    names = [name for name in files() if name.startswith(tuple(f"{lab}/" for lab in LABS))]
    texts = {name: (ROOT / name).read_text("utf-8") for name in names if name.endswith(".py")}
    marked = {name: text for name, text in texts.items() if regions(text)}
    hidden = [*names, *(name for name in files() if name.startswith("tasks/"))]
    copied = tuple(f"{name}/" for name in COPIED.split())
    names += [name for name in files() if f"{name}/".startswith(copied)]
    for name in [*names, *MOVED]:
        if not name.startswith(LEFT_OUT):
            path = out / MOVED.get(name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, path)
    for name, text in marked.items():
        stubbed = replaced(text, lambda task, _: load_task(task).stub)
        (out / name).write_text(stubbed, "utf-8")
    for path in (out / "notebooks").glob("*.ipynb"):
        path.write_text(unread(path.read_text("utf-8")), "utf-8")
    with zipfile.ZipFile(out / PACKED, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in hidden:
            packed.write(ROOT / name, name)
    (out / "Makefile").write_text(MAKEFILE, "utf-8")


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
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    if not (ROOT / ".git").exists():
        paths = (path for path in ROOT.rglob("*") if path.is_file())
        found = (path.relative_to(ROOT).as_posix() for path in paths)
        names = [name for name in found if not MADE.search(name) or name == ".gitignore"]
    return sorted(name for name in names if name and (ROOT / name).is_file())


def main(arguments: list[str]) -> int:
    """Return 0 if a copy is there now, 1 if this is one."""
    out = Path(*arguments[:1] or [ROOT / "my-lab"]).absolute()
    if (ROOT / PACKED).exists():
        print("This is a student's copy already: there is nothing to write.")
        return 1
    need_clone()
    try:
        write(out)
        print(f"Your copy of the lab, without solutions: {out}")
    except FileExistsError:
        print(f"Your copy of the lab is there already, and stays as it is: {out}")
    print(f"To go on there at any time: cd {out} && make lab")
    print('Next: open a lesson; where it says "your turn", write in the file that it links to.')
    return 0


if __name__ == "__main__":
    with plain_errors():
        sys.exit(main(sys.argv[1:]))
