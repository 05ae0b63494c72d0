"""From text to token ids and back, with SentencePiece models.

Three models ship with the package, trained on the stories of `simplellm.stories` (by
`python -m simplellm.train_tokenizer`): `stories-4096`, the default; `stories-1024`, which needs a
smaller model and longer texts; and `stories-small`, whose pieces are the words of the small world
of stories. Any other SentencePiece file works too, LLaMA's `tokenizer.model` for one.
"""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from types import ModuleType

SHIPPED = ("stories-4096", "stories-1024", "stories-small")
DEFAULT = SHIPPED[0]
_SPACE = "\u2581"  # SentencePiece writes a space as this character


def import_sentencepiece() -> ModuleType:
    """Import sentencepiece when it is first needed; `ImportError` says how to get it."""
    try:
        import sentencepiece
    except ImportError as error:
        raise ImportError(
            "Tokenizers need the package sentencepiece, which is not installed here: "
            "run `python -m pip install sentencepiece`."
        ) from error
    return sentencepiece


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

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is a folder, empty, or not a SentencePiece model.
        ImportError: The package sentencepiece is missing.
    """

    def __init__(self, tokenizer_path: str | Path | None = None):
        self.name = DEFAULT if tokenizer_path is None else str(tokenizer_path)
        self._sp = _load(_read(self.name), self.name)
        self.vocab_size: int = self._sp.vocab_size()
        self.bos_id: int = self._sp.bos_id()
        self.eos_id: int = self._sp.eos_id()
        self.unk_id: int = max(self._sp.unk_id(), 0)
        own_pad = self._sp.pad_id()
        self.pad_id: int = own_pad if own_pad >= 0 else self.unk_id

    def __repr__(self) -> str:
        return f'SPTokenizer("{self.name}"), {self.vocab_size} pieces'

    def __len__(self) -> int:
        return self.vocab_size

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without BOS or EOS; [] for the empty text.

        With the shipped models `decode(encode(text)) == text` for every text.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode needs a text (str), and got {type(text).__name__}.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ValueError("The text holds half of a surrogate pair, which is no UTF-8 text.")
        return self._encode_space_sign(text) if _SPACE in text else self._sp.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of a list of ids (or of a one-dimensional tensor).

        BOS, EOS and padding decode to nothing.

        Raises:
            ValueError: An id is outside of the vocabulary.
        """
        ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        for token in ids:
            if not isinstance(token, int) or not 0 <= token < self.vocab_size:
                raise ValueError(
                    f"{token!r} is no token: {self.name} has the ids 0 to {self.vocab_size - 1}."
                )
        return self._sp.decode(ids)

    def _encode_space_sign(self, text: str) -> list[int]:
        """Encode a text with the sign that SentencePiece itself uses for a space.

        It would come back as a space. So another character takes its place, one that no piece
        holds; where that comes out in bytes, the bytes are exchanged.
        """
        stand_in = next(c for c in map(chr, range(0xE000, 0xF8FF)) if c not in text)
        bytes_of = [[self._byte_id(b) for b in c.encode()] for c in (stand_in, _SPACE)]
        ids = self._sp.encode(text.replace(_SPACE, stand_in))
        if self.unk_id in bytes_of[0] + bytes_of[1]:
            return self._sp.encode(text)  # a model without byte fallback has no other way
        out, at = [], 0
        while at < len(ids):
            hit = ids[at : at + 3] == bytes_of[0]
            out += bytes_of[1] if hit else ids[at : at + 1]
            at += 3 if hit else 1
        return out

    def _byte_id(self, byte: int) -> int:
        return self._sp.piece_to_id(f"<0x{byte:02X}>")


def _read(name: str) -> bytes:
    """Return the bytes of a model, given its short name or path."""
    if name in SHIPPED:
        return (files("simplellm") / "assets" / f"{name}.model").read_bytes()
    path = Path(name)
    if path.exists() and not path.is_file():
        raise ValueError(f'"{path}" is a folder or a device: give the path of a tokenizer file.')
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f'There is no tokenizer file "{path}": give the path of a SentencePiece model, '
            f"or one of the names {', '.join(SHIPPED)}."
        ) from error
    if not data:
        raise ValueError(f'The tokenizer file "{path}" is empty: download or copy it again.')
    return data


def _load(data: bytes, name: str):
    """Return a SentencePiece processor for the bytes of a model."""
    sentencepiece = import_sentencepiece()
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(data)
        if processor.vocab_size() > 0:
            return processor
    except (RuntimeError, OSError):
        pass
    raise ValueError(
        f'The file "{name}" is not a SentencePiece model (its first bytes are {data[:12]!r}): '
        "such a file is often called tokenizer.model."
    )
