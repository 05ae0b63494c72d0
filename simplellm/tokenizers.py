"""From text to token ids and back, with SentencePiece models.

Three models ship with the package, trained on the stories of `simplellm.stories` (by
`python -m simplellm.train_tokenizer`): `stories-4096`, the default; `stories-1024`, which needs a
smaller model and longer texts; and `stories-small`, whose pieces are the words of the small world
of stories. Any other SentencePiece file works too, LLaMA's `tokenizer.model` for one.
"""

from collections.abc import Iterable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

SHIPPED = ("stories-4096", "stories-1024", "stories-small")
DEFAULT = SHIPPED[0]


class SPTokenizer:
    """A SentencePiece tokenizer.

    Args:
        tokenizer_path: None for the default model that ships with the package, the short name of a
            shipped one ("stories-small"), or the path of a SentencePiece file.

    Attributes:
        name: The short name, or the path.
        vocab_size: Number of ids; each id is in 0 … vocab_size - 1.
        bos_id, eos_id: Begin and end of a text; -1 where the model has none.
        unk_id: The id of what no piece covers. Models with byte fallback never use it.
        pad_id: An id for padding, always a valid row of an embedding. A model may come without one
            (LLaMA's own says -1, which torch would read as the last row): then it is `unk_id`.
    """

    def __init__(self, tokenizer_path: str | Path | None = None):
        self.name = DEFAULT if tokenizer_path is None else str(tokenizer_path)
        self._sp = _load(self.name)
        self.vocab_size: int = self._sp.vocab_size()
        self.bos_id: int = self._sp.bos_id()
        self.eos_id: int = self._sp.eos_id()
        self.unk_id: int = max(self._sp.unk_id(), 0)
        own_pad = self._sp.pad_id()
        self.pad_id: int = own_pad if own_pad >= 0 else self.unk_id

    def __repr__(self) -> str:
        return f'SPTokenizer("{self.name}"), {self.vocab_size} pieces'

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without BOS or EOS; [] for the empty text.

        With the shipped models `decode(encode(text)) == text` for every text without the character
        that SentencePiece writes for a space, U+2581, which comes back as a space.
        """
        return self._sp.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of a list of ids (or of a one-dimensional tensor).

        BOS, EOS and padding decode to nothing. Raises ValueError for an id that there isn't.
        """
        ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        for token in ids:
            if not isinstance(token, int) or not 0 <= token < self.vocab_size:
                known = f"{self.name} has the ids 0 to {self.vocab_size - 1}"
                raise ValueError(f"{token!r} is no token: {known}.")
        return self._sp.decode(ids)


def _load(name: str):
    import sentencepiece  # when it is first needed

    shipped = files("simplellm") / "assets" / f"{name}.model"
    path = shipped if name in SHIPPED else Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f'There is no tokenizer file "{path}": give the path of a SentencePiece model, '
            f"or one of the names {', '.join(SHIPPED)}."
        )
    data, processor = path.read_bytes(), sentencepiece.SentencePieceProcessor()
    with suppress(RuntimeError):
        processor.LoadFromSerializedProto(data)
        if processor.vocab_size() > 0:
            return processor
    raise ValueError(
        f'The file "{name}" is not a SentencePiece model (its first bytes are {data[:12]!r}): '
        "such a file is often called tokenizer.model."
    )
