"""One symbol for one thing (docs/notation.md): the clashes that readers stumbled over."""

import re

import pytest

from lessons.book import books, read_source
from tests.notebooks.test_rules import REPOSITORY

MATH = re.compile(r"\$\$.+?\$\$|\$[^$\n]+(?:\n[^$\n]*)?\$", re.DOTALL)
WORDS = re.compile(r"\\(?:text|operatorname|mathrm|mathsf)\{[^}]*\}|\\[a-zA-Z]+")
SCALING_LAWS = "09_what_training_costs"  # N and D are Chinchilla's there


def clashes(lesson: str, text: str) -> list[str]:
    """Return the formulas of a text in which a letter stands for what another one stands for."""
    found = re.findall(r"\$[RPN]\$ ranks", text)
    for formula in MATH.findall(text):
        letters = set(re.findall(r"(?<![a-zA-Z])[A-Z](?![a-zA-Z])", WORDS.sub(" ", formula)))
        wrong = letters & {"R"} | (letters & {"N"} if lesson != SCALING_LAWS else set())
        found += [formula] if wrong or r"\Psi" in formula else []
    return found


@pytest.mark.parametrize("book", books(REPOSITORY, []), ids=lambda book: book.name)
def test_ranks_are_n_and_parameters_are_P(book):
    cells = read_source(book.source).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    assert [each for text in texts for each in clashes(book.name, text)] == []


def test_a_clash_is_seen_and_other_letters_are_free():
    for text in (r"of $P$ ranks", r"$\frac{R-1}{R}$", r"each of $N$", r"$16\,\Psi$ bytes"):
        assert clashes("13_tensor_parallel", text), text
    assert clashes("14_long_context", r"$P = \text{softmax of N}(S)$ with $n$ ranks") == []
