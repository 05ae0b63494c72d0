import html
import json

import pytest

from helpers.grade.leaks import leaked, pieces_of
from helpers.grade.marks import Region

BODY = """\
gathered = [p.weight for p in model.parameters()]
# a comment that counts for nothing

together = torch.cat(gathered)
dist.all_reduce(together)
together /= number_of_ranks
scatter(together, gathered)"""
LINES = [line for line in BODY.splitlines() if line and line[0] != "#"]
PIECES = pieces_of([Region("DP-1", 1, 9, "", BODY)])


def test_half_of_the_lines_in_a_row_is_a_leak_and_less_is_none():
    assert leaked("\n".join(LINES[1:4]), PIECES) == "DP-1"
    assert leaked("\n".join(LINES[2:]), PIECES) == "DP-1"
    assert leaked("\n".join(LINES[1:3]), PIECES) is None
    assert leaked("\n".join([*LINES[:2], "x = 1", *LINES[3:]]), PIECES) is None


@pytest.mark.parametrize(
    "hidden",
    [
        "    " + BODY.replace("\n", "\n        "),
        "\n".join(f"+{line}" for line in LINES),
        "\n".join(f"# {line}" for line in LINES),
        json.dumps({"text": BODY.replace("# a comment that counts for nothing\n", "")}),
        "".join(f'<ins style="color: red">{html.escape(line)}</ins>\n' for line in LINES),
        "\n".join(LINES).replace(" = ", "=").replace("(", "( "),
    ],
)
def test_a_solution_is_recognised_in_another_dress(hidden):
    assert leaked(hidden, PIECES) == "DP-1"


def test_one_line_is_recognised_if_it_is_long_enough():
    one = pieces_of([Region("A-1", 1, 3, "", "return total / number_of_ranks")])
    assert leaked("x = 1\nreturn total/number_of_ranks", one) == "A-1"
    assert pieces_of([Region("A-1", 1, 3, "", "return total")]) == []
    assert pieces_of([Region("A-1", 1, 2, "", "# nothing but a comment stands in this one")]) == []


def test_a_long_solution_leaks_by_four_lines():
    body = "\n".join(f"line_number_{n} = {n}" for n in range(40))
    pieces = pieces_of([Region("A-1", 1, 42, "", body)])
    lines = body.splitlines()
    assert leaked("\n".join(lines[10:14]), pieces) == "A-1"
    assert leaked("\n".join(lines[10:13]), pieces) is None
