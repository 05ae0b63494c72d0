"""The data of profile_ddp.py: pairs of sequences of vectors.

A source is S random vectors. Its target is T vectors: the first is the mean of the source, made
to have mean 0 and variance 1; each later one is the one before, with its numbers moved on by one
place. So a model can learn it: one that knows nothing, and says 0, has a squared error of 1.
"""

from dataclasses import dataclass

import torch

DTYPES = ("float32", "float64", "bfloat16", "float16")


@dataclass(frozen=True)
class Shapes:
    """Of the two tensors: (items, vectors, numbers in a vector), and the type of the numbers.

    Raises ValueError if they don't fit together.
    """

    src: tuple[int, int, int]
    tgt: tuple[int, int, int]
    dtype: str = "float32"

    def __post_init__(self):
        if min(*self.src, *self.tgt) < 1 or self.src[::2] != self.tgt[::2]:
            raise ValueError(
                f"--src-shape {' '.join(map(str, self.src))} and --tgt-shape "
                f"{' '.join(map(str, self.tgt))}: give whole numbers above 0, with the same number "
                "of items (the first) and of numbers in a vector (the last)"
            )

    @property
    def torch_dtype(self):
        return getattr(torch, self.dtype)


def make_vectors(shapes, seed=0):
    """Return both tensors, "src" and "tgt", the same for the same seed."""
    draw = torch.Generator().manual_seed(seed)
    src = torch.randn(shapes.src, generator=draw)
    first = torch.nn.functional.layer_norm(src.mean(1), shapes.src[2:])
    tgt = torch.stack([first.roll(t, 1) for t in range(shapes.tgt[1])], 1)
    return {"src": src.to(shapes.torch_dtype), "tgt": tgt.to(shapes.torch_dtype)}
