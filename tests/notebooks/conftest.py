"""A small repository of one lesson in a temporary folder, for the tests of the builder."""

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY / "tools"))  # where the builder finds its parts when it is run

from lessons.book import Book  # noqa: E402

LESSON = """
# %% [markdown]
# # Halving
#
# *Reading 1 minute · tasks 0 · machine 1*
#
# *With twenty minutes: read it twice.*
#
# **Question.** How often can 8 be halved?

# %%
# needs: data/*.txt
from helpers.lesson import predict, reveal, show

predict("L00-1", "How often?", "twice", "three times")

# %%
from numbers_here import halves

print(halves(8))
reveal("L00-1")
len(halves(8))

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(3, 2))
figure.add_subplot().plot(halves(8))
show(figure, alt="The line falls from 8 to 1.")

# %% [markdown]
# ## What to remember
# Three times.

# %%
halves(2) == [2, 1]
"""

TRUTH = """
from helpers.lesson.asked import Prediction

PREDICTIONS = {"L00-1": Prediction("B", "8, 4, 2, 1.", {"A": "4 is not the end."})}
"""

MODULE = """
def halves(n):
    from tables.small import STOP

    return [n] if n <= STOP else [n, *halves(n // 2)]
"""


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    """The lesson `00_halving`, which imports a module that imports a package; it needs a file."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    files = {
        "notebooks/source/00_halving.py": LESSON,
        "notebooks/numbers_here.py": MODULE,
        "tasks/truth/lesson_00.py": TRUTH,
        "notebooks/tables/__init__.py": "",
        "notebooks/tables/small.py": "STOP = 1\n",
        "notebooks/tables/assets/small.txt": "1\n",
        "notebooks/unused.py": "",
        "data/eight.txt": "8\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Book(tmp_path, "00_halving")
