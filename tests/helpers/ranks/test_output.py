"""What ranks print arrives as whole lines with the rank's mark, in any cutting of the bytes."""

from helpers.ranks.output import Output


def shown(ranks: int, *pieces: tuple[int, bytes]) -> str:
    written = []
    output = Output(ranks, written.append)
    for rank, data in pieces:
        output.add(rank, data)
    for rank in range(ranks):
        output.add(rank, b"", final=True)
    return "".join(written)


def test_lines_of_two_ranks_never_mix():
    text = shown(2, (0, b"one "), (1, b"uno\n"), (0, b"two\n"))
    assert text == "[rank 1] uno\n[rank 0] one two\n"


def test_one_rank_needs_no_mark():
    assert shown(1, (0, b"loss 3.2\n")) == "loss 3.2\n"


def test_a_last_line_without_an_end_is_shown():
    assert shown(2, (1, b"half")) == "[rank 1] half\n"


def test_a_letter_cut_in_two_by_the_pipe():
    data = "ß\n".encode()
    assert shown(2, (0, data[:1]), (0, data[1:])) == "[rank 0] ß\n"


def test_bytes_that_are_not_text():
    assert shown(2, (0, b"\xff\xfe\n")) == "[rank 0] \\xff\\xfe\n"


def test_a_progress_bar_replaces_its_line():
    assert shown(2, (0, b"10 %\r20 %\r"), (0, b"done\n")) == (
        "[rank 0] 10 %\r[rank 0] 20 %\r[rank 0] done\n"
    )


def test_texts_are_kept_without_marks():
    output = Output(2, None)
    output.add(1, b"a\nb\n")
    assert output.texts == ["", "a\nb\n"]
