"""Train the SentencePiece models that ship with the package.

    python -m simplellm.train_tokenizer                # all, into simplellm/assets

The models are made from the stories that `simplellm.stories` writes; the same command gives the
same files. Every text can be encoded and comes back unchanged: nothing is normalized, and what no
piece covers is written in bytes (`byte_fallback`, as LLaMA's own tokenizer does it).
"""

import io
from pathlib import Path

import sentencepiece

from simplellm.stories import stories

# By the end of its name: pieces, and the world of its stories, of whose small one 1,200 are nearly
# all words.
SHIPPED = {"1024": (1024, "large"), "4096": (4096, "large"), "small": (1200, "small")}
CHARACTERS = 4_000_000  # of the stories that are read


def train(pieces: int, world: str = "large") -> bytes:
    """Return a SentencePiece model with exactly `pieces` pieces, as the bytes of its file.

    It is trained on the first stories of a world. Ids 0 to 3 are <unk>, <s>, </s> and <pad>, 4 is
    the new line, and the 256 bytes follow.
    """
    model = io.BytesIO()

    def texts(left=CHARACTERS):
        series = stories(world=world)
        while left > 0:
            yield (text := next(series))
            left -= len(text)

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=texts(),
        model_writer=model,
        model_type="bpe",  # as LLaMA's
        vocab_size=pieces,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        user_defined_symbols=["\n"],  # the end of a paragraph is one piece, not a byte
        character_coverage=1.0,
        **{"unk_id": 0, "bos_id": 1, "eos_id": 2, "pad_id": 3},
        num_threads=1,  # so that the same command gives the same file
        minloglevel=2,
    )
    return model.getvalue()


if __name__ == "__main__":
    for name, (pieces, world) in SHIPPED.items():
        path = Path(__file__).parent / f"assets/stories-{name}.model"
        path.write_bytes(train(pieces, world))
        print(f"{path}: {pieces} pieces")
