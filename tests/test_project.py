"""What holds the project together: settings, the order of the packages, what no file may say."""

import ast
import functools
import json
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

import helpers
from helpers.syllabus import LESSONS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
# Light to import: they are used where torch may be missing, or must start quickly.
LIGHT = ("helpers.files", "helpers.trace", "helpers.draw", "helpers.doctor", "helpers.ranks")


def files(*endings: str) -> list[Path]:
    """The project's own files: what git tracks or would track, or every file where git is not."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    paths = [ROOT / name for name in names if name] or [
        path for path in ROOT.rglob("*") if not {".venv", ".git", "build"} & set(path.parts)
    ]
    return [path for path in paths if path.is_file() and (not endings or path.suffix in endings)]


def some(found: Iterable) -> list:
    """What was found, in order: a search that finds nothing would prove anything of it."""
    assert (listed := sorted(found)), "there is nothing to test: has it moved?"
    return listed


# --- settings ------------------------------------------------------------------------------------


def test_conda_installs_what_pyproject_names_and_nothing_else():
    plain = [entry for entry in CONDA["dependencies"] if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict)]
    assert [re.split("[<>=]", entry)[0] for entry in plain] == ["python", "pip"]
    (torch,) = [name for name in PROJECT["dependencies"] if name.startswith("torch")]
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert pip == [index, "-c constraints.txt", torch, "-e .[test]"]
    assert CONDA["name"] == PROJECT["name"]


def test_conda_and_pyproject_ask_for_the_same_python():
    (python,) = [entry for entry in CONDA["dependencies"] if str(entry).startswith("python")]
    assert python.removeprefix("python").startswith(PROJECT["requires-python"])
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"OLDEST = ({oldest.replace('.', ', ')})" in (ROOT / "tools/install.py").read_text()


def test_torch_is_pinned_to_one_version_and_every_other_package_has_both_bounds():
    (torch,) = [name for name in PROJECT["dependencies"] if name.startswith("torch")]
    assert re.fullmatch(r"torch==\d+\.\d+\.\d+", torch)
    extras = PROJECT["optional-dependencies"]
    for requirement in [*PROJECT["dependencies"], *extras["test"], *extras["hub"]]:
        requirement, _, _ = requirement.partition(";")  # what follows says on which systems
        bounds = re.fullmatch(r"[\w.-]+(==[\d.]+|>=[\d.]+,<[\d.]+)", requirement)
        assert bounds, f"{requirement}: give both bounds, or one exact version"


def test_licence_files_are_there_and_name_what_they_cover():
    for name in PROJECT["license-files"]:
        assert (ROOT / name).is_file()
    text = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    assert "https://creativecommons.org/licenses/by/4.0/" in text and "README.md" in text
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


def test_a_release_has_one_version():
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## (\S+)", log, re.M)
    assert newest == PROJECT["version"] == re.search(r"^version: (\S+)", cff, re.M)[1]


def test_workflows_use_nobody_elses_actions_and_run_what_exists():
    scripts = set()
    ours, students = (ROOT / ".github" / "workflows").glob("*.yml"), (ROOT / "tools").glob("*.yml")
    for path in some([*ours, *students]):
        text = path.read_text(encoding="utf-8")
        assert all(use.startswith("actions/") for use in some(re.findall(r"uses: (\S+)", text)))
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        scripts |= {(path.name, script) for script in re.findall(r"(?:tools|\.ci)/[\w.]+", text)}
    for name, script in some(scripts):
        assert (ROOT / script).is_file(), f"{name} runs {script}, which is not there"


def test_every_target_of_the_makefile_is_explained_and_runs_something_that_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"\.PHONY: (.*\\\n.*)", makefile)[1].replace("\\", "").split()
    for target in some(targets):
        assert re.search(rf"^{target}:.*  ## \w", makefile, re.M), f"{target} has no words"
    for script in some(re.findall(r"[\w/]+\.py", makefile)):
        assert (ROOT / script).is_file(), f"the Makefile runs {script}, which is not there"


def test_every_notebook_has_its_row_in_the_syllabus():
    listed = {lesson.number: lesson.title for lesson in LESSONS}
    for source in some((ROOT / "notebooks" / "source").glob("[0-9][0-9]_*.py")):
        title = re.search(r"^# # (.+)$", source.read_text(encoding="utf-8"), re.M).group(1)
        said = f"helpers/syllabus.py has another title for {source.name}, or none"
        assert listed.get(source.name[:2]) == title, said


def test_the_image_runs_under_any_user_of_group_0():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert (
        "ENV HOME=/home/${NB_USER}" in text
        and "useradd --create-home --uid ${NB_UID} --gid 0" in text
    )
    assert set(re.findall(r"(?:chown[= ])\S+?:(\S+)", text)) == {"0"}
    (install,) = [
        line for line in text.splitlines() if "tools/install.py" in line and "RUN" in line
    ]
    assert install.endswith("&& chmod -R g=u ${HOME}")  # in one layer, or all of it is there twice


def test_the_page_on_hosts_names_the_lessons_that_need_more_memory_than_binder_has():
    text = (ROOT / "docs" / "hosted.md").read_text(encoding="utf-8")
    large = [lesson for lesson in LESSONS if lesson.gigabytes > 2]
    assert {lesson.gigabytes for lesson in large} == {3}
    assert f"(lessons {' and '.join(lesson.number for lesson in large)} ask for 3)" in text


def test_neighbors_are_spelled_in_one_way():
    british = "neighb" + "our"
    for path in files(".py", ".md"):
        text = path.read_text(encoding="utf-8").lower()
        assert british not in text.replace(f"{british}s(rank, ", ""), path  # a name that work calls


def test_a_page_that_names_a_system_says_what_was_tested():
    told = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    untested = told.partition("Meant to work but not tested:")[2].partition("\n\n")[0]
    for name in ("README.md", "README.student.md", "TEACHING.md", "docs/installing.md"):
        path = ROOT / name
        text = path.read_text(encoding="utf-8") if path.is_file() else ""  # not in a student's copy
        for system in (system for system in ("macOS", "Windows") if system in untested):
            assert system not in text or "measured.md#what-was-tested" in text, f"{name}: {system}"


# --- packages ------------------------------------------------------------------------------------


def packages() -> list[str]:
    """The packages of helpers/ from the ground up, as its own description lists them."""
    listed = re.search(r"before it:\n\n(.*?)\n\n", helpers.__doc__, re.S).group(1)
    return [name.strip(" .`") for name in listed.replace("\n", " ").split(",")]


@functools.cache
def imported(path: Path) -> set[str]:
    """The full names of all modules that a file imports, at its top or inside a function."""
    inside = path.relative_to(ROOT).with_suffix("").parts
    package = inside[:-1]  # of an __init__ too: its own folder
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            found.add(module)
            found |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found |= {a.value for a in node.args if isinstance(a, ast.Constant)}
    return found


def arrows(path: Path) -> set[str]:
    """The packages of helpers/ that a file imports from."""
    parts = [name.split(".") for name in imported(path)]
    return {names[1] for names in parts if names[0] == "helpers" and len(names) > 1}


def package_of(path: Path) -> str:
    return path.relative_to(ROOT / "helpers").parts[0].removesuffix(".py")


def of_helpers() -> list[Path]:
    """The files of helpers/ but for the programs for people, which nobody imports."""
    paths = some((ROOT / "helpers").rglob("*.py"))
    return [path for path in paths if path.name != "__main__.py"]


def test_each_package_imports_only_from_packages_before_it():
    order = packages()
    assert order[0] == "files" and order[-1] == "lesson" and len(set(order)) == len(order)
    for path in of_helpers():
        package = package_of(path)
        # What the list does not name can be used by every package, and uses none of them.
        allowed = order[: order.index(package) + 1] if package in order else []
        allowed += HOOKED_IN if package == "__init__" else []
        for name in arrows(path) & set(order) - set(allowed):
            raise AssertionError(
                f"{path.relative_to(ROOT)} imports helpers.{name}, which is not before {package}"
            )


# What helpers/__init__.py hooks in, because those that call it mustn't import it.
HOOKED_IN = ["draw"]
# The order of the list forbids these too. They stand here by name, so that nobody allows one by
# moving a package in the list: no way leads from these packages to those, however long.
NEVER = {
    ("ranks", "hang", "waits", "network"): "draw timeline play check lesson",
    ("schedules", "simulate", "search", "pipeline"): "draw timeline play check lesson",
    ("draw", "timeline", "play"): "check lesson",
}


@pytest.mark.parametrize("packages", NEVER, ids=" ".join)
def test_no_way_leads_from_a_package_to_one_that_it_must_not_know(packages):
    known: dict[str, set[str]] = {}
    for path in of_helpers():
        known.setdefault(package_of(path), set()).update(arrows(path))
    reached, new = set(packages), set(packages)
    while new:
        new = set().union(*(known.get(name, set()) for name in new)) - reached
        reached |= new
    told = sorted(reached & set(NEVER[packages].split()))
    assert not told, f"{packages} must not know {told}, and imports lead there"


def test_the_models_and_the_helpers_do_not_know_each_other():
    for here, there in (("simplellm", "helpers"), ("helpers", "simplellm")):
        for path in some((ROOT / here).rglob("*.py")):
            known = {name.split(".")[0] for name in imported(path)}
            assert there not in known, f"{path.relative_to(ROOT)} imports {there}"


@pytest.mark.parametrize("module", LIGHT)
def test_a_light_package_does_not_import_torch(module):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    code += f"import {module}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


# --- what no file may say ------------------------------------------------------------------------

BEFORE = r"""(?:^|[\s"'`(=\[])"""  # a path begins here, and not in the middle of an address
# A folder of one person or one machine: where people keep homes and work.
PLACES = re.compile(BEFORE + r"(/(?:home|root|Users|work|workspace|srv)/[\w.-]+)")
# Accounts and machines are called so, and so are folders, users in examples and plain words.
ORDINARY = "ada bob student lab data dev docs tests bench models train main tools home build user"
ORDINARY = [*ORDINARY.split(), "ubuntu", "debian", "laptop", "localhost", "runner", "node2"]


def of_here(home: Path, root: Path, machine: str) -> re.Pattern:
    """What would tell whose machine this is: its home, its clone, and a name that is no word."""
    folders = [str(path) for path in (home, root) if len(path.parts) > 2]
    told = [BEFORE + re.escape(folder) + r"(?![\w-])" for folder in folders]
    if len(machine) > 6 and re.search(r"[\d.-]", machine):
        told.append(rf"\b{re.escape(machine)}\b")
    return re.compile("|".join(told) or r"(?!)")


def sayings(path: Path) -> str:
    """The text of a file; of a notebook, its sources and outputs, without pictures."""
    text = path.read_text(encoding="utf-8", errors="ignore")
    if path.suffix != ".ipynb":
        return text
    said = []
    for cell in json.loads(text)["cells"]:
        said.append("".join(cell["source"]))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            said += ["".join(text) for kind, text in data.items() if kind.startswith("text/")]
            said += ["".join(output.get("text", "")), "\n".join(output.get("traceback", []))]
    return "\n".join(said)


@functools.cache
def everything_said() -> dict[Path, str]:
    pictures = (".model", ".png", ".jpg", ".pdf")
    return {path: sayings(path) for path in files() if path.suffix not in pictures}


def test_no_file_names_a_machine_or_a_person():
    here = of_here(Path.home(), ROOT, platform.node())
    assert len(everything_said()) > 500
    for path, text in everything_said().items():
        for found in (here.search(text), PLACES.search(text)):
            said = f"{path.relative_to(ROOT)} names a machine: {found and found.group()!r}"
            assert not found, said


def test_no_ordinary_name_of_an_account_is_taken_for_a_secret():
    """Only its folders are, and `PLACES` finds those of every account."""
    for name in ORDINARY:
        here = of_here(Path("/home", name), Path("/home", name, "lab"), name)
        for folder in (f"saved to /home/{name}/lab/x.svg", f"cd /home/{name}"):
            assert here.search(folder) and PLACES.search(folder)
        assert not here.search(f"{name}, the {name} of x/{name}/{name}.py and '{name}@{name}:1'")


def test_what_tells_whose_machine_it_is_is_found():
    here = of_here(Path("/data/people/grace"), Path("/scratch/lab"), "graces-laptop")
    for told in ("x = '/data/people/grace/x.py'", "cd /scratch/lab", "rank 0 on graces-laptop:"):
        assert here.search(told)
    assert not here.search("/data/people/graceful and https://example.org/scratch/lab")
    assert not of_here(Path("/root"), Path("/lab"), "").search("/root /lab")
    made = "/".join(["", "home", "grace", "lab"])
    assert PLACES.search(f'File "{made}/x.py"') and PLACES.search(f"cd {made}")
    assert not PLACES.search("https://example.org/home/grace") and not PLACES.search("a/work/b")
