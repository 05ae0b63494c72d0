"""A small repository of one lesson in a temporary folder, for the tests of the builder."""

from pathlib import Path

import pytest

from lessons.book import Book

REPOSITORY = Path(__file__).resolve().parents[2]
LESSON = """\
# %% [markdown]
# # Halving
#
# *Reading 5 minutes · tasks 0 · machine 1*
#
# *With twenty minutes: read it twice.*
#
# **Question.** How often can 8 be halved?

# %%
import sys
from helpers.lesson import predict, reveal, show
sys.path[:0] = ["../lab"]

predict("halving-1", "How often?", "twice", "three times")

# %%
from numbers_here import halves

print(halves(8))
reveal("halving-1")
len(halves(8))

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(3, 2))
figure.add_subplot().plot(halves(8))
show(figure, alt="The line falls from 8 to 1.")

# %% [markdown]
# ## What to remember
# Three times.

# %% tags=["time"]
from time import perf_counter

print("since the start:", perf_counter())

# %%
halves(2) == [2, 1]
"""

TRUTH = """
from helpers.lesson.asked import Prediction

PREDICTIONS = {"halving-1": Prediction("B", A="4 is not the end.", B="8, 4, 2, 1.")}
"""

SCRIPT = """
def halves(n):
    return [n] if n <= 1 else [n, *halves(n // 2)]
"""


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """The lesson `00_halving`, which imports a script of its own lab."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    files = {
        "notebooks/source/00_halving.py": LESSON,
        "lab/numbers_here.py": SCRIPT,
        "lab/build/made.py": "",
        "tasks/answers/halving.py": TRUTH,
        "elsewhere.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Book(tmp_path, "00_halving")
