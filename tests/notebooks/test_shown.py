"""What no reader sees: words for the tools."""

import pytest

from lessons.book import read_source
from lessons.shown import as_shown


def test_no_reader_sees_the_words_for_the_tools():
    code = (
        'x = f(quick(40, 2), str(quick("a)", b[1])))  # fmt: skip\ny = 1  # noqa: E731\nz = 2  # so'
    )
    assert as_shown(code) == 'x = f(40, str("a)"))\ny = 1\nz = 2  # so'
    assert as_shown(code, quick=True).startswith("x = f(2, str(b[1]))\n")
    assert as_shown("quick((1, quick(2, 3)), 4)") == "(1, 2)"
    with pytest.raises(ValueError, match=r"quick takes two values, .*: quick\(1\)"):
        as_shown("quick(1)")
    with pytest.raises(ValueError, match="never ends: quick"):
        as_shown("quick(1, (2)")


def test_the_notebook_has_the_full_steps_and_the_walk_the_few(book):
    text = book.source.read_text(encoding="utf-8")
    book.source.write_text(text.replace("print(halves(8))", "print(halves(quick(8, 2)))  # noqa"))
    for quick, line in ((False, "print(halves(8))"), (True, "print(halves(2))")):
        cells = read_source(book.source, quick=quick).cells
        assert [cell for cell in cells if line in cell.source.splitlines()]
