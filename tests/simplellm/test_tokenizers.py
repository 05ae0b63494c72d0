import io
import pickle
import sys
from itertools import islice
from pathlib import Path

import pytest
import sentencepiece
import torch

from simplellm.stories import stories
from simplellm.tokenizers import SPTokenizer

NAMES = ("stories-4096", "stories-1024")
HARD = [
    "",
    " ",
    "   ",
    "\n",
    "\n\n\t",
    "  two before, two  between, two after  ",
    "tab\tand\r\nline ends\r",
    "emoji 🙂 👩‍👩‍👧 🇨🇭",
    "Größe, naïve, 東京, ليل, ﬁ, ſ, K",
    "\u2581 is how a space is written \u2581\u2581",
    "\ue000\u2581\ue001",
    "zero \x00 and \x7f, \u2028, \ufeff",
    "<s></s><unk><pad><0x41>",
    'def f(x): return {"a": [1, 2.5e-3]}  # code',
]


@pytest.fixture(scope="module", params=NAMES)
def tokenizer(request):
    return SPTokenizer(request.param)


def test_sizes_and_special_ids(tokenizer):
    assert tokenizer.vocab_size == len(tokenizer) == int(tokenizer.name.split("-")[1])
    ids = tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
    assert ids == (0, 1, 2, 3)
    assert SPTokenizer().name == "stories-4096"


@pytest.mark.parametrize("text", HARD)
def test_any_text_comes_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_stories_come_back_and_use_no_unknown_token(tokenizer):
    for text in islice(stories(seed=9), 50):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert min(ids) > tokenizer.pad_id  # no BOS, no EOS, nothing unknown


def test_decode_takes_a_tensor_and_leaves_special_ids_out(tokenizer):
    ids = tokenizer.encode("A little boat.")
    assert tokenizer.decode(torch.tensor(ids)) == "A little boat."
    assert tokenizer.decode([*ids, tokenizer.eos_id, tokenizer.pad_id]) == "A little boat."


def test_it_can_be_sent_to_another_process(tokenizer):
    other = pickle.loads(pickle.dumps(tokenizer))
    assert other.encode("a dog\n") == tokenizer.encode("a dog\n")
    assert other.pad_id == tokenizer.pad_id


def test_a_model_as_other_people_have(tmp_path):
    # As LLaMA's own file: unk 0, bos 1, eos 2, pad -1, which torch would read as the last row; and
    # without bytes for what no piece covers.
    path, model = tmp_path / "tokenizer.model", io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=islice(stories(), 40), model_writer=model, minloglevel=2,
        vocab_size=200, model_type="bpe",
    )  # fmt: skip
    path.write_bytes(model.getvalue())
    tokenizer = SPTokenizer(path)
    assert (tokenizer.unk_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id) == (0, 1, 2, 0)
    assert tokenizer.decode(tokenizer.encode("a \u2581 dog")).split() == ["a", "dog"]


def test_without_the_package_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ImportError, match="need the package sentencepiece, which is not installed"):
        SPTokenizer()


OUTSIDE = "is no token: stories-4096 has the ids 0 to 4095."
NO_FILE = (
    '": give the path of a SentencePiece model, or one of the names stories-4096, stories-1024, '
    "stories-small."
)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda own: SPTokenizer().decode([5, -1]), ValueError, f"-1 {OUTSIDE}"),
        (lambda own: SPTokenizer().decode([5, 4096]), ValueError, f"4096 {OUTSIDE}"),
        (lambda own: own.encode(b"bytes"), TypeError, "encode needs a text (str), and got bytes"),
        (lambda own: own.encode("ab\ud83d"), ValueError, "holds half of a surrogate pair"),
        (lambda own: own.decode([[1, 2]]), ValueError, "[1, 2] is no token"),
        (lambda own: own.decode([1.5]), ValueError, "1.5 is no token"),
        (lambda _: SPTokenizer("none"), FileNotFoundError, f'no tokenizer file "none{NO_FILE}'),
        (lambda _: SPTokenizer("empty"), ValueError, 'The tokenizer file "empty" is empty'),
        (lambda _: SPTokenizer("text"), ValueError, '"text" is not a SentencePiece model'),
        (lambda _: SPTokenizer("page"), ValueError, '"page" is not a SentencePiece model'),
        (lambda _: SPTokenizer("."), ValueError,
         "is a folder or a device: give the path of a tokenizer file"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_sentence(call, error, words, tokenizer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("empty").write_bytes(b"")
    Path("text").write_text("This is a letter to a friend.\n" * 50)
    Path("page").write_text("<!doctype html><html><body>404 Not Found</body></html>")
    with pytest.raises(error) as caught:
        call(tokenizer)
    assert words in str(caught.value) and "\n" not in str(caught.value)
