"""Live output of many ranks on one screen: whole lines, each marked with its rank."""

import codecs
from collections.abc import Callable

MARK = "[rank {rank}] "


class Output:
    """Collects the bytes that each rank prints, and writes them on as whole, marked lines.

    A line that ends with a carriage return (a progress bar) replaces itself on the screen.
    `texts[rank]` keeps what each rank printed, without marks.
    """

    def __init__(self, ranks: int, write: Callable[[str], object] | None):
        self.texts = [""] * ranks
        self._write = write
        self._open = [""] * ranks
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = [decoder(errors="backslashreplace") for _ in range(ranks)]

    def add(self, rank: int, data: bytes, final: bool = False) -> None:
        """Take what one rank printed; `final` closes a line that it left open."""
        text = self._decoders[rank].decode(data, final).replace("\r\n", "\n")
        self.texts[rank] += text
        lines = (self._open[rank] + text).splitlines(keepends=True)
        self._open[rank] = ""
        if lines and lines[-1][-1] not in "\r\n":
            self._open[rank] = lines.pop()
        if final and self._open[rank]:
            lines.append(self._open[rank] + "\n")
            self._open[rank] = ""
        if self._write is not None and lines:
            mark = MARK.format(rank=rank) if len(self.texts) > 1 else ""
            self._write("".join(mark + line for line in lines))
