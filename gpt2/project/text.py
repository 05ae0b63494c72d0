"""From sentences to numbers: the tokenizer, and a batch of padded rows."""

import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from transformers import PreTrainedTokenizerFast
from wrong_input import WrongInput

PAD = "<pad>"


def get_tokenizer(
    examples: Sequence[dict[str, str]],
    vocab_size: int,
    src_key: str,
    tgt_key: str,
    workdir: str | Path | None = None,
) -> PreTrainedTokenizerFast:
    """A byte-level BPE, trained here on both languages of `examples`; no network.

    It has <eos_de>, <eos_en> and <pad> beside the tokens. workdir: a folder where it is kept as
    tokenizer.json too. Raises WrongInput for examples without the two languages.
    """
    for key in (src_key, tgt_key):
        if not examples or key not in examples[0]:
            raise WrongInput(
                f"no text under {key!r} to train a tokenizer on: give {key!r} sentences"
            )
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        (example[key] for example in examples for key in (src_key, tgt_key)),
        vocab_size=vocab_size,
        special_tokens=[end_of(src_key), end_of(tgt_key), PAD],
        show_progress=False,
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(workdir or place)
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"))
        return load_tokenizer(folder)


def load_tokenizer(workdir: str | Path) -> PreTrainedTokenizerFast:
    """The tokenizer that `get_tokenizer` kept in a folder."""
    return PreTrainedTokenizerFast(
        tokenizer_file=str(Path(workdir) / "tokenizer.json"), pad_token=PAD
    )


def end_of(key: str) -> str:
    """The token that ends a sentence of a language."""
    return f"<eos_{key}>"


def source_ids(example: dict[str, str], src_key: str, tokenizer) -> list[int]:
    """What the model reads before it translates."""
    return tokenizer(f"{example[src_key]}{end_of(src_key)}")["input_ids"]


def collate_batch(
    examples: Sequence[dict[str, str]],
    src_key: str,
    tgt_key: str,
    tokenizer: PreTrainedTokenizerFast,
    model_max_length: int,
    device: str | torch.device = "cpu",
) -> dict[str, torch.Tensor]:
    """A batch: each row a sentence, its end, the translation, its end, and padding.

    All are [rows, length], length at most `model_max_length`: input_ids; labels, the token after
    each; label_token_weights, 1.0 where the label belongs to the translation, else 0.0;
    attention_mask, 1 for a token that has one after it, else 0.
    """
    rows, weights = [], []
    for example in examples:
        source = source_ids(example, src_key, tokenizer)
        target = tokenizer(f"{example[tgt_key]}{end_of(tgt_key)}")["input_ids"]
        rows.append((source + target)[: model_max_length + 1])
        weights.append(([0.0] * len(source) + [1.0] * len(target))[: model_max_length + 1])
    longest = max(map(len, rows))
    ids = [row + [tokenizer.pad_token_id] * (longest - len(row)) for row in rows]
    mask = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
    weights = [row + [0.0] * (longest - len(row)) for row in weights]
    ids, mask = torch.tensor(ids, device=device), torch.tensor(mask, device=device)
    return {
        "input_ids": ids[:, :-1],
        "labels": ids[:, 1:],
        "label_token_weights": torch.tensor(weights, device=device)[:, 1:],
        "attention_mask": mask[:, 1:],
    }


def german_to_english(tokenizer, longest: int, device: str | torch.device = "cpu") -> Callable:
    """`collate_batch` for this lab's sentences, at most `longest` tokens each."""
    return partial(
        collate_batch, src_key="de", tgt_key="en", tokenizer=tokenizer, model_max_length=longest,
        device=device,
    )  # fmt: skip
