import pytest

from simplellm.tokenizers import SPTokenizer
from simplellm.train_tokenizer import main, train


def test_the_command_trains_a_small_one(tmp_path, capsys):
    main(["--pieces", "320", "--characters", "20000", "--folder", str(tmp_path / "new")])
    path = tmp_path / "new" / "stories-320.model"
    tokenizer = SPTokenizer(path)
    assert tokenizer.vocab_size == 320
    for text in ("Once upon a time\n", "  🙂\t", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert f"{path}: 320 pieces" in capsys.readouterr().out


def test_the_shipped_model_is_the_one_that_the_command_makes(tmp_path):
    # Fails when the grammar was changed and the models were not made again.
    path = tmp_path / "again.model"
    path.write_bytes(train(1024))
    again, shipped = SPTokenizer(path)._sp, SPTokenizer("stories-1024")._sp
    assert [again.id_to_piece(i) for i in range(1024)] == [
        shipped.id_to_piece(i) for i in range(1024)
    ]


@pytest.mark.parametrize("pieces", [100, 10**6])
def test_a_size_that_cannot_be_trained(pieces):
    with pytest.raises(ValueError, match=f"A tokenizer with {pieces} pieces cannot be trained"):
        train(pieces, characters=20_000)
