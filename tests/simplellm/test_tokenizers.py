"""Tokenizers: any text comes back; those that ship are those that the command makes."""

import io
import pickle
from itertools import islice
from pathlib import Path

import pytest
import sentencepiece
import torch

from simplellm.stories import stories
from simplellm.tokenizers import SPTokenizer
from simplellm.train_tokenizer import main, train

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


@pytest.mark.parametrize("name", ["stories-4096", "stories-1024"])
def test_any_text_comes_back(name):
    tokenizer = SPTokenizer(name)
    assert tokenizer.vocab_size == len(tokenizer) == int(name.split("-")[1])
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
    assert tokenizer.decode(tokenizer.encode("a dog")) == "a dog"


def test_wrong_input_is_one_sentence(tmp_path):
    for wrong in (-1, 4096, 1.5, [1]):
        with pytest.raises(ValueError, match="is no token: stories-4096 has the ids 0 to 4095"):
            SPTokenizer().decode([5, wrong])
    for path in ("none", tmp_path):
        with pytest.raises(FileNotFoundError, match="There is no tokenizer file .*: give the path"):
            SPTokenizer(path)
    for text in ("", "This is a letter to a friend.\n" * 50):
        (tmp_path / "text").write_text(text)
        with pytest.raises(ValueError, match='text" is not a SentencePiece model'):
            SPTokenizer(tmp_path / "text")


def test_the_command_trains_a_small_one(tmp_path, capsys):
    main(["--pieces", "320", "--characters", "20000", "--folder", str(tmp_path / "new")])
    path = Path(tmp_path / "new" / "stories-320.model")
    tokenizer = SPTokenizer(path)
    assert tokenizer.vocab_size == 320 and f"{path}: 320 pieces" in capsys.readouterr().out
    for text in ("Once upon a time\n", "  🙂\t", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    with pytest.raises(ValueError, match="A tokenizer with 100 pieces cannot be trained"):
        train(100, characters=20_000)


def test_the_shipped_model_is_the_one_that_the_command_makes(tmp_path):
    # Fails when the grammar was changed and the models were not made again.
    path = tmp_path / "again.model"
    path.write_bytes(train(1024))
    again, shipped = SPTokenizer(path)._sp, SPTokenizer("stories-1024")._sp
    pieces = [[one.id_to_piece(i) for i in range(1024)] for one in (again, shipped)]
    assert pieces[0] == pieces[1]
