"""Windows of text: which documents, in which order, shared by ranks, from which source."""

import sys
import types
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


def documents(batches, count):
    return list(islice(batches.documents(), count))


def test_windows_are_cut_back_to_back_and_iterating_starts_again():
    # By place, as older scripts give them: streaming and num_workers change nothing.
    tokenizer = SPTokenizer()
    data = TinyStories(tokenizer, False, 2, 50, "train", 4, 0)
    first, second = iter(data), iter(data)
    batches = list(islice(first, 40))
    ids = torch.cat([batch.flatten() for batch in batches]).tolist()
    wanted = []
    for text in islice(stories(), 40):
        wanted += [*tokenizer.encode(text), tokenizer.eos_id]
    assert ids == wanted[:4000] and batches[0].shape == (2, 50) and batches[0].dtype == torch.int64
    assert torch.equal(next(second), batches[0])
    assert len(first.gi_frame.f_locals["ids"]) < 1000  # what was yielded isn't kept


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
def test_which_stories_are_read(how, wanted):
    assert documents(TinyStories(Letters(), **how), 2) == wanted


def test_one_line_says_what_is_in_use(capsys, monkeypatch):
    dataloaders._say_once.cache_clear()
    iter(TinyStories(Letters())), iter(TinyStories(Letters(), seq_l=16))
    assert capsys.readouterr().out == (
        "[data] stories generated here (seed 0, train), rank 0 of 1; "
        'the real TinyStories: source="hub"\n'
    )
    iter(TinyStories(Letters(), rank=2, world_size=3))  # rank 0 has said it for all
    iter(TinyStories(Letters(), quiet=True, seed=3))
    monkeypatch.setenv("SIMPLELLM_QUIET", "1")
    iter(TinyStories(Letters(), seed=4))
    assert capsys.readouterr().out == ""


def test_the_hub_is_streamed_and_shared_and_its_failure_is_one_sentence(monkeypatch):
    # A stand-in for the package datasets, and for a network.
    rows = [{"text": t} for t in ("Ann ran.", "  ", "Ben sat.\n", "Cat.", "Dog.", "Eel.")]
    calls = []

    def load_dataset(name, split, streaming):
        calls.append((name, split, streaming))
        yield from rows
        if split == "train":
            raise OSError("no route to host\nmore\nlines")

    hub = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", hub)
    how = {"source": "hub", "split": "validation"}
    part = TinyStories(Letters(), rank=1, world_size=2, **how)
    assert documents(part, 3) == ["Ben sat.", "Dog.", "Ben sat."]
    assert calls == [("roneneldan/TinyStories", "validation", True)] * 2
    around = documents(TinyStories(Letters(), skip=3003, **how), 3)  # far beyond the end of five
    assert around == ["Dog.", "Eel.", "Ann ran."] and len(calls) <= 5
    with pytest.raises(ConnectionError, match=r"\(OSError: no route to host\): check the network"):
        documents(TinyStories(Letters(), source="hub"), 9)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="the package datasets, .* run `.* hub`"):
        documents(TinyStories(Letters(), source="hub"), 1)


def own(tmp_path, data):
    path = tmp_path / "own.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"\n\none\nline two\n  \n\n\ntwo\n\n three\n", ["one\nline two", "two", " three"]),
        (b"\xef\xbb\xbfone\r\n\r\ntwo\r\nmore\r\n", ["one", "two\nmore"]),  # from Windows
    ],
)
def test_blank_lines_part_documents(tmp_path, data, wanted):
    batches = TextFile(own(tmp_path, data), Letters(), seq_l=8)
    assert documents(batches, 4) == (wanted * 2)[:4]


def test_ranks_share_a_text_file_but_for_every_tenth_document(tmp_path):
    path = own(tmp_path, "\n\n".join(f"text {n}" for n in range(25)).encode())
    parts = [TextFile(path, Letters(), seq_l=9, rank=r, world_size=3) for r in range(3)]
    wanted = [f"text {n}" for n in range(25) if n % 10 != 9]
    assert documents(parts[0], 8) == wanted[0::3] and documents(parts[1], 8) == wanted[1::3]
    assert documents(parts[2], 8) == [*wanted[2::3], wanted[2]]  # the shorter part begins again
    held_out = TextFile(path, Letters(), split="validation")
    assert documents(held_out, 3) == ["text 9", "text 19", "text 9"]


def test_words_that_the_tokenizer_never_saw_are_told(tmp_path):
    for text, told in ((story(0, world="small"), False), ("Все счастливые семьи похожи.", True)):
        data = TextFile(own(tmp_path, text.encode()), SPTokenizer("stories-small"), seq_l=16)
        assert ("the tokenizer knows few of its words: 0." in str(data)) == told


def test_python_reference():
    train = documents(PythonReference(Letters()), 60)
    held_out = documents(PythonReference(Letters(), split="validation"), 7)
    assert len(set(train)) == 60 and not set(train) & set(held_out)
    assert "statement" in "".join(train)
    with pytest.raises(ValueError, match="500 ranks cannot share .* of the language reference"):
        documents(PythonReference(Letters(), world_size=500, rank=499), 1)


def of_stories(**how):
    return lambda path: TinyStories(**{"tokenizer": Letters()} | how)


def of_text(data, **how):
    return lambda path: TextFile(own(path, data), Letters(), **how)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (of_stories(batch_size=2.0), "batch_size is 2.0, and must be a whole number, 1 or more."),
        (of_stories(seq_l=1), "2 or more (a token to read and one to predict)."),
        (of_stories(skip=-3), "skip is -3, and must be a whole number, 0 or more."),
        (of_stories(rank=3, world_size=3), "rank is 3, and must be a whole number from 0 to 2."),
        (of_stories(split="test"), "split is 'test', and must be one of train, validation."),
        (of_stories(source="web"), "source is 'web', and must be one of stories, hub."),
        (of_text(b"\xef\xbb\xbf\n \n\t\n"), "1 ranks cannot share"),
        (of_text(b"good\nbad \x00 byte"), "is not UTF-8 text: save it as UTF-8 in the editor"),
        (of_text("hello".encode("utf-16")), "is not UTF-8 text"),
        (of_text(b"text 1\n\ntext 2", world_size=3), "3 ranks cannot share"),
        (of_text(b"text 1\n\ntext 2", seq_l=15), "has 14 tokens, and one sequence takes 15"),
    ],
)
def test_wrong_input_is_one_sentence(call, words, tmp_path):
    with pytest.raises(ValueError) as caught:
        call(tmp_path)
    assert words in str(caught.value) and "\n" not in str(caught.value)
