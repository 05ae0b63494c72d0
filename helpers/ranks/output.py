"""Live output of many ranks on one screen: whole lines, each marked with its rank."""

import codecs
import re
from collections.abc import Callable

LINES = re.compile(r"[^\r\n]*[\r\n]|[^\r\n]+")
MOST_SHOWN = 1_000_000  # characters of one rank on the screen: more would choke a browser
MOST_KEPT = 2_000_000  # characters of one rank in the report


class Output:
    """Collect the bytes that each rank prints, and write them as whole, marked lines.

    A line that ends with a carriage return (a progress bar) replaces itself on the screen; of
    several bars, only the one of the lowest rank is shown.
    """

    def __init__(self, ranks: int, write: Callable[[str], object] | None):
        self.texts = [""] * ranks  # what each rank printed, without marks; of a long text the ends
        self._write = write
        self._shown, self._open = [0] * ranks, [""] * ranks
        self._bar: tuple[int, int] | None = None  # the rank whose bar is on the screen, its width
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = [decoder(errors="backslashreplace") for _ in range(ranks)]

    def add(self, rank: int, data: bytes, final: bool = False) -> None:
        """Take what one rank printed; `final` ends a line that it left open."""
        text = self._decoders[rank].decode(data, final).replace("\r\n", "\n")
        kept = self.texts[rank] + text
        if len(kept) > 2 * MOST_KEPT:
            kept = f"{kept[: MOST_KEPT // 2]}\n[characters left out]\n{kept[-MOST_KEPT // 2 :]}"
        self.texts[rank] = kept
        if self._write is None or self._shown[rank] > MOST_SHOWN:
            return
        lines = LINES.findall(self._open[rank] + text)
        self._open[rank] = ""
        if lines and lines[-1][-1] not in "\r\n":
            if final or len(lines[-1]) > MOST_SHOWN:  # a line without an end
                lines[-1] += "\n"
            else:
                self._open[rank] = lines.pop()
        shown = "".join(self._line(rank, line) for line in lines)
        self._shown[rank] += len(shown)
        if self._shown[rank] > MOST_SHOWN:
            shown = shown[:MOST_SHOWN].rstrip("\n") + (
                f"\n[ranks] rank {rank} has printed more than {MOST_SHOWN:,} characters: what "
                "follows is not shown\n"
            )
        if shown:
            self._write(shown)

    def _line(self, rank: int, line: str) -> str:
        """Return a line with its mark; none for a single rank, or if the line names its rank."""
        alone = len(self.texts) == 1 or line.startswith(f"rank {rank} ")
        owner, width = self._bar or (rank, 0)
        text, end = line[:-1], line[-1]
        if end == "\r" and (not text.strip() or owner < rank):
            return ""
        text = text if alone else f"[rank {rank}] {text}"
        self._bar = (rank, len(text)) if end == "\r" else None
        return text.ljust(width) + end
