"""What a source says to the tools alone, and no reader sees: `quick(…)`, `# noqa`, `# fmt: skip`.

`quick(40, 2)` becomes `40` in the notebook. The student's walk, which only tries whether a lesson
comes to its end, runs it with `2`.
"""

import ast
import re

COMMENT = re.compile(r"  # (?:fmt: (?:skip|off|on)|noqa(?:: [\w, ]+)?)$", re.MULTILINE)
CALL = re.compile(r"\bquick\(")


def as_shown(code: str, quick: bool = False) -> str:
    """Return the code of a cell without the words for the tools.

    quick: whether `quick(full, few)` becomes `few`, and not `full`.

    Raises:
        ValueError: `quick` was given anything but two values.
    """
    code = COMMENT.sub("", code)
    while found := CALL.search(code):
        end = _end_of_call(code, found.start())
        call = code[found.start() : end]
        values = ast.parse(call, mode="eval").body.args
        if len(values) != 2:
            raise ValueError(f"quick takes two values, the full one and that of tests: {call}")
        code = code[: found.start()] + ast.get_source_segment(call, values[quick]) + code[end:]
    return code


def _end_of_call(code: str, start: int) -> int:
    """Return where the call ends that starts at `start`: at the first `)` that makes it whole."""
    for place in (n for n in range(start, len(code)) if code[n] == ")"):
        try:
            ast.parse(code[start : place + 1], mode="eval")
        except SyntaxError:
            continue
        return place + 1
    raise ValueError(f"quick(…) never ends: {code[start : start + 60]}")
