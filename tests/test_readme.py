"""The README keeps its word: its ten lines run, its links lead somewhere, and it is short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.syllabus import LESSONS

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]


def test_it_is_short():
    assert len(README.splitlines()) - len(LESSONS) <= 100  # each lesson has its row


@pytest.mark.slow
def test_its_ten_lines_run_the_plan_simulate_it_and_draw_it(tmp_path):
    (script,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (tmp_path / "idea.py").write_text(script.replace("0.04", "0.005"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "idea.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
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
