"""Stories are the same everywhere, any text comes back from tokens, and ranks share a text."""

import hashlib
import io
import pickle
import re
import sys
import types
from itertools import islice
from math import exp, sqrt
from random import Random

import pytest
import sentencepiece
import torch

from simplellm import dataloaders
from simplellm.dataloaders import TextFile, TinyStories
from simplellm.stories import ENTROPY, can_write, floor, right_sentences, sentences, stories, story
from simplellm.stories.grammar import inside, parts, story_grammar, write
from simplellm.tokenizers import SPTokenizer
from simplellm.train_tokenizer import train
from tests.said import said


class Letters:
    """A tokenizer of one token a byte, so that windows can be read by eye."""

    eos_id = 0

    def encode(self, text):
        return list(text.encode())


# --- stories -------------------------------------------------------------------------------------


def test_a_story_is_the_same_on_every_machine_and_in_every_process():
    # If the grammar was changed on purpose: run `python -m simplellm.train_tokenizer` as well,
    # write the new sums here, and the mean of the last sample below into ENTROPY.
    for world, wanted in (("large", "89ed493b7e7aecd0"), ("small", "41f8f0befbe97ecd")):
        text = "".join(islice(stories(world=world), 100))
        text += "".join(islice(stories(split="validation", world=world), 100))
        shown = {part for one in parts(story_grammar(world)) for part in inside(one)}
        text += "".join(sorted(part for part in shown if type(part) is str))  # in every form
        assert hashlib.sha256(text.encode()).hexdigest()[:16] == wanted
    some = (stories(seed, split) for seed in (0, 1) for split in ("train", "validation"))
    assert len({text for series in some for text in islice(series, 200)}) == 800


@pytest.mark.parametrize("world", ENTROPY)
def test_every_sentence_of_a_story_can_be_written_and_others_cannot(world):
    texts = [story(number, seed=7, world=world) for number in range(15)]
    right, found = right_sentences(texts, world)
    assert right == found > 200
    assert right_sentences(['"Oh no!" she zzz. The end'], world) == (0, 1)
    for sentence in (
        "Once and morning of a show the puppet we named soldier.",
        "His home was a small cottage in the end of a long road.",  # at, not in
        "I need.",
        "She loved playing",
        "loved playing outside.",
        "",
    ):
        assert not can_write(sentence, world)
    text = 'Mr. Fox ran. "Oh no!" she cried. "Wait."\nThen Mia came? Yes! And he was a'
    cut = ["Mr. Fox ran.", '"Oh no!" she cried.', '"Wait."', "Then Mia came?", "Yes!"]
    assert sentences(text) == cut and sentences("") == sentences("no end") == []


@pytest.mark.parametrize("world", ENTROPY)
def test_the_entropy_is_the_mean_surprisal_and_the_floor_its_share_of_a_token(world):
    sample = []
    for number in range(4000):
        nats = []
        write(story_grammar(world), Random(number).random, nats)
        sample.append(sum(nats))
    mean = sum(sample) / len(sample)
    error = sqrt(sum((x - mean) ** 2 for x in sample) / (len(sample) - 1) / len(sample))
    assert error < 0.3 and abs(mean - ENTROPY[world]) < 3 * error
    letters = Letters()
    found, texts = floor(letters, 50, world), islice(stories(split="validation", world=world), 50)
    tokens = sum(len(text.encode()) + 1 for text in texts) / 50
    assert found.nats_per_token == pytest.approx(ENTROPY[world] / tokens)
    assert found.perplexity == pytest.approx(exp(found.nats_per_token))


# --- tokenizers ----------------------------------------------------------------------------------

HARD = [
    "",
    "   ",
    "\n\n\t",
    "  two before, two  between, two after  ",
    "tab\tand\r\nline ends\r",
    "emoji 🙂 👩‍👩‍👧 🇨🇭, Größe, naïve, 東京, ليل, ﬁ, ſ, K",
    "zero \x00 and \x7f, \u2028, \ufeff",
    '<s></s><unk><pad><0x41> def f(x): return {"a": [1, 2.5e-3]}  # code',
]


@pytest.mark.parametrize("name", ["stories-4096", "stories-1024", "stories-320.model"])
def test_any_text_comes_back(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "320" in name:
        (tmp_path / name).write_bytes(train(320))
    tokenizer = SPTokenizer(name)
    assert tokenizer.vocab_size == int(re.search(r"\d+", name)[0])
    ids = tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    assert ids == (0, 1, 2, 3)
    for text in HARD:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    other = pickle.loads(pickle.dumps(tokenizer))  # as it is sent to another process
    for text in islice(stories(seed=9), 50):
        ids = tokenizer.encode(text)
        assert ids == other.encode(text) and min(ids) > tokenizer.pad_id  # nothing unknown
        assert tokenizer.decode(torch.tensor([*ids, tokenizer.eos_id, tokenizer.pad_id])) == text
    assert SPTokenizer().name == "stories-4096"


def test_a_model_as_other_people_have(tmp_path):
    # As LLaMA's own file: unk 0, bos 1, eos 2, pad -1, which torch would read as the last row.
    path, model = tmp_path / "tokenizer.model", io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=islice(stories(), 40), model_writer=model, minloglevel=2,
        vocab_size=200, model_type="bpe",
    )  # fmt: skip
    path.write_bytes(model.getvalue())
    tokenizer = SPTokenizer(path)
    assert (tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (0, 1, 2, 0)


def test_the_shipped_model_is_the_one_that_the_command_makes(tmp_path):
    # Fails when the grammar was changed and the models were not made again.
    path = tmp_path / "again.model"
    path.write_bytes(train(1024))
    again, shipped = SPTokenizer(path)._sp, SPTokenizer("stories-1024")._sp
    pieces = [[one.id_to_piece(i) for i in range(1024)] for one in (again, shipped)]
    assert pieces[0] == pieces[1]


# --- windows -------------------------------------------------------------------------------------


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
    for how in ({}, {"seq_l": 16}, {"rank": 2, "world_size": 3}, {"quiet": True, "seed": 3}):
        iter(TinyStories(Letters(), **how))
    monkeypatch.setenv("SIMPLELLM_QUIET", "1")
    iter(TinyStories(Letters(), seed=4))
    assert capsys.readouterr().out == (
        "[data] stories generated here (seed 0, train), rank 0 of 1; "
        'the real TinyStories: source="hub"\n'
    )


def test_the_hub_is_streamed_and_shared_and_its_failure_is_one_sentence(monkeypatch):
    def load_dataset(name, split, streaming):  # of a stand-in for the package datasets
        assert (name, streaming) == ("roneneldan/TinyStories", True)
        passes.append(split)
        yield from ({"text": t} for t in ("Ann ran.", "  ", "Ben sat.\n", "Cat.", "Dog.", "Eel."))
        if split == "train":
            raise OSError("no route to host\nmore\nlines")

    passes, how = [], {"source": "hub", "split": "validation"}
    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    part = TinyStories(Letters(), rank=1, world_size=2, **how)
    assert documents(part, 3) == ["Ben sat.", "Dog.", "Ben sat."] and passes == ["validation"] * 2
    around = documents(TinyStories(Letters(), skip=3003, **how), 3)  # far beyond the end of five
    assert around == ["Dog.", "Eel.", "Ann ran."] and len(passes) <= 5
    broken = said(documents, TinyStories(Letters(), source="hub"), 9, error=ConnectionError)
    assert "(OSError: no route to host): check the network" in broken
    monkeypatch.setitem(sys.modules, "datasets", None)
    lacking = said(documents, TinyStories(Letters(), source="hub"), 1, error=ImportError)
    assert "the package datasets, " in lacking and "run `" in lacking


def test_a_text_file_is_cut_at_blank_lines_and_shared_but_for_every_tenth_document(tmp_path):
    path = tmp_path / "own.txt"
    for data, wanted in (
        (b"\n\none\nline two\n  \n\n\ntwo\n\n three\n", ["one\nline two", "two", " three"]),
        (b"\xef\xbb\xbfone\r\n\r\ntwo\r\nmore\r\n", ["one", "two\nmore"]),  # from Windows
    ):
        path.write_bytes(data)
        assert documents(TextFile(path, Letters(), seq_l=8), 4) == (wanted * 2)[:4]
    path.write_text("\n\n".join(f"text {n}" for n in range(25)))
    parts = [TextFile(path, Letters(), seq_l=9, rank=r, world_size=3) for r in range(3)]
    wanted = [f"text {n}" for n in range(25) if n % 10 != 9]
    assert documents(parts[0], 8) == wanted[0::3] and documents(parts[1], 8) == wanted[1::3]
    assert documents(parts[2], 8) == [*wanted[2::3], wanted[2]]  # the shorter part begins again
    held_out = TextFile(path, Letters(), split="validation")
    assert documents(held_out, 3) == ["text 9", "text 19", "text 9"]
    for text, told in ((story(0, world="small"), False), ("Все счастливые семьи похожи.", True)):
        path.write_text(text, encoding="utf-8")
        data = TextFile(path, SPTokenizer("stories-small"), seq_l=16)
        assert ("the tokenizer knows few of its words: 0." in str(data)) == told


def of_text(data, **how):
    def call(folder):
        (folder / "own.txt").write_bytes(data)
        return TextFile(folder / "own.txt", Letters(), **how)

    return call


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda _: TinyStories(Letters(), skip=-3), "skip is -3, and must be a whole number, 0 or"),
        (lambda _: TinyStories(Letters(), rank=3, world_size=3), "must be a whole number from 0"),
        (lambda _: TinyStories(Letters(), split="test"), "must be one of train, validation."),
        (lambda _: TinyStories(Letters(), source="web"), "must be one of stories, hub."),
        (lambda _: stories(seed=2**64), "and must be a whole number from 0 to"),
        (lambda _: stories(world="tiny"), "world is 'tiny', and must be one of large, small"),
        (of_text(b"good\nbad \x00 byte"), "is not UTF-8 text: save it as UTF-8 in the editor"),
        (of_text("hello".encode("utf-16")), "is not UTF-8 text"),
        (of_text(b"text 1\n\ntext 2", world_size=3), "3 ranks cannot share"),
        *[
            (lambda _, wrong=wrong: SPTokenizer().decode([5, wrong]), "has the ids 0 to 4095")
            for wrong in (-1, 4096, 1.5, [1])
        ],
    ],
)
def test_wrong_input_is_one_sentence(call, words, tmp_path):
    assert words in said(call, tmp_path)
