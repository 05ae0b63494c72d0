"""Endless batches of token ids: from stories, or from your own text.

| class | text | needs |
|---|---|---|
| `TinyStories` | stories written by `simplellm.stories` | nothing |
| `TinyStories(source="hub")` | the real TinyStories (arXiv 2305.07759) | a network |
| `TextFile` | a text file; blank lines separate its documents | the file |

All cut their windows the same way: documents are encoded, each is followed by one end-of-text
token, and the stream of tokens is cut into windows of `seq_l` tokens, back to back. A batch holds
`batch_size` consecutive windows. Documents are read when they are needed, never all at once.
"""

import importlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from simplellm.stories import SPLITS, WORLDS, check_one_of, check_whole, stories

HUB_NAME = "roneneldan/TinyStories"
FEW_CHARACTERS = 2.0  # a token of a text whose words the tokenizer was trained on has 2.5 or more
HELD_OUT = 10  # of a source without a validation split, every tenth document is held out


def windows(
    documents: Iterable[str], tokenizer, batch_size: int, seq_l: int
) -> Iterator[torch.Tensor]:
    """Yield int64 tensors (batch_size, seq_l), cut back to back from the encoded documents."""
    size, ids = batch_size * seq_l, []  # ids: encoded, and not yet cut
    for text in documents:
        ids += tokenizer.encode(text)
        ids.append(tokenizer.eos_id)
        while len(ids) >= size:
            cut, ids = ids[:size], ids[size:]
            yield torch.tensor(cut, dtype=torch.int64).view(batch_size, seq_l)


@dataclass
class _Batches:
    """What all sources share: checks, the line that names the source, cutting windows.

    Each has `read()`, which yields all documents once, and `text`, which says what is read.
    """

    tokenizer: Any
    streaming: bool = True
    batch_size: int = 8
    seq_l: int = 2048
    split: str = "train"
    num_workers: int = 0
    skip: int = 0
    rank: int = 0
    world_size: int = 1
    quiet: bool = False

    def __post_init__(self):
        if self.tokenizer.eos_id < 0:
            raise ValueError(
                f"{self.tokenizer!r} has no end-of-text token (eos_id is {self.tokenizer.eos_id}), "
                "which parts one document from the next: take another tokenizer."
            )
        check_whole("batch_size", self.batch_size, 1)
        check_whole("seq_l", self.seq_l, 2, " (a token to read and one to predict)")
        check_whole("skip", self.skip, 0)
        check_whole("world_size", self.world_size, 1)
        check_whole("rank", self.rank, 0, most=self.world_size - 1)
        check_one_of("split", self.split, SPLITS)

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Start at the first window; each call returns its own iterator."""
        silent = self.quiet or os.environ.get("SIMPLELLM_QUIET", "0") not in ("", "0")
        if self.rank == 0 and not silent:  # the other ranks would say the same
            _say_once(f"[data] {self}")
        return windows(self.documents(), self.tokenizer, self.batch_size, self.seq_l)

    def __str__(self) -> str:
        return f"{self.text}, {self.split}, rank {self.rank} of {self.world_size}"

    def documents(self) -> Iterator[str]:
        """Yield this rank's documents endlessly, starting again at the end of what is read.

        `skip` leaves out the first documents of this rank's part; a skip beyond the end continues
        from the beginning. Nothing is kept: `read` is called again for each pass.
        """
        skip = self.skip
        while True:
            number = own = 0
            for number, text in enumerate(self.read(), 1):  # noqa: B007
                if (number - 1) % self.world_size == self.rank:
                    own += 1
                    if own > skip:
                        yield text
            if own == 0:
                raise ValueError(
                    f"{self.world_size} ranks cannot share {number} documents of {self.text}: rank "
                    f"{self.rank} gets none; use fewer ranks or more text."
                )
            # What is left to skip is less than one pass, so at most one pass yields nothing.
            skip = (skip - own) % own if skip > own else 0


@dataclass
class TinyStories(_Batches):
    """Short stories for children, as batches of token ids.

    `iter(ds)` yields int64 tensors (batch_size, seq_l) endlessly. Two iterators are independent,
    and iterating again starts again.

    Args:
        tokenizer: An `SPTokenizer`, or anything with `encode(text)` and `eos_id`.
        batch_size: Windows in a batch.
        seq_l: Tokens in a window.
        split: "train" or "validation"; they share no story.
        streaming, num_workers: Accepted for older scripts: documents are always streamed, and a
            batch takes about a millisecond for 500 tokens, so worker processes wouldn't help.
        skip: Leaves out the first `skip` documents of this rank's part.
        rank, world_size: Rank r reads stories r, r + world_size, r + 2 * world_size, … With
            `skip=rank * 3000` instead, it would read the next rank's stories after 3,000.
        quiet: Do not print the source; SIMPLELLM_QUIET=1 does the same everywhere.
        seed: Another seed is another series of stories. The hub has one order only.
        source: "stories" writes the stories here; "hub" streams the real TinyStories with the
            package datasets. Neither ever replaces the other silently.
        world: "large", or "small" for stories of fewer words.
    """

    seed: int = 0
    source: str = "stories"
    world: str = "large"

    def __post_init__(self):
        super().__post_init__()
        check_whole("seed", self.seed, 0)
        check_one_of("world", self.world, WORLDS)
        check_one_of("source", self.source, ("stories", "hub"))

    text = "the real TinyStories, streamed from the hub"

    def __str__(self) -> str:
        if self.source == "hub":
            return super().__str__()
        kind = "stories" if self.world == "large" else f"stories of a {self.world} world"
        return (
            f"{kind} generated here (seed {self.seed}, {self.split}), rank {self.rank} of "
            f'{self.world_size}; the real TinyStories: source="hub"'
        )

    def documents(self) -> Iterator[str]:
        if self.source == "hub":
            return super().documents()
        return stories(
            self.seed, self.split, self.rank, self.world_size, self.skip, world=self.world
        )

    def read(self) -> Iterator[str]:
        """Yield the real TinyStories once, streamed: nothing is stored."""
        try:
            datasets = importlib.import_module("datasets")
        except ImportError as error:
            raise ImportError(
                'source="hub" needs the package datasets, which is not installed here: run '
                '`python tools/install.py hub`, or take source="stories", which needs none.'
            ) from error
        try:
            for row in datasets.load_dataset(HUB_NAME, split=self.split, streaming=True):
                if row["text"].strip():
                    yield row["text"].strip()
        except Exception as error:  # whatever the network, the hub or the package throws
            reason = str(error).strip().partition("\n")[0] or "no reason given"
            raise ConnectionError(
                f"The real TinyStories ({HUB_NAME}, {self.split}) could not be read from the hub "
                f'({type(error).__name__}: {reason}): check the network, or take source="stories", '
                "which needs none."
            ) from error


class TextFile(_Batches):
    """A text file of your own, in UTF-8; blank lines separate its documents.

    The file is read once to check it, and then document by document: no more than one is held in
    memory, so separate a long text by blank lines. Every tenth document is held out for validation,
    and what has been read is read again. The other arguments are those of `TinyStories`, without
    seed, source and world.
    """

    def __init__(self, path: str | Path, tokenizer, **others):
        super().__init__(tokenizer, **others)
        self.path = Path(path)
        count = tokens = characters = 0
        for text in self.read():
            count += 1
            if tokens < max(self.seq_l, 5000):  # enough to tell how its words are cut
                tokens += len(tokenizer.encode(text)) + 1
                characters += len(text)
        self.text = f'"{path}", {count} documents'
        if count < self.world_size:
            raise ValueError(
                f'{self.world_size} ranks cannot share {self.text} for "{self.split}" (every '
                f'{HELD_OUT}th is held out for "validation"): use fewer ranks or more text.'
            )
        if tokens < self.seq_l and self.split == "train":
            words = f'"{path}" has {tokens} tokens, and one sequence takes {self.seq_l}'
            raise ValueError(f"{words}: use a longer text or shorter sequences.")
        if characters < FEW_CHARACTERS * tokens:
            self.text += f"; the tokenizer knows few of its words: {characters / tokens:.1f} "
            self.text += "characters a token"

    def read(self) -> Iterator[str]:
        for number, text in enumerate(self._all(), 1):
            if (number % HELD_OUT == 0) == (self.split == "validation"):
                yield text

    def _all(self) -> Iterator[str]:
        if not self.path.is_file():
            raise FileNotFoundError(f'There is no file "{self.path}": check the path.')
        lines: list[str] = []
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                for line in chain(file, [""]):
                    if "\0" in line:
                        raise UnicodeError
                    if line.strip():
                        lines.append(line)
                    elif lines:
                        yield "".join(lines).rstrip("\n")
                        lines = []
        except UnicodeError:
            raise ValueError(
                f'"{self.path}" is not UTF-8 text: save it as UTF-8 in the editor, and try again.'
            ) from None


@cache
def _say_once(line: str) -> None:
    print(line, flush=True)
