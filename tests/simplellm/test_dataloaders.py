import gc
import os
import sys
import types
import weakref
from itertools import islice

import pytest
import torch

from simplellm import dataloaders
from simplellm.dataloaders import PythonReference, TextFile, TinyStories
from simplellm.stories import stories, story
from simplellm.tokenizers import SPTokenizer


class Letters:
    """A tokenizer of one token a character, so that windows can be read by eye."""

    eos_id = 0

    def encode(self, text):
        return [ord(letter) for letter in text]


def read(batches, count=1):
    """Return the text of the first batches, "|" for the end of a document."""
    ids = [i for batch in islice(iter(batches), count) for i in batch.flatten().tolist()]
    return "".join("|" if i == 0 else chr(i) for i in ids)


@pytest.fixture(scope="module")
def tokenizer():
    return SPTokenizer()


@pytest.fixture(autouse=True)
def _forget_what_was_said(monkeypatch):
    dataloaders._say_once.cache_clear()
    monkeypatch.delenv("SIMPLELLM_QUIET", raising=False)


def own_text(tmp_path, documents=25):
    path = tmp_path / "own.txt"
    path.write_text("\n\n".join(f"text {n}" for n in range(documents)), encoding="utf-8")
    return path


# Windows


def test_windows_are_cut_back_to_back_from_the_stories(tokenizer):
    # By place, as older scripts give them: streaming and num_workers change nothing.
    batches = list(islice(TinyStories(tokenizer, False, 2, 50, "train", 4, 0), 40))
    ids = torch.cat([batch.flatten() for batch in batches]).tolist()
    wanted = []
    for text in islice(stories(), 40):
        wanted += [*tokenizer.encode(text), tokenizer.eos_id]
    assert len(ids) == 4000 and ids == wanted[:4000]
    assert batches[0].shape == (2, 50) and batches[0].dtype == torch.int64


def test_iterators_are_independent_and_iterating_starts_again(tokenizer):
    batches = TinyStories(tokenizer, batch_size=1, seq_l=32)
    first, second = iter(batches), iter(batches)
    some = [next(first) for _ in range(5)]
    assert torch.equal(next(second), some[0])
    assert torch.equal(next(iter(batches)), some[0])
    assert torch.equal(next(second), some[1])


def test_nothing_that_was_yielded_is_kept(tokenizer):
    iterator = iter(TinyStories(tokenizer, batch_size=1, seq_l=512))
    yielded = [weakref.ref(next(iterator)) for _ in range(20)]
    gc.collect()
    assert sum(reference() is not None for reference in yielded) <= 1
    assert len(iterator.gi_frame.f_locals["ids"]) < 512  # what is encoded and not yet cut


# Ranks, skip, splits, seeds


def documents(batches, count):
    return list(islice(batches.documents(), count))


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ({"rank": 2, "world_size": 3}, [story(2), story(5)]),
        ({"skip": 6000}, [story(6000), story(6001)]),
        ({"skip": 5, "rank": 1, "world_size": 3}, [story(16), story(19)]),  # of this rank's part
        ({"seed": 4}, [story(0, 4), story(1, 4)]),
        ({"split": "validation"}, [story(n, split="validation") for n in (0, 1)]),
        ({"world": "small"}, [story(n, world="small") for n in (0, 1)]),
    ],
    ids=str,
)
def test_which_stories_are_read(tokenizer, how, wanted):
    assert documents(TinyStories(tokenizer, **how), 2) == wanted


# What is in use is said once


def test_one_line_says_what_is_in_use(tokenizer, capsys, monkeypatch):
    batches = TinyStories(tokenizer, batch_size=1, seq_l=8)
    iter(batches), iter(batches), iter(TinyStories(tokenizer, batch_size=1, seq_l=16))
    assert capsys.readouterr().out == (
        "[data] stories generated here (seed 0, train), rank 0 of 1; "
        'the real TinyStories: source="hub"\n'
    )
    iter(TinyStories(tokenizer, rank=2, world_size=3))  # rank 0 has said it for all
    iter(TinyStories(tokenizer, quiet=True, seed=3))
    monkeypatch.setenv("SIMPLELLM_QUIET", "1")
    iter(TinyStories(tokenizer, seed=4))
    assert capsys.readouterr().out == ""


# The hub, with a stand-in for the package


def hub(monkeypatch, rows, error=None):
    """Put a stand-in in the place of the package datasets."""
    calls = []

    def load_dataset(name, split, streaming):
        calls.append((name, split, streaming))

        def stream():
            yield from rows
            if error:
                raise error

        return stream()

    stand_in = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", stand_in)
    return calls


def test_the_hub_is_streamed_and_shared(monkeypatch, capsys):
    rows = [{"text": t} for t in ("Ann ran.", "  ", "Ben sat.\n", "Cat.", "Dog.", "Eel.")]
    calls = hub(monkeypatch, rows)
    part = TinyStories(
        Letters(), batch_size=1, seq_l=24, source="hub", split="validation", rank=1, world_size=2
    )
    assert read(part) == "Ben sat.|Dog.|Ben sat.|D"  # of Ann, Ben, Cat, Dog, Eel; then again
    assert calls == [("roneneldan/TinyStories", "validation", True)] * 2
    around = TinyStories(Letters(), source="hub", skip=3003)  # far beyond the end of the five
    assert documents(around, 3) == ["Dog.", "Eel.", "Ann ran."]
    assert len(calls) <= 5  # and no pass for each time around
    with pytest.raises(ValueError, match="9 ranks cannot share 5 documents: rank 8 gets none"):
        documents(TinyStories(Letters(), source="hub", rank=8, world_size=9), 1)
    iter(around)
    assert "the real TinyStories, streamed from the hub" in capsys.readouterr().out


def test_a_hub_that_fails_is_one_clear_error_and_nothing_else(monkeypatch):
    hub(monkeypatch, [{"text": "Ann ran."}], error=OSError("no route to host\nmore\nlines"))
    batches = iter(TinyStories(Letters(), batch_size=1, seq_l=9, source="hub"))
    assert next(batches).shape == (1, 9)
    with pytest.raises(ConnectionError) as caught:
        next(batches)
    assert str(caught.value) == (
        "The real TinyStories (roneneldan/TinyStories, train) could not be read from the hub "
        '(OSError: no route to host): check the network, or take source="stories", which needs '
        "none."
    )


def test_the_hub_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="the package datasets, .* run `.* hub`"):
        next(iter(TinyStories(Letters(), source="hub")))


# A text of one's own


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\n\none\nline two\n  \n\n\ntwo\n\n three\n", ["one\nline two", "two", " three"]),
        (b"\xef\xbb\xbfone\r\n\r\ntwo\r\nmore\r\n", ["one", "two\nmore"]),  # from Windows
    ],
)
def test_blank_lines_part_documents(tmp_path, data, wanted):
    path = tmp_path / "own.txt"
    path.write_bytes(data)
    batches = TextFile(path, Letters())
    assert documents(batches, 4) == (wanted * 2)[:4]
    assert batches.count == len(wanted)


EMPTY = "is empty: there is no text to read in it."
NOT_UTF8 = "is not UTF-8 text (line {}): save it as UTF-8 in the editor, and try again."


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", EMPTY),
        (b"\xef\xbb\xbf\n \n\t\n", EMPTY),
        (
            b"good\nbad \x00 byte",
            NOT_UTF8.format(2),
        ),
        (
            b"good\n\ncaf\xe9 au lait\n",
            NOT_UTF8.format(3),
        ),
        (
            "hello".encode("utf-16"),
            NOT_UTF8.format(1),
        ),
    ],
)
def test_a_file_that_is_not_text(tmp_path, data, sentence):
    path = tmp_path / "own.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError) as caught:
        TextFile(path, Letters())
    assert str(caught.value) == f'"{path}" {sentence}'


def test_ranks_share_a_text_file_but_for_every_tenth_document(tmp_path):
    path = own_text(tmp_path)
    parts = [documents(TextFile(path, Letters(), rank=r, world_size=3), 8) for r in range(3)]
    wanted = [f"text {n}" for n in range(25) if n % 10 != 9]
    assert len(wanted) == 23
    assert parts[0][:8] == wanted[0::3] and parts[1][:8] == wanted[1::3]
    assert parts[2] == [*wanted[2::3], wanted[2]]  # the shorter part begins again
    held_out = TextFile(path, Letters(), split="validation")
    assert documents(held_out, 3) == ["text 9", "text 19", "text 9"]


def test_words_that_the_tokenizer_never_saw_are_told(tmp_path, capsys):
    small = SPTokenizer("stories-small")
    for text, told in ((story(0, world="small"), False), ("Все счастливые семьи похожи.", True)):
        path = tmp_path / f"{told}.txt"
        path.write_text(text, encoding="utf-8")
        next(iter(TextFile(path, small, batch_size=1, seq_l=16)))
        said = capsys.readouterr().out
        assert ("stories-small knows few of its words: 0." in said) == told


# Python's own reference


def test_python_reference(capsys):
    reference = PythonReference(Letters(), batch_size=2, seq_l=512)
    text = read(reference, 20)
    assert "statement" in text and "|" in text
    assert "the language reference of Python 3." in capsys.readouterr().out
    train, held_out = (
        documents(PythonReference(Letters(), split=split), count)
        for split, count in (("train", 60), ("validation", 7))
    )
    assert len(set(train)) == 60 and not set(train) & set(held_out)
    with pytest.raises(ValueError, match=f"share {reference.count} documents of the Py"):
        PythonReference(Letters(), world_size=500)


def test_a_python_without_its_reference(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(ImportError, match="comes without its language reference"):
        PythonReference(Letters())


# Wrong input


class Endless(Letters):
    eos_id = -1


def stories_of(**how):
    return lambda path: TinyStories(**{"tokenizer": Letters()} | how)


def text_of(documents, **how):
    return lambda path: iter(TextFile(own_text(path, documents), Letters(), **how))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (stories_of(batch_size=2.0), ValueError,
         "batch_size is 2.0, and must be a whole number, 1 or more."),
        (stories_of(seq_l=1), ValueError,
         "seq_l is 1, and must be a whole number, 2 or more (a token to read and one to predict)."),
        (stories_of(skip=-3), ValueError, "skip is -3, and must be a whole number, 0 or more."),
        (stories_of(rank="1"), ValueError, "rank is '1', and must be a whole number from 0 to 0."),
        (stories_of(rank=3, world_size=3), ValueError,
         "rank is 3, and must be a whole number from 0 to 2."),
        (stories_of(split="test"), ValueError,
         'split is \'test\', and must be "train" or "validation".'),
        (stories_of(source="web"), ValueError,
         'source is \'web\', and must be "stories" or "hub".'),
        (stories_of(tokenizer="stories-4096"), TypeError,
         "the data needs a tokenizer such as SPTokenizer(), and got a str."),
        (stories_of(tokenizer=Endless()), ValueError, "no end-of-text token (eos_id is -1)"),
        (text_of(3, batch_size=1, seq_l=22, quiet=True), ValueError,  # each 6 letters and an end
         '"PATH/own.txt" has 21 tokens, and one sequence takes 22: use a longer text or shorter '
         "sequences."),
        (text_of(9, split="validation"), ValueError,
         '1 ranks cannot share 0 documents of "PATH/own.txt": every 10th is held out'),
        (text_of(5, world_size=8, rank=7), ValueError,
         '8 ranks cannot share 5 documents of "PATH/own.txt"'),
        (lambda path: TextFile(path / "none.txt", Letters()), FileNotFoundError,
         'There is no file "PATH/none.txt": check the path.'),
        (lambda path: TextFile(path, Letters()), ValueError,
         '"PATH" is a folder or a device: give the path of a text file.'),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence(call, error, words, tmp_path):
    with pytest.raises(error) as caught:
        call(tmp_path)
    assert words in str(caught.value).replace(str(tmp_path), "PATH").replace(os.sep, "/")
    assert "\n" not in str(caught.value)
