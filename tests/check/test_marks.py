"""A mark of a solution that is written wrong, so that it would reach students, is an error."""

import pytest

from helpers.check.marks import TaskError, regions

MARK = "SOLUTION"  # this file isn't one with solutions


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"\n# BEGIN {MARK} A-1\nx\n", 2),
        (f"# END {MARK}\n", 1),
        (f"# BEGIN {MARK} A-1\n# BEGIN {MARK} A-2\n# END {MARK}\n", 1),
        (f"a\n    # BEGIN {MARK} A-1\nx\n# END {MARK}\n", 2),
        (f"#BEGIN {MARK} A-1\nx\n#END {MARK}\n", 1),
        (f"# BEGIN {MARK} A-1\n#END {MARK}\n# END {MARK}\n", 2),
        (f"# begin {MARK.lower()} A-1\nx\n", 1),
    ],
)
def test_a_wrong_mark_is_an_error_that_names_its_line(text, line):
    with pytest.raises(TaskError, match=f"^line {line}, .*a mark without its partner"):
        regions(text)
