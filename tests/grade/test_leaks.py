"""A solution is recognized in another dress, and what is no solution is not."""

import html
import json

import pytest

from helpers.draw.code import code_html
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


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(LINES[1:4]),  # half of the lines in a row
        "    " + BODY.replace("\n", "\n        "),
        "\n".join(f"+{line}" for line in LINES),
        "\n".join(f"# {line}" for line in LINES),
        json.dumps({"text": BODY.replace("# a comment that counts for nothing\n", "")}),
        code_html(f"def f(model):\n{BODY}"),
        "".join(f'<ins style="color: red">{html.escape(line)}</ins>\n' for line in LINES),
        "\n".join(LINES).replace(" = ", "=").replace("(", "( "),
    ],
)
def test_a_solution_is_recognized_in_another_dress(text):
    assert leaked(text, PIECES) == "DP-1"


def test_what_is_no_leak():
    assert leaked("\n".join(LINES[1:3]), PIECES) is None  # less than half
    assert leaked("\n".join([*LINES[:2], "x = 1", *LINES[3:]]), PIECES) is None
    for short in ("return total", "# nothing but a comment stands in this one"):
        assert pieces_of([Region("A-1", 1, 3, "", short)]) == []
    one = pieces_of([Region("A-1", 1, 3, "", "return total / number_of_ranks")])
    assert leaked("x = 1\nreturn total/number_of_ranks", one) == "A-1"
    lines = [f"line_number_{n} = {n}" for n in range(40)]
    long = pieces_of([Region("A-1", 1, 42, "", "\n".join(lines))])
    assert leaked("\n".join(lines[10:14]), long) and not leaked("\n".join(lines[10:13]), long)
