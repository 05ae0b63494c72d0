import json
import textwrap

import pytest

from helpers.grade.marks import MarkError, find_regions, map_cells, notebook_cells, replace_regions

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
    # END SOLUTION PP-12
    """)


def test_find_regions():
    one, two = find_regions(TEXT)
    assert (one.task, one.first, one.last, one.indent) == ("DP-1", 2, 7, "    ")
    assert one.body == "for a in b:\n    a += 1\n\nreturn a"
    assert (two.task, two.first, two.last, two.indent, two.body) == (
        "PP-12",
        10,
        12,
        "",
        "second = 2",
    )


def test_no_marks():
    assert find_regions("# the end of the solution is near\nbegin = 'solution'\n") == []


def test_replace_keeps_all_else():
    new = replace_regions(TEXT, lambda region: f"raise X(\n    {region.task!r}\n)")
    assert new == textwrap.dedent("""\
        def first():
            raise X(
                'DP-1'
            )
            # a comment

        raise X(
            'PP-12'
        )
        """)


def test_replace_by_itself_loses_only_the_marks():
    new = replace_regions(TEXT, lambda region: region.body)
    assert new == "".join(line for line in TEXT.splitlines(keepends=True) if "SOLUTION" not in line)


def test_replacement_may_be_indented_and_start_on_a_new_line():
    text = "if a:\n    # BEGIN SOLUTION A-1\n    b\n    # END SOLUTION\n"
    new = replace_regions(text, lambda region: "\n        for c in d:\n            c()\n        ")
    assert new == "if a:\n    for c in d:\n        c()\n"


def test_windows_line_ends_and_no_end_of_line():
    text = "a\r\n\t# BEGIN SOLUTION A-1\r\n\tb\r\n\t# END SOLUTION"
    assert replace_regions(text, lambda region: "c\nd") == "a\r\n\tc\r\n\td"


def test_cell_that_stands_as_comments():
    text = "# %%ranks 3\n# if a:\n#     # BEGIN SOLUTION A-1\n#     b\n#\n#     # END SOLUTION\n"
    (region,) = find_regions(text)
    assert region.body == "b\n"
    assert replace_regions(text, lambda region: "c") == "# %%ranks 3\n# if a:\n#     c\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "\n# BEGIN SOLUTION A-1\nx\n",
            "f.py:2: the solution of A-1 begins here and never ends: write '# END SOLUTION'",
        ),
        ("# END SOLUTION\n", "f.py:1: END SOLUTION without a '# BEGIN SOLUTION ID' before it"),
        (
            "# BEGIN SOLUTION A-1\n# BEGIN SOLUTION A-2\n# END SOLUTION\n",
            "f.py:2: a solution begins inside the solution of A-1 that began at line 1",
        ),
        ("# BEGIN SOLUTION\n# END SOLUTION\n", "f.py:1: BEGIN SOLUTION names no task"),
        (
            "# BEGIN SOLUTION B-1\n# END SOLUTION\n",
            "f.py:1: there is no task B-1: the tasks are A-1, A-2",
        ),
        (
            "# BEGIN SOLUTION A-1\n# END SOLUTION A-2\n",
            "f.py:2: the solution of A-1 that began at line 1 ends with the id A-2",
        ),
        ("#BEGIN SOLUTION A-1\n", "f.py:1: '#BEGIN SOLUTION A-1' is nearly a mark"),
        ("# Begin solution A-1\n", "nearly a mark"),
        ("### BEGIN SOLUTION\n", "nearly a mark"),
        ("# BEGIN SOLUTION a-1\n", "nearly a mark"),
        ("# BEGIN-SOLUTION A-1\n", "nearly a mark"),
        ("x = 1  # BEGIN SOLUTION A-1\n", "nearly a mark"),
        ("# BEGIN SOLUTION A-1\nx\n# End of solution\n", "never ends"),
    ],
)
def test_wrong_marks(text, sentence):
    with pytest.raises(MarkError) as caught:
        find_regions(text, "f.py", known=["A-1", "A-2"])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def notebook(*sources):
    cells = [
        {
            "cell_type": "code",
            "execution_count": number,
            "id": f"c{number}",
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["é\n"]}],
            "source": source.splitlines(keepends=True),
        }
        for number, source in enumerate(sources, start=1)
    ]
    text = {"cell_type": "markdown", "id": "m", "metadata": {}, "source": "# BEGIN SOLUTION"}
    return (
        json.dumps({"cells": [text, *cells], "metadata": {}}, indent=1, ensure_ascii=False) + "\n"
    )


def test_cells_of_a_notebook():
    assert notebook_cells(notebook("a\nb", "c"), "n.ipynb") == [
        ("n.ipynb, cell 2", "a\nb"),
        ("n.ipynb, cell 3", "c"),
    ]


def test_map_cells_touches_only_what_it_changes():
    text = notebook("a", "b")
    assert map_cells(text, "n", lambda cell, where, source: None) == text

    def change(cell, where, source):
        if source == "a":
            cell["source"] = ["z"]

    assert map_cells(text, "n", change) == text.replace('"a"', '"z"')


@pytest.mark.parametrize("text", ["", "[]", "{}", "# a script"])
def test_not_a_notebook(text):
    with pytest.raises(MarkError, match="n.ipynb: this is not a Jupyter notebook"):
        notebook_cells(text, "n.ipynb")
