"""The data of profile_ddp.py: pairs of sequences of vectors, made once and written whole.

A source is S random vectors. Its target is T vectors: the first is the mean of the source, made
to have mean 0 and variance 1; each later one is the one before, with its numbers moved on by one
place. So a model can learn it: one that knows nothing, and says 0, has a squared error of 1.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import safetensors.torch
import torch

from helpers.files import write_whole

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


def default_path(folder, kind, shapes):
    """Return where the data lies if nobody says otherwise: the name says what is in it."""
    name = "-".join("x".join(map(str, shape)) for shape in (shapes.src, shapes.tgt))
    return Path(folder) / f"{name}-{shapes.dtype}{WRITERS[kind][0]}"


def write_vectors(path, kind, shapes, seed=0):
    """Write new data as a file of this kind, whole or not at all: OSError with one sentence."""
    check_kind(kind, shapes)
    buffer = io.BytesIO()
    WRITERS[kind][1](make_vectors(shapes, seed), buffer)
    write_whole(path, buffer.getvalue())


def check_kind(kind, shapes):
    """Raise ValueError if a kind of file has no such numbers."""
    if kind in ("hdf5", "memmap") and shapes.dtype == "bfloat16":
        raise ValueError(
            f"--dtype bfloat16 --input {kind}: numpy has no such type, and this file is read "
            "with numpy; take --input pt or safetensors, or --dtype float16"
        )


def write_hdf5(tensors, buffer):
    with h5py.File(buffer, "w") as file:
        for name, tensor in tensors.items():
            file[name] = tensor.numpy()


def write_records(tensors, buffer):
    """One array of records: src and tgt of an item lie side by side on the disk."""
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    kinds = [(name, a.dtype, a.shape[1:]) for name, a in arrays.items()]
    records = np.empty(len(arrays["src"]), dtype=kinds)
    for name, array in arrays.items():
        records[name] = array
    np.save(buffer, records)


# --input: the end of the file's name, and what writes it.
WRITERS = {
    "hdf5": (".h5", write_hdf5),
    "pt": (".pt", torch.save),
    "safetensors": (".safetensors", lambda t, buffer: buffer.write(safetensors.torch.save(t))),
    "memmap": (".npy", write_records),
}
