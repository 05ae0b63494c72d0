"""What the pages in a browser need imports without the packages that only a machine has."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = ("torch", "numpy", "matplotlib", "traitlets", "anywidget", "ipywidgets")
PACKAGES = "trace draw waits cost schedules grid simulate search cluster timeline play".split()


def run(code: str) -> str:
    """What a fresh interpreter prints in which none of these packages can be imported."""
    code = f"import sys\nfor name in {BLOCKED}: sys.modules[name] = None\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_packages_import_alone():
    names = ", ".join(f"helpers.{name}" for name in PACKAGES)
    run(f"sys.path.insert(0, '.')\nimport {names}")


def test_what_sliders_ask_is_answered_alone():
    code = """
sys.path.insert(0, ".")
from helpers.timeline.packed import packed
from helpers.timeline.sliders import simulated
print(len(packed({"": simulated({"latency": 1}).trace})["events"]["row"]) > 99)
"""
    assert run(code).strip() == "True"


def test_puzzles_import_alone():
    code = "import importlib, pkgutil, cluster\nsys.path.insert(0, '..')\n"
    code += "for m in pkgutil.iter_modules(cluster.__path__, 'cluster.'):\n"
    code += "    if not m.name.endswith('__main__'): importlib.import_module(m.name)\n"
    run(f"sys.path.insert(0, {str(ROOT / 'puzzles')!r})\nsys.path.insert(1, '.')\n{code}")


def test_a_schedule_is_checked_simulated_searched_and_drawn_alone():
    code = """
sys.path.insert(0, ".")
from helpers.schedules import check, one_f_one_b
from helpers.search import search
from helpers.simulate import simulate
done = simulate(check(one_f_one_b(4, 8)))
print(len(done.idle) > 0, search(2, 4, walks=3).schedule.name)
"""
    said = run(code)
    assert said.split()[0] == "True"
