"""Endless batches of token ids: from stories, from Python's own reference, from your own text.

| class | text | needs |
|---|---|---|
| `TinyStories` | stories written by `simplellm.stories` | nothing |
| `TinyStories(source="hub")` | the real TinyStories (arXiv 2305.07759) | a network |
| `PythonReference` | the language reference that every Python carries, 465 k characters | nothing |
| `TextFile` | a text file; blank lines separate its documents | the file |

All cut their windows the same way: documents are encoded, each is followed by one end-of-text
token, and the stream of tokens is cut into windows of `seq_l` tokens, back to back. A batch holds
`batch_size` consecutive windows. Documents are read when they are needed, never all at once.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from simplellm.documents import count_documents, endless, read_documents, read_hub
from simplellm.stories import WORLDS, check_split, check_whole, stories

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


@dataclass(eq=False, repr=False)
class _Batches:
    """What all sources share: checks, the line that names the source, cutting windows.

    Each has `documents()`, this rank's documents endlessly, and `describe()`, what is read.
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
        if not hasattr(self.tokenizer, "encode") or not hasattr(self.tokenizer, "eos_id"):
            kind = type(self.tokenizer).__name__
            raise TypeError(f"the data needs a tokenizer such as SPTokenizer(), and got a {kind}.")
        if not 0 <= self.tokenizer.eos_id:
            raise ValueError(
                f"{self.tokenizer!r} has no end-of-text token (eos_id is {self.tokenizer.eos_id}), "
                "which parts one document from the next: take another tokenizer."
            )
        check_whole("batch_size", self.batch_size, 1)
        check_whole("seq_l", self.seq_l, 2, " (a token to read and one to predict)")
        check_whole("num_workers", self.num_workers, 0)
        check_whole("skip", self.skip, 0)
        check_whole("world_size", self.world_size, 1)
        check_whole("rank", self.rank, 0, most=self.world_size - 1)
        check_split(self.split)

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Start at the first window; each call returns its own iterator."""
        silent = self.quiet or os.environ.get("SIMPLELLM_QUIET", "0") not in ("", "0")
        if self.rank == 0 and not silent:  # the other ranks would say the same
            _say_once(self.describe())
        return windows(self.documents(), self.tokenizer, self.batch_size, self.seq_l)

    def _place(self) -> str:
        return f"{self.split}, rank {self.rank} of {self.world_size}"


@dataclass(eq=False, repr=False)
class TinyStories(_Batches):
    """Short stories for children, as batches of token ids.

    `iter(ds)` yields int64 tensors (batch_size, seq_l) endlessly. Two iterators are independent,
    and iterating again starts again.

    Args:
        tokenizer: An `SPTokenizer`, or anything with `encode(text)` and `eos_id`.
        streaming: Accepted for older scripts; documents are streamed in either case.
        batch_size: Windows in a batch.
        seq_l: Tokens in a window.
        split: "train" or "validation"; they share no story.
        num_workers: Accepted for older scripts; a batch takes about a millisecond for 500 tokens,
            so worker processes would not help, and the batches are the same.
        skip: Leaves out the first `skip` documents of this rank's part. With the default
            world_size=1 the part is the whole stream: `skip=rank * 3000` starts each rank 3,000
            stories after the one before, and once it has read 3,000 it reads the next rank's
            stories again. `rank` and `world_size` have no such overlap.
        rank, world_size: Rank r reads stories r, r + world_size, r + 2 * world_size, …
        seed: Another seed is another series of stories. The hub has one order only.
        source: "stories" writes the stories here; "hub" streams the real TinyStories with the
            package datasets. Neither ever replaces the other silently.
        world: "large", or "small" for stories of fewer words.
        quiet: Do not print the source; SIMPLELLM_QUIET=1 does the same everywhere.

    Raises:
        ValueError, TypeError: A wrong argument.
        ImportError, ConnectionError: source="hub" without the package, or without the hub.
    """

    seed: int = 0
    source: str = "stories"
    world: str = "large"

    def __post_init__(self):
        super().__post_init__()
        check_whole("seed", self.seed, 0)
        if self.world not in WORLDS:
            raise ValueError(f"world is {self.world!r}, and must be one of {', '.join(WORLDS)}.")
        if self.source not in ("stories", "hub"):
            raise ValueError(f'source is {self.source!r}, and must be "stories" or "hub".')

    def documents(self) -> Iterator[str]:
        if self.source == "stories":
            place = self.rank, self.world_size, self.skip
            return stories(self.seed, self.split, *place, world=self.world)
        return endless(lambda: read_hub(self.split), self.rank, self.world_size, self.skip)

    def describe(self) -> str:
        if self.source == "hub":
            return f"the real TinyStories, streamed from the hub, {self._place()}"
        kind = "stories" if self.world == "large" else f"stories of a {self.world} world"
        return (
            f"{kind} generated here (seed {self.seed}, {self.split}), rank {self.rank} of "
            f'{self.world_size}; the real TinyStories: source="hub"'
        )


class _Finite(_Batches):
    """A source whose documents are counted; it begins again when it has been read."""

    def __init__(self, tokenizer, read: Callable, count: int, what: str, **others):
        super().__init__(tokenizer, **others)
        self.read = read  # gives every document once, held out or not
        held_out = count // HELD_OUT
        self.count = held_out if self.split == "validation" else count - held_out
        if self.world_size > self.count:
            raise ValueError(
                f"{self.world_size} ranks cannot share {_documents(self.count)} of {what}: every "
                f'{HELD_OUT}th is held out for split="validation" and the others are for "train", '
                f"and this is {self.split}; use fewer ranks or more text."
            )

    def documents(self) -> Iterator[str]:
        return endless(self._chosen, self.rank, self.world_size, self.skip)

    def _chosen(self) -> Iterator[str]:
        for number, text in enumerate(self.read(), 1):
            if (number % HELD_OUT == 0) == (self.split == "validation"):
                yield text


class PythonReference(_Finite):
    """The language reference of the Python that runs this: real English, without a network.

    Its topics, about 80 (`help("topics")` lists them), are the documents; Python versions differ a
    little. Every tenth is held out for validation, and what has been read is read again. The other
    arguments are those of `TinyStories`, without seed and source.

    Raises:
        ImportError: This Python comes without its reference.
        ValueError, TypeError: A wrong argument, or more ranks than documents.
    """

    def __init__(self, tokenizer, **others):
        try:
            from pydoc_data.topics import topics
        except ImportError as error:
            raise ImportError(
                "This Python comes without its language reference (pydoc_data.topics): "
                "take TinyStories or TextFile."
            ) from error
        texts = sorted(set(topics.values()))
        read = partial(iter, texts)
        super().__init__(tokenizer, read, len(texts), "the Python reference", **others)

    def describe(self) -> str:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"the language reference of Python {version}, {self._place()}"


class TextFile(_Finite):
    """A text file of your own, in UTF-8; blank lines separate its documents.

    The file is read once to check it and to count its documents, and then document by document: no
    more than one is held in memory, so separate a long text by blank lines. Every tenth document is
    held out for validation, and what has been read is read again. The other arguments are those of
    `TinyStories`, without seed and source.

    Raises:
        FileNotFoundError, PermissionError: No such file, or not to be read.
        ValueError, TypeError: A folder, an empty file, not UTF-8 text, more ranks than documents,
            or another wrong argument; on the first batch, a text shorter than one sequence.
    """

    def __init__(self, path: str | Path, tokenizer, **others):
        self.path, self.cut = Path(path), float("inf")
        read = partial(read_documents, self.path)
        super().__init__(tokenizer, read, count_documents(self.path), f'"{path}"', **others)

    def __iter__(self) -> Iterator[torch.Tensor]:
        tokens = characters = 0
        for text in self._chosen():  # as much as tells how long it is, and how its words are cut
            tokens += len(self.tokenizer.encode(text)) + 1
            characters += len(text)
            if tokens >= max(self.seq_l, 5000):
                break
        if tokens < self.seq_l and self.split == "train":
            raise ValueError(
                f'"{self.path}" has {tokens} tokens, and one sequence takes {self.seq_l}: use a '
                "longer text or shorter sequences."
            )
        self.cut = characters / tokens
        return super().__iter__()

    def describe(self) -> str:
        said = f'"{self.path}", {_documents(self.count)}, {self._place()}'
        if self.cut < FEW_CHARACTERS:
            name = getattr(self.tokenizer, "name", "the tokenizer")
            said += f"; {name} knows few of its words: {self.cut:.1f} characters a token"
        return said


def _documents(count: int) -> str:
    return f"{count} document" if count == 1 else f"{count} documents"


@cache
def _say_once(line: str) -> None:
    print(f"[data] {line}", flush=True)
