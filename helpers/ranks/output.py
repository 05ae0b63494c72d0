"""Live output of many ranks on one screen: whole lines, each marked with its rank."""

import codecs
import re
from collections.abc import Callable

MARK = "[rank {rank}] "
LINES = re.compile(r"[^\r\n]*[\r\n]|[^\r\n]+")
MOST_SHOWN = 1_000_000  # characters of one rank on the screen: more would choke a browser
MOST_KEPT = 2_000_000  # characters of one rank in the report


class Output:
    """Collect the bytes that each rank prints, and write them as whole, marked lines.

    A line that ends with a carriage return (a progress bar) replaces itself on the screen; of
    several bars, only the one of the lowest rank is shown.
    """

    def __init__(self, ranks: int, write: Callable[[str], object] | None):
        self._write = write
        self._kept = [_KeptText() for _ in range(ranks)]
        self._shown = [0] * ranks
        self._open = [""] * ranks
        self._bar: tuple[int, int] | None = (
            None  # the rank whose bar is on the screen, and its width
        )
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = [decoder(errors="backslashreplace") for _ in range(ranks)]

    @property
    def texts(self) -> list[str]:
        """What each rank printed, without marks; of a long text only the beginning and the end."""
        return [kept.text for kept in self._kept]

    def add(self, rank: int, data: bytes, final: bool = False) -> None:
        """Take what one rank printed; `final` ends a line that it left open."""
        text = self._decoders[rank].decode(data, final).replace("\r\n", "\n")
        self._kept[rank].add(text)
        if self._write is None or self._shown[rank] > MOST_SHOWN:
            return
        lines = LINES.findall(self._open[rank] + text)
        self._open[rank] = ""
        if lines and lines[-1][-1] not in "\r\n":
            self._open[rank] = lines.pop()
        if final and self._open[rank]:
            lines.append(self._open[rank] + "\n")
            self._open[rank] = ""
        if len(self._open[rank]) > MOST_SHOWN:  # a line without an end
            lines.append(self._open[rank] + "\n")
            self._open[rank] = ""
        shown = "".join(self._line(rank, self._mark(rank, line) + line) for line in lines)
        self._shown[rank] += len(shown)
        if self._shown[rank] > MOST_SHOWN:
            shown = shown[:MOST_SHOWN].rstrip("\n") + (
                f"\n[ranks] rank {rank} has printed more than {MOST_SHOWN:,} characters: what "
                "follows is not shown\n"
            )
        if shown:
            self._write(shown)

    def _mark(self, rank: int, line: str) -> str:
        """Return the mark of a line; none for a single rank, or if the line names its rank."""
        alone = len(self._kept) == 1 or line.startswith(f"rank {rank} ")
        return "" if alone else MARK.format(rank=rank)

    def _line(self, rank: int, line: str) -> str:
        """Return a line as written to the screen, whose last row may hold a progress bar."""
        owner, width = self._bar or (rank, 0)
        text = line.rstrip("\r\n")
        if line.endswith("\r"):
            if not text.removeprefix(MARK.format(rank=rank)).strip() or owner < rank:
                return ""
            self._bar = (rank, len(text))
            return text.ljust(width) + "\r"
        self._bar = None
        return text.ljust(width) + "\n" if width else line


class _KeptText:
    """The text of one rank: all of it, or its beginning and its end."""

    def __init__(self):
        self._parts: list[str] = []  # joined when read: adding must stay cheap
        self._length = 0
        self._begin = ""
        self._left_out = 0

    def add(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        if self._length > 2 * MOST_KEPT:
            whole = "".join(self._parts)
            if not self._begin:
                self._begin, whole = whole[: MOST_KEPT // 2], whole[MOST_KEPT // 2 :]
            self._left_out += len(whole) - MOST_KEPT // 2
            self._parts = [whole[-MOST_KEPT // 2 :]]
            self._length = len(self._parts[0])

    @property
    def text(self) -> str:
        end = "".join(self._parts)
        if not self._left_out:
            return self._begin + end
        return f"{self._begin}\n[{self._left_out:,} characters left out]\n{end}"
