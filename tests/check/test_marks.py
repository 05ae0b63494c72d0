"""Solutions in scripts: found, replaced, changed; a wrong mark is an error."""

import pytest

from helpers.check.marks import TaskError, regions, replaced

MARK = "SOLUTION"  # this file isn't one with solutions
TEXT = f"""\
def first():
    # BEGIN {MARK} DP-1
    for a in b:
        a += 1

    return a
    # END {MARK}
    # a comment: the end of the {MARK.lower()} is near

# BEGIN {MARK} PP-12
second = 2
# END {MARK}
"""


def test_solutions_are_replaced_and_all_else_stays():
    new = replaced(TEXT, lambda task, _: f"raise X(\n    {task!r}\n)")
    assert new.startswith("def first():\n    raise X(\n        'DP-1'\n    )\n    # a comment: ")
    assert new.endswith("\n\nraise X(\n    'PP-12'\n)\n")
    kept = replaced(TEXT, lambda _, body: body)
    assert kept == "".join(x for x in TEXT.splitlines(keepends=True) if MARK not in x)


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
