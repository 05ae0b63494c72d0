"""Five ways to read the same data: from memory, and from four kinds of file.

Each is a data set in torch's sense: `data[i]` is item i, as two tensors (S, E) and (T, E). A
DataLoader may read it with **worker** processes, which make batches while the rank computes.
"""

import os

import h5py
import numpy as np
import torch
from safetensors import safe_open
from torch.utils.data import Dataset

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

    def __init__(self, path, items):
        self.path, self.items = path, items
        self.file = self.owner = None

    def __len__(self):
        return self.items

    def __getstate__(self):
        return {**self.__dict__, "file": None, "owner": None}

    def __getitem__(self, index):
        file = self.handle()
        return tuple(self.tensor(file[name][index]) for name in NAMES)

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

    def tensor(self, item):
        if isinstance(item, torch.Tensor):
            return item
        return torch.from_numpy(np.array(item))  # a copy: what is mapped must not be written to


class Hdf5(FromFile):
    """Numbers with names and shapes; groups, compression, parallel writing: a file for science."""

    def open_file(self):
        return h5py.File(self.path, "r")


class Pt(FromFile):
    """torch's own file. mmap: a page of it comes into memory when it is needed, and not before."""

    def open_file(self):
        return torch.load(self.path, mmap=True, weights_only=True)


class SafeTensors(FromFile):
    """A header and plain numbers, with no code in it that could run."""

    def open_file(self):
        file = safe_open(self.path, framework="pt")
        return {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118


class MemMap(FromFile):
    """Records in a row. The system maps the file into memory, and reads what is looked at."""

    def open_file(self):
        records = np.load(self.path, mmap_mode="r")
        return {name: records[name] for name in records.dtype.names or ()}


KINDS = {"hdf5": Hdf5, "pt": Pt, "safetensors": SafeTensors, "memmap": MemMap}
INPUTS = ("memory", *KINDS)


def open_input(kind, path, shapes):
    """Return the data set of a file. Raises ValueError if it holds something else."""
    data, last = KINDS[kind](path, shapes.src[0]), shapes.src[0] - 1
    try:
        found = dict(zip(NAMES, data[last], strict=True))
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
