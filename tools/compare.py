"""Compare what a lesson shows with what its committed notebook shows.

Words and whole numbers must be equal. Other numbers may differ by a thousandth, by one in the last
digit, or by 1e-4: processors round sums differently. Of a picture its alternative text and its size
count. What varies by more has a tag in the source, `# %% tags=["time"]` or `["training"]`: of such
a cell only the kinds of its outputs count.
"""

import base64
import re
import struct
from decimal import Decimal
from itertools import zip_longest

from nbformat import NotebookNode

from notebooks import CHECK, code_cells

TAGS = {"time", "training"}
NUMBER = re.compile(r"([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d{1,3})?)")
TOOK = re.compile(r"(?<=[(>])\d+\.\d s(?=[)<])")  # how long the check of a task took


def differences(committed: NotebookNode, now: NotebookNode) -> list[str]:
    """Return a sentence for each code cell whose outputs differ: which one, and where at first."""
    found = []
    pairs = zip(code_cells(committed), code_cells(now), strict=True)
    for number, (old, new) in enumerate(pairs, 1):
        varies = not TAGS.isdisjoint(new.metadata.get("tags", []))
        for was, here in zip_longest(_shown(old), _shown(new), fillvalue=("nothing", "")):
            apart = (was[0], here[0]) if was[0] != here[0] else _apart(was[1], here[1])
            if apart and (was[0] != here[0] or not varies):
                line = new.source.partition("\n")[0]
                words = "committed is {!r}, it shows {!r}".format(*apart)
                found.append(f"code cell {number}, `{line}`: {words}")
                break
    return found


def _shown(cell: NotebookNode) -> list[tuple[str, str]]:
    """Return each output of a cell, in each form that people see, as its kind and a text."""
    shown = []
    for output in cell.outputs:
        if output.output_type == "stream":
            shown.append((output.name, output.text))
        for kind, value in sorted(output.get("data", {}).items()):
            if kind == "image/png":
                size = struct.unpack(">II", base64.b64decode(value)[16:24])
                value = f"{output.metadata[kind]['alt']} ({size[0]} by {size[1]} pixels)"
            if not isinstance(value, str):  # data for a page: the picture beside them says the same
                value = ""
            shown.append((kind, TOOK.sub("… s", value) if CHECK.match(cell.source) else value))
    return shown


def _apart(old: str, new: str) -> tuple[str, str] | None:
    """Return the texts around the first difference; nothing if they agree."""
    ends, pairs = [0, 0], zip_longest(NUMBER.split(old), NUMBER.split(new), fillvalue="")
    for k, (was, here) in enumerate(pairs):
        if was != here and not (k % 2 and _close(was, here)):  # at odd places are the numbers
            texts = zip((old, new), ends, strict=True)
            return tuple(text[max(end - 60, 0) : end + 120] for text, end in texts)
        ends = [ends[0] + len(was), ends[1] + len(here)]
    return None


def _close(old: str, new: str) -> bool:
    if not re.search("[.e]", old + new) or not (old and new):
        return False
    x, y = (Decimal(text.replace(",", "")) for text in (old, new))
    digit = Decimal(1).scaleb(min(z.as_tuple().exponent for z in (x, y)))
    return abs(x - y) <= max(digit, Decimal("1e-3") * max(abs(x), abs(y)), Decimal("1e-4"))
