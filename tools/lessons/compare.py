"""Compare what a lesson shows with what its committed notebook shows.

Words and whole numbers must be equal. Other numbers may differ by a thousandth, by one in the last
digit, or by 1e-4: processors round sums differently. Of a picture its alternative text and its size
are compared, since such a difference moves a few pixels of a curve.

What varies by more has a tag in the source, `# %% tags=["time"]`, which no reader sees. Of such a
cell only the kinds of its outputs are compared:

- `time`: a clock has measured something, or what came first decides.
- `training`: many steps have amplified the last digit.
"""

import base64
import json
import math
import os
import re
import struct
import zlib
from decimal import Decimal
from itertools import zip_longest

import numpy as np
from nbformat import NotebookNode

from helpers.draw.themed import PICTURE
from lessons.book import CHECK, code_cells

TAGS = {"time", "training"}
NUMBER = re.compile(r"([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d{1,3})?)")
TOOK = re.compile(r"(?<=[(>])\d+\.\d s(?=[)<])")  # how long the check of a task took
AROUND = 60  # characters before and after a difference


def differences(committed: NotebookNode, now: NotebookNode) -> list[str]:
    """Return a sentence for each code cell whose outputs differ: which one, and where at first."""
    found = []
    pairs = zip(code_cells(committed), code_cells(now), strict=True)
    for number, (old, new) in enumerate(pairs, 1):
        varies = not TAGS.isdisjoint(new.metadata.get("tags", []))
        if different := _first_difference(_shown(old), _shown(new), varies):
            was, here = (repr(text) if text else "nothing" for text in different)
            line = new.source.partition("\n")[0]
            found.append(f"code cell {number}, `{line}`: committed is {was}, it shows {here}")
    return found


def _shown(cell: NotebookNode) -> list[tuple[str, str]]:
    """Return each output of a cell, in each form that it has, as its kind and a text."""
    shown = []
    for output in cell.outputs:
        if output.output_type == "stream":
            shown.append((output.name, output.text))
        for kind, value in sorted(output.get("data", {}).items()):
            if kind == "image/png":
                size = struct.unpack(">II", base64.b64decode(value)[16:24])
                value = f"{output.metadata[kind]['alt']} ({size[0]} by {size[1]} pixels)"
            if kind == PICTURE:  # the picture once more, with the pixels of its curves in words
                value = ""
            if "body" in value and not isinstance(value, str):  # of a timeline, compressed
                body = rounded(value.head, zlib.decompress(base64.b64decode(value.body)))
                value = {**value, "body": zlib.crc32(body)}
            if not isinstance(value, str):  # in a file its keys are sorted
                value = json.dumps(value, ensure_ascii=False, sort_keys=True)
            shown.append((kind, TOOK.sub("… s", value) if CHECK.match(cell.source) else value))
    return shown


def rounded(head: object, body: bytes) -> bytes:
    """Return a timeline's body with its numbers to nine digits of the largest of their column.

    The last digit of a sum varies: from Python 3.12 on `sum` rounds once, before that each time.
    """
    if isinstance(head, dict):
        head = list(head.values())
    if isinstance(head, list) and head[:1] == ["f64"] and head[2]:
        _, at, count = head
        values = np.frombuffer(body, "<f8", count, at)
        digits = 8 - math.floor(math.log10(np.abs(values).max() or 1))
        values = np.round(values, digits) + 0.0  # no -0.0
        return body[:at] + values.tobytes() + body[at + 8 * count :]
    if isinstance(head, list):
        for part in head:
            body = rounded(part, body)
    return body


def _first_difference(old: list, new: list, varies: bool) -> tuple[str, str] | None:
    """Return the texts around the first difference of two cells; nothing if they agree."""
    for was, here in zip_longest(old, new, fillvalue=("", "")):
        if was[0] != here[0]:
            return was[0], here[0]
        if not varies and (place := _apart(was[1], here[1])):
            return place
    return None


def _apart(old: str, new: str) -> tuple[str, str] | None:
    """Return the texts around the first difference; nothing if they agree."""
    pieces = NUMBER.split(old), NUMBER.split(new)  # at odd places are the numbers
    ends = [0, 0]
    for k, (was, here) in enumerate(zip_longest(*pieces, fillvalue="")):
        if was != here and not (k % 2 and _close(was, here)):
            same = len(os.path.commonprefix([was, here]))
            starts = [max(end + same - AROUND, 0) for end in ends]
            return tuple(t[s : s + 2 * AROUND] for t, s in zip((old, new), starts, strict=True))
        ends = [ends[0] + len(was), ends[1] + len(here)]
    return None


def _close(old: str, new: str) -> bool:
    if not re.search("[.e]", old + new) or not (old and new):
        return False
    x, y = (Decimal(text.replace(",", "")) for text in (old, new))
    digit = Decimal(1).scaleb(min(z.as_tuple().exponent for z in (x, y)))
    return abs(x - y) <= max(digit, Decimal("1e-3") * max(abs(x), abs(y)), Decimal("1e-4"))
