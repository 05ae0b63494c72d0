import textwrap

import pytest

from helpers.grade.marks import MarkError, find_regions, replace_regions

TEXT = textwrap.dedent("""\
    def first():
        # BEGIN SOLUTION DP-1
        for a in b:
            a += 1

        return a
        # END SOLUTION
        # a comment

    # BEGIN SOLUTION PP-12
    second = 2
    # END SOLUTION
    """)


def test_regions_are_found_and_replaced_and_all_else_stays():
    one, two = find_regions(TEXT)
    assert (one.task, one.first, one.last, one.indent) == ("DP-1", 2, 7, "    ")
    assert one.body == "for a in b:\n    a += 1\n\nreturn a"
    assert (two.task, two.first, two.last, two.body) == ("PP-12", 10, 12, "second = 2")
    assert find_regions("# the end of the solution is near\nbegin = 'solution'\n") == []
    new = replace_regions(TEXT, lambda region: f"raise X(\n    {region.task!r}\n)")
    raised = "raise X(\n    'DP-1'\n)"
    assert new == (
        f"def first():\n{textwrap.indent(raised, '    ')}\n    # a comment\n\n"
        + raised.replace("DP-1", "PP-12")
        + "\n"
    )
    kept = replace_regions(TEXT, lambda region: region.body)
    assert kept == "".join(x for x in TEXT.splitlines(keepends=True) if "SOLUTION" not in x)


@pytest.mark.parametrize(
    ("text", "body", "new"),
    [
        ("if a:\n    # BEGIN SOLUTION A-1\n    b\n    # END SOLUTION\n",
         "\n      for c in d:\n          c()\n      ", "if a:\n    for c in d:\n        c()\n"),
        ("a\r\n\t# BEGIN SOLUTION A-1\r\n\tb\r\n\t# END SOLUTION", "c\nd", "a\r\n\tc\r\n\td"),
    ],
)  # fmt: skip
def test_indents_and_ends_of_lines(text, body, new):
    assert replace_regions(text, lambda region: body) == new


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\n# BEGIN SOLUTION A-1\nx\n", "f.py:2: the solution of A-1 begins here and never ends"),
        ("# END SOLUTION\n", "f.py:1: END SOLUTION without a '# BEGIN SOLUTION ID' before it"),
        ("# BEGIN SOLUTION A-1\n# BEGIN SOLUTION A-2\n# END SOLUTION\n",
         "f.py:2: a solution begins inside the solution of A-1 that began at line 1"),
        ("# BEGIN SOLUTION\n# END SOLUTION\n", "f.py:1: BEGIN SOLUTION names no task"),
        ("# BEGIN SOLUTION B-1\n# END SOLUTION\n", "f.py:1: there is no task B-1: the tasks are"),
        ("# BEGIN SOLUTION A-1\n# END SOLUTION A-1\n", "nearly a mark"),
        ("# BEGIN SOLUTION A-1\nx\n# End of solution\n", "never ends"),
        ("### BEGIN SOLUTION\n", "nearly a mark"), ("# BEGIN-SOLUTION A-1\n", "nearly a mark"),
        *((f"{nearly} SOLUTION A-1\n", "nearly a mark") for nearly in
          ("#BEGIN", "# Begin", "x = 1  # BEGIN")), ("# BEGIN SOLUTION a-1\n", "nearly a mark"),
    ],
)  # fmt: skip
def test_wrong_marks(text, words):
    with pytest.raises(MarkError) as caught:
        find_regions(text, "f.py", known=["A-1", "A-2"])
    assert words in str(caught.value) and "\n" not in str(caught.value)
