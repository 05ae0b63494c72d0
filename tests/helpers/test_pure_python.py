"""What pages in a browser and launchers import does without the packages of a machine."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCKED = ("torch", "numpy", "matplotlib", "traitlets", "anywidget", "ipywidgets")
NAMES = "doctor ranks trace draw waits cost schedules grid simulate search cluster timeline play"
CODE = f"""
import importlib, pkgutil, sys
for name in {BLOCKED}:
    sys.modules[name] = None
sys.path[:0] = [".", "puzzles"]
for name in "{NAMES}".split():
    importlib.import_module(f"helpers.{{name}}")
import cluster
for module in pkgutil.iter_modules(cluster.__path__, "cluster."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from helpers.timeline.packed import packed
from helpers.timeline.sliders import simulated
print(len(packed({{"": simulated({{"latency": 1}}).trace}})["events"]["row"]))
"""


def test_packages_import_and_sliders_are_answered():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 99
