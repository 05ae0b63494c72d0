"""What ranks print arrives as whole lines with the rank's mark, in any cutting of the bytes."""

import pytest

from helpers.ranks.output import Output

pytestmark = pytest.mark.ranks


def shown(ranks: int, *pieces: tuple[int, bytes]) -> str:
    written = []
    output = Output(ranks, written.append)
    for rank, data in pieces:
        output.add(rank, data)
    for rank in range(ranks):
        output.add(rank, b"", final=True)
    return "".join(written)


@pytest.mark.parametrize(
    ("ranks", "pieces", "text"),
    [
        (2, [(0, b"one "), (1, b"uno\n"), (0, b"two\n")], "[rank 1] uno\n[rank 0] one two\n"),
        (1, [(0, b"loss 3.2\n")], "loss 3.2\n"),  # one rank needs no mark
        (2, [(1, b"no end")], "[rank 1] no end\n"),
        (2, [(0, b"\xc3"), (0, b"\x9f\n")], "[rank 0] \u00df\n"),  # a letter cut in two by the pipe
        (2, [(0, b"\xff\xfe\n")], "[rank 0] \\xff\\xfe\n"),
        (2, [(0, b"1 %\r2 %\r"), (0, b"done\n")], "[rank 0] 1 %\r[rank 0] 2 %\r[rank 0] done\n"),
    ],
)
def test_whole_lines_are_shown_with_their_mark(ranks, pieces, text):
    assert shown(ranks, *pieces) == text


def on_screen(text: str) -> list[str]:
    """The rows that a reader sees: what follows a carriage return is written over the row."""
    rows = []
    for row in text.split("\n"):
        seen = ""
        for part in row.split("\r"):
            seen = part + seen[len(part) :]
        rows.append(seen.rstrip())
    return rows


def test_of_two_progress_bars_one_is_shown_and_nothing_of_it_is_left_over():
    # As tqdm writes: the carriage return comes first.
    bars = [(0, b"\r 10 % of much"), (1, b"\r 11 %"), (0, b"\r 20 %"), (1, b"\r 21 %"), (0, b"\r")]
    text = shown(2, *bars, (1, b"\rhi\n"), (0, b"ok\n"))
    assert on_screen(text) == ["[rank 1] hi", "[rank 0] ok", ""]
    assert "11 %" not in text and "10 % of much" in text and "20 %" in text
    text = shown(2, (1, b"\r 50 %|##  |"), (1, b"\r100 %|####|\n"), (0, b"done\n"))
    assert on_screen(text) == ["[rank 1] 100 %|####|", "[rank 0] done", ""]  # the end stays
