"""What a person sees of a verdict."""

from helpers.oracle import Comparison, Judgment
from helpers.oracle.__main__ import first_difference


def row(name, error=0.0, ok=True, kind="gradient"):
    return Comparison(kind, name, 0, error, 2.0, 1e-5, ok, "" if ok else "differs")


def test_a_right_verdict_says_how_far_off():
    verdict = Judgment(None, (), "", (row("a", 4e-7), row("b", 2e-6)), 3)
    assert verdict.ok and verdict.worst.name == "b"
    first = str(verdict).splitlines()[0]
    assert (
        first
        == "RIGHT: 2 tensors on 3 ranks are those of one device; the largest difference is 1.0e-06"
    )
    assert "right  gradient  a       0     2e-07       1e-05" in str(verdict)


def test_a_wrong_verdict_puts_the_wrong_first_and_names_the_mistake():
    verdict = Judgment(
        "all is <lost>", ("it rained",), "Note.", (row("a"), row("b", 1.0, False)), 1
    )
    text, html = str(verdict), verdict._repr_html_()
    assert text.startswith("WRONG: 1 of 2 tensors are not those of one device\n  Mistake: all is")
    assert "  Or: it rained." in text and "  Note." in text
    assert text.index("WRONG  gradient  b") < text.index("right  gradient  a")
    assert "all is &lt;lost&gt;" in html
    assert "<svg" not in html and "<style" not in html  # shown before a notebook is trusted, too
    assert verdict.worst.name == "b"


def test_a_long_table_is_cut_and_says_so():
    rows = tuple(row(f"r{n}") for n in range(40)) + tuple(row(f"w{n}", 1, False) for n in range(25))
    verdict = Judgment("no", (), "", rows, 1)
    assert "… and 45 more tensors, 5 wrong" in str(verdict)
    assert "… and 45 more tensors, 5 wrong" in verdict._repr_html_()
    assert "w19 " in str(verdict) and "w20 " not in str(verdict)
    assert "more tensors" not in verdict.table(most=65)
    assert "… and 3 more tensors, all right" in verdict.table(most=62)


def test_the_first_difference_is_the_gradient_nearest_to_the_output():
    right, weight = row("a"), row("b", ok=False, kind="weight")
    first, last = row("c", ok=False), row("d", ok=False)
    assert first_difference(Judgment(None, (), "", (weight, first, last, right), 3)) is last
    assert first_difference(Judgment(None, (), "", (right, weight), 3)) is weight
    assert first_difference(Judgment(None, (), "", (right,), 3)) is None
