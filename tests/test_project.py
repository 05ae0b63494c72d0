"""Settings, pages, lessons and packages fit together, and no file names a machine or a person."""

import ast
import os
import platform
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import helpers
from helpers.syllabus import LESSONS, NUMBERS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]


def test_conda_installs_what_pyproject_names_and_nothing_else():
    plain = [entry for entry in CONDA["dependencies"] if isinstance(entry, str)]
    (pip,) = [entry["pip"] for entry in CONDA["dependencies"] if isinstance(entry, dict)]
    assert [re.split("[<>=]", entry)[0] for entry in plain] == ["python", "pip"]
    (torch,) = [name for name in PROJECT["dependencies"] if name.startswith("torch")]
    index = "--extra-index-url https://download.pytorch.org/whl/cpu"
    assert pip == [index, "-c constraints.txt", torch, "-e .[test]"]
    assert plain[0].removeprefix("python").startswith(PROJECT["requires-python"])
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f"OLDEST = ({oldest.replace('.', ', ')})" in (ROOT / "tools/install.py").read_text()


def test_torch_is_pinned_to_one_version_and_every_other_package_has_both_bounds():
    extras = PROJECT["optional-dependencies"]
    every = [*PROJECT["dependencies"], *extras["test"], *extras["site"], *extras["hub"]]
    for requirement in {*every} - {f"{PROJECT['name']}[site]"}:
        requirement, _, _ = requirement.partition(";")  # what follows says on which systems
        assert re.fullmatch(r"[\w.-]+(==[\d.]+|>=[\d.]+,<[\d.]+)", requirement), requirement
        assert "==" in requirement or not requirement.startswith("torch")


def test_a_release_has_one_version_and_the_readme_is_short():
    cff, log = ((ROOT / name).read_text("utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    (newest, *_) = re.findall(r"^## (\S+)", log, re.M)
    assert newest == PROJECT["version"] == re.search(r"^version: (\S+)", cff, re.M)[1]
    assert len(README.splitlines()) - len(LESSONS) <= 100  # each lesson has its row


def test_every_target_of_the_makefile_is_explained_and_what_it_and_workflows_run_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"\.PHONY: (.*\\\n.*)", makefile)[1].replace("\\", "").split()
    assert targets and all(re.search(rf"^{name}:.*  ## \w", makefile, re.M) for name in targets)
    run = {("Makefile", script) for script in re.findall(r"[\w/]+\.py", makefile)}
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert all(use.startswith("actions/") for use in re.findall(r"uses: (\S+)", text)), path
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}, path
        run |= {(path.name, script) for script in re.findall(r"(?:tools|\.ci)/[\w.]+", text)}
    for name, script in run:
        assert (ROOT / script).exists(), f"{name} runs {script}, which is not there"


# --- pages --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_readmes_ten_lines_run_the_plan_simulate_it_and_draw_it(tmp_path):
    (script,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (tmp_path / "idea.py").write_text(script.replace("0.04", "0.005"), encoding="utf-8")
    how = {"capture_output": True, "text": True, "env": os.environ | {"PYTHONPATH": str(ROOT)}}
    done = subprocess.run([sys.executable, "idea.py"], cwd=tmp_path, **how)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rank 0: F0 F1 F2 F3 B0")
    page = (tmp_path / "step.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_and_picture_of_a_page_exists(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    links += re.findall(r"(?:src|srcset)=\"([^\":]+)\"", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing and (links or page != ROOT / "README.md")


# --- lessons -------------------------------------------------------------------------------------


def test_files_and_titles_are_those_of_the_table_and_a_lesson_comes_after_what_it_needs():
    sources = sorted((ROOT / "notebooks/source").glob("*.py"))
    titles = [re.search(r"^# # (.+)$", path.read_text("utf-8"), re.M)[1] for path in sources]
    assert [(path.stem, title) for path, title in zip(sources, titles, strict=True)] == [
        (lesson.stem, lesson.title) for lesson in LESSONS
    ]
    built = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
    welcome = sources[0].read_text("utf-8")
    listed = re.findall(r"^# \| (\d\d) \| \[.+?\]\((\w+)\.ipynb\)", welcome, re.M)
    assert built == [lesson.stem for lesson in LESSONS]
    assert listed == [(name[:2], name) for name in built]
    names = [lesson.name for lesson in LESSONS]
    for place, lesson in enumerate(LESSONS):
        assert lesson.number == f"{place:02}" == NUMBERS[lesson.name]
        assert {*lesson.needs} <= {*names[:place]}, lesson.name


def test_a_lesson_that_is_linked_has_the_number_that_the_text_says():
    link = re.compile(r"\[(?:[Ll]essons? )?(\d\d)\]\([./]*(?:notebooks/)?(\d\d)_\w+\.")
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/source/*.py")]
    found = [(path, *pair) for path in texts for pair in link.findall(path.read_text("utf-8"))]
    assert len(found) > 70 and [each for each in found if each[1] != each[2]] == []


# --- packages ------------------------------------------------------------------------------------


def imported(path: Path) -> set[tuple[str, ...]]:
    """The parts of the names of all modules that a file imports, at its top or in a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level < 2, f"{path} imports from a folder above it"
            found |= {f"{node.module}.{a.name}" for a in node.names if not node.level}
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    return {tuple(name.split(".")) for name in found}


def test_each_package_imports_only_from_packages_before_it():
    """The list at the top of helpers/__init__.py goes from the ground up."""
    listed = re.search(r"before it:\n\n(.*?)\n\n", helpers.__doc__, re.S)[1]
    order = [name.strip(" .`") for name in listed.replace("\n", " ").split(",")]
    assert order[0] == "files" and order[-1] == "lesson" and len(set(order)) == len(order)
    for path in (ROOT / "helpers").rglob("*.py"):
        package = path.relative_to(ROOT / "helpers").parts[0].removesuffix(".py")
        if path.name == "__main__.py":  # programs for people, which nobody imports
            continue
        # What the list doesn't name can be used by every package, and uses none of them.
        allowed = order[: order.index(package) + 1] if package in order else []
        allowed += ["draw"] if package == "__init__" else []  # hooked in for those who mustn't
        uses = {name[1] for name in imported(path) if name[0] == "helpers" and len(name) > 1}
        wrong = uses & set(order) - set(allowed)
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}, not before {package}"
    for here, there in (("simplellm", "helpers"), ("helpers", "simplellm")):
        for path in (ROOT / here).rglob("*.py"):
            assert there not in {name[0] for name in imported(path)}, path


# --- what no file may say ------------------------------------------------------------------------

BEFORE = r"""(?:^|[\s"'`(=\[])"""  # a path begins here, and not in the middle of an address
# A folder of one person or one machine: where people keep homes and work.
PLACES = BEFORE + r"/(?:home|root|Users|work|workspace|srv)/[\w.-]+"


def test_no_file_names_a_machine_or_a_person():
    told = [BEFORE + re.escape(str(path)) for path in (Path.home(), ROOT) if len(path.parts) > 2]
    if len(platform.node()) > 6 and re.search(r"[\d.-]", platform.node()):  # no plain word
        told.append(rf"\b{re.escape(platform.node())}\b")
    pattern = re.compile("|".join([PLACES, *told]))
    assert pattern.search("cd /" + "home/ada")
    listed = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]
    assert len(paths) > 500
    for path in paths:
        if path.suffix not in (".model", ".png", ".jpg", ".pdf"):
            found = pattern.search(path.read_text(encoding="utf-8", errors="ignore"))
            assert not found, f"{path.relative_to(ROOT)} names a machine: {found[0]!r}"
