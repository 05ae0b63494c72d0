from itertools import islice

import pytest

from simplellm.documents import count_documents, endless, read_documents


def write(tmp_path, data):
    path = tmp_path / "own.txt"
    path.write_bytes(data)
    return path


def test_blank_lines_part_documents(tmp_path):
    path = write(tmp_path, b"\n\none\nline two\n  \n\n\ntwo\n\n three\n")
    assert list(read_documents(path)) == ["one\nline two", "two", " three"]
    assert count_documents(path) == 3


def test_windows_line_ends_and_byte_order_mark(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfone\r\n\r\ntwo\r\nmore\r\n")
    assert list(read_documents(path)) == ["one", "two\nmore"]
    assert count_documents(path) == 2


def test_endless_begins_again_and_reads_no_more_than_it_needs():
    passes = []

    def read():
        passes.append(0)
        for letter in "abcde":
            passes[-1] += 1
            yield letter

    stream = endless(read, rank=1, world_size=2, skip=0)
    assert passes == []
    assert next(stream) == "b" and passes == [2]
    assert "".join(islice(stream, 4)) == "dbdb" and len(passes) == 3


def test_endless_skips_around_the_end_without_reading_each_pass():
    passes = []

    def read():
        passes.append(1)
        yield from "abcde"

    stream = endless(read, rank=0, world_size=1, skip=3003)
    assert "".join(islice(stream, 3)) == "dea"
    assert len(passes) <= 3


def test_endless_with_a_rank_that_gets_nothing():
    stream = endless(lambda: iter("ab"), rank=2, world_size=3, skip=0)
    with pytest.raises(ValueError, match="3 ranks cannot share 2 documents: rank 2 gets none"):
        next(stream)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        count_documents(tmp_path / "none.txt")
    assert str(caught.value) == f'There is no file "{tmp_path / "none.txt"}": check the path.'
    with pytest.raises(ValueError, match='" is a folder: give the path of a text file'):
        count_documents(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path, data):
    path = write(tmp_path, data)
    with pytest.raises(ValueError) as caught:
        count_documents(path)
    assert str(caught.value) == f'"{path}" is empty: there is no text to read in it.'


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"good\nbad \x00 byte", "is not a text: line 2 holds a zero byte (byte 9 of the file)."),
        (
            b"good\n\ncaf\xe9 au lait\n",
            "is not UTF-8 text: line 3 holds the byte 0xE9 (byte 9 of the file): save it as UTF-8.",
        ),
        (b"\x89PNG\r\n", "is not UTF-8 text: line 1 holds the byte 0x89 (byte 0 of the file)"),
        ("hello".encode("utf-16"), "is UTF-16: save it as UTF-8 in the editor, and try again."),
    ],
)
def test_a_file_that_is_not_text(tmp_path, data, sentence):
    path = write(tmp_path, data)
    with pytest.raises(ValueError) as caught:
        count_documents(path)
    assert str(caught.value).startswith(f'"{path}" {sentence}')
