"""Five ways to read the same data: from memory, and from four kinds of file.

Each is a data set in torch's sense: `data[i]` is item i, as two tensors (S, E) and (T, E). A
DataLoader may read it with **worker** processes, which make batches while the rank computes.
"""

import io
import os
from pathlib import Path

import h5py
import numpy as np
import safetensors.torch
import torch
from safetensors import safe_open
from torch.utils.data import Dataset
from vectors import make_vectors

from helpers.files import write_whole

NAMES = ("src", "tgt")


class FromMemory(Dataset):
    """Two tensors in the memory of this rank: nothing to read, but no room for a large data set."""

    def __init__(self, tensors):
        self.tensors = [tensors[name] for name in NAMES]

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)


class FromFile(Dataset):
    """A file that is opened by whoever reads from it, and not before.

    `open_file` returns {"src": …, "tgt": …}, each with one item at [i]. An open file must not
    travel to a worker: processes that share one share its place in the file too, and HDF5's own
    caches. So this travels without (`__getstate__`).
    """

    def __init__(self, path, items, kind=None):
        self.path, self.items, self.kind = path, items, kind
        self.file = self.owner = None

    def __len__(self):
        return self.items

    def __getstate__(self):
        return {**self.__dict__, "file": None, "owner": None}

    def __getitem__(self, index):
        file = self.handle()
        items = [file[name][index] for name in NAMES]
        # A copy of an array: what is mapped must not be written to.
        return tuple(
            item if isinstance(item, torch.Tensor) else torch.from_numpy(np.array(item))
            for item in items
        )

    def open_file(self):
        return KINDS[self.kind][2](self.path)

    def handle(self):
        """The file, opened by this very process (os.getpid()), and opened once.

        `self.file` is what `self.open_file()` gave, `self.owner` the process that called it; both
        are None at first. A worker that was forked begins with copies of both.
        """
        # BEGIN SOLUTION PF-3
        if self.owner != os.getpid():
            self.file, self.owner = self.open_file(), os.getpid()
        return self.file
        # END SOLUTION


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


def open_records(path):
    records = np.load(path, mmap_mode="r")
    return {name: records[name] for name in records.dtype.names or ()}


def open_safetensors(path):
    file = safe_open(path, framework="pt")
    return {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118


# --input: the end of the file's name, what writes it, and what opens it.
KINDS = {
    # Numbers with names and shapes; groups, compression, parallel writing: a file for science.
    "hdf5": (".h5", write_hdf5, lambda path: h5py.File(path, "r")),
    # torch's own. mmap: a page of it comes into memory when it is needed, and not before.
    "pt": (".pt", torch.save, lambda path: torch.load(path, mmap=True, weights_only=True)),
    # A header and plain numbers, with no code in it that could run.
    "safetensors": (
        ".safetensors",
        lambda tensors, buffer: buffer.write(safetensors.torch.save(tensors)),
        open_safetensors,
    ),
    # Records in a row. The system maps the file into memory, and reads what is looked at.
    "memmap": (".npy", write_records, open_records),
}
INPUTS = ("memory", *KINDS)


def default_path(folder, kind, shapes):
    """Return where the data lies if nobody says otherwise: the name says what is in it."""
    name = "-".join("x".join(map(str, shape)) for shape in (shapes.src, shapes.tgt))
    return Path(folder) / f"{name}-{shapes.dtype}{KINDS[kind][0]}"


def write_vectors(path, kind, shapes, seed=0):
    """Write new data as a file of this kind, whole or not at all: OSError with one sentence."""
    buffer = io.BytesIO()
    KINDS[kind][1](make_vectors(shapes, seed), buffer)
    write_whole(path, buffer.getvalue())


def open_input(kind, path, shapes):
    """Return the data set of a file. Raises ValueError if it holds something else."""
    data = FromFile(path, shapes.src[0], kind)
    try:
        found = dict(zip(NAMES, data[len(data) - 1], strict=True))
        data.file = data.owner = None
    except (FileNotFoundError, NotImplementedError):
        raise
    except Exception as error:  # each library has errors of its own for a file that is not its
        raise ValueError(
            f"{path} is no {kind} file, or is damaged, or has no {shapes.src[0]} items of src and "
            f"tgt ({type(error).__name__}): give another one with --data, or delete it, and it is "
            "made anew"
        ) from error
    for name, item in found.items():
        there = f"{tuple(item.shape)} {item.dtype}".replace("torch.", "")
        asked = f"{getattr(shapes, name)[1:]} {shapes.dtype}"
        if there != asked:
            raise ValueError(
                f"an item of {name} in {path} is {there}, and {asked} was asked for: change "
                "--src-shape, --tgt-shape and --dtype, or give another file with --data"
            )
    return data
