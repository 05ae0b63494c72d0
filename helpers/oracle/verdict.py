"""What the oracle found, for a person: as text, and as a table in a notebook."""

import textwrap
from dataclasses import dataclass
from html import escape

# Blue and vermilion of Okabe and Ito's colour-blind-safe set; the word says the same.
COLOURS = {True: "#0072B2", False: "#D55E00"}
MOST_ROWS = 20


@dataclass(frozen=True)
class Row:
    """One tensor, on the rank where it is furthest off.

    kind: "gradient", "weight" (after the step) or "state" (of the optimizer). name: all names.
    error: the largest distance of an entry; scale: the largest entry expected; allowed: the
    tolerance, relative to scale. text: what is wrong, in words; empty where it is right.
    """

    kind: str
    name: str
    rank: int
    error: float
    scale: float
    allowed: float
    ok: bool
    text: str = ""

    @property
    def relative(self) -> float:
        """The error, relative to the largest entry; where all should be zero, the error itself."""
        return self.error / self.scale if self.scale else self.error


@dataclass(frozen=True, repr=False)
class Verdict:
    """The result of a comparison; the last value of a notebook's cell shows it.

    mistake: one sentence, or None. also: other sentences that explain the same facts.
    note: what the comparison cannot see, or empty. rows: every tensor, in the model's order.
    """

    mistake: str | None
    also: tuple[str, ...]
    note: str
    rows: tuple[Row, ...]
    ranks: int

    @property
    def ok(self) -> bool:
        return self.mistake is None

    @property
    def worst(self) -> Row | None:
        """The tensor that is furthest off, relative to what its dtype allows."""
        rows = [row for row in self.rows if not row.ok] or self.rows
        return max(rows, key=lambda row: row.relative / (row.allowed or 1.0), default=None)

    def table(self, most: int = MOST_ROWS) -> str:
        """The tensors as plain text: those that are wrong first, then the others."""
        rows = self._shown(most)
        wide = max([len("tensor"), *(len(row.name) for row in rows)])
        lines = [f"{'':5}  {'what':8}  {'tensor':{wide}}  rank  difference  allowed"]
        for row in rows:
            word = "right" if row.ok else "WRONG"
            lines.append(
                f"{word}  {row.kind:8}  {row.name:{wide}}  {row.rank:4}  {row.relative:10.1e}  "
                f"{row.allowed:7.0e}"
            )
        return "\n".join([*lines, *self._rest(most)])

    def __str__(self) -> str:
        texts = [self.headline, *self._sentences()]
        wrapped = [textwrap.fill(texts[0], 98)]
        wrapped += [
            textwrap.fill(text, 98, initial_indent="  ", subsequent_indent="  ")
            for text in texts[1:]
        ]
        return "\n".join([*wrapped, self.table()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        colour = COLOURS[self.ok]
        box = f"border: 1px solid {colour}; border-left: 6px solid {colour}; padding: 8px 14px"
        cell = "padding: 1px 10px; text-align: left"
        parts = [f'<b style="color: {colour}">{escape(self.headline)}</b>']
        parts += [f'<div style="margin-top: 6px">{escape(s)}</div>' for s in self._sentences()]
        heads = ("", "what", "tensor", "rank", "difference", "allowed")
        parts.append('<table style="margin-top: 6px"><tr>')
        parts += [f'<th style="{cell}">{head}</th>' for head in heads]
        parts.append("</tr>")
        for row in self._shown(MOST_ROWS):
            word = "right" if row.ok else "WRONG"
            values = (word, row.kind, row.name, row.rank, f"{row.relative:.1e}")
            values = (*values, f"{row.allowed:.0e}")
            style = cell if row.ok else f"{cell}; color: {COLOURS[False]}; font-weight: bold"
            cells = "".join(f'<td style="{style}">{escape(str(value))}</td>' for value in values)
            parts.append(f"<tr>{cells}</tr>")
        parts.append("</table>")
        parts += [f"<small>{escape(line)}</small>" for line in self._rest(MOST_ROWS)]
        return f'<div style="{box}">{"".join(parts)}</div>'

    @property
    def headline(self) -> str:
        """One line: how many tensors, on how many ranks, and how far off."""
        wrong = sum(not row.ok for row in self.rows)
        ranks = f" on {self.ranks} ranks" if self.ranks > 1 else ""
        if self.ok:
            worst = f"; the largest difference is {self.worst.relative:.1e}" if self.rows else ""
            return f"RIGHT: {len(self.rows)} tensors{ranks} are those of one device{worst}"
        if not wrong:
            return f"WRONG: the tensors{ranks} are not those of one device's model"
        return f"WRONG: {wrong} of {len(self.rows)} tensors{ranks} are not those of one device"

    def _sentences(self) -> list[str]:
        first = [f"Mistake: {self.mistake}."] if self.mistake else []
        also = [f"Or: {sentence}." for sentence in self.also]
        return first + also + ([self.note] if self.note else [])

    def _shown(self, most: int) -> list[Row]:
        return sorted(self.rows, key=lambda row: row.ok)[:most]

    def _rest(self, most: int) -> list[str]:
        hidden = sorted(self.rows, key=lambda row: row.ok)[most:]
        if not hidden:
            return []
        wrong = sum(not row.ok for row in hidden)
        return [f"… and {len(hidden)} more tensors, {f'{wrong} wrong' if wrong else 'all right'}"]
