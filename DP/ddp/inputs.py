"""The data of profile_ddp.py, and five ways to read it: from memory, and from four kinds of file.

A source is S random vectors. Its target is T vectors: the first is the mean of the source, made
to have mean 0 and variance 1; each later one is the one before, with its numbers moved on by one
place. Each way is a data set in torch's sense: `data[i]` is item i, as tensors (S, E) and (T, E).
"""

import io
import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import torch
import torch.distributed as dist
from safetensors import safe_open
from safetensors.torch import save
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset

from helpers.files import write_whole

NAMES = ("src", "tgt")
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


def make_vectors(shapes, seed=0):
    """Return both tensors, "src" and "tgt", the same for the same seed."""
    draw, dtype = torch.Generator().manual_seed(seed), getattr(torch, shapes.dtype)
    src = torch.randn(shapes.src, generator=draw)
    first = torch.nn.functional.layer_norm(src.mean(1), shapes.src[2:])
    tgt = torch.stack([first.roll(t, 1) for t in range(shapes.tgt[1])], 1)
    return {"src": src.to(dtype), "tgt": tgt.to(dtype)}


def in_memory(shapes, seed=0):
    """Return the data set of two tensors: nothing to read, but no room for a large one."""
    return TensorDataset(*make_vectors(shapes, seed).values())


class FromFile(Dataset):
    """A file that is opened by whoever reads from it, and not before.

    An open file must not travel to a worker: processes that share one share its place in the file
    too, and HDF5's own caches. So this travels without (`__getstate__`).
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
        return tuple(x if torch.is_tensor(x) else torch.from_numpy(np.array(x)) for x in items)

    def open_file(self):
        """Return {"src": …, "tgt": …}, each with one item at [i]."""
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


def open_safetensors(path):
    file = safe_open(path, framework="pt")
    return {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118


def write_records(tensors, buffer):
    """One array of records: src and tgt of an item lie side by side on the disk."""
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    kinds = [(name, a.dtype, a.shape[1:]) for name, a in arrays.items()]
    np.save(buffer, np.asarray(np.rec.fromarrays([*arrays.values()], dtype=kinds)))


def open_records(path):
    records = np.load(path, mmap_mode="r")
    return {name: records[name] for name in records.dtype.names or ()}


# --input: the end of the file's name, what writes it, and what opens it. README.md compares them.
KINDS = {
    "hdf5": (".h5", write_hdf5, lambda path: h5py.File(path, "r")),
    # mmap: a page of it comes into memory when it is needed, and not before.
    "pt": (".pt", torch.save, lambda path: torch.load(path, mmap=True, weights_only=True)),
    "safetensors": (".safetensors", lambda t, buffer: buffer.write(save(t)), open_safetensors),
    "memmap": (".npy", write_records, open_records),
}
INPUTS = ("memory", *KINDS)


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
        if there != (asked := f"{getattr(shapes, name)[1:]} {shapes.dtype}"):
            raise ValueError(
                f"an item of {name} in {path} is {there}, and {asked} was asked for: change "
                "--src-shape, --tgt-shape and --dtype, or give another file with --data"
            )
    return data


def make_data(options, place):
    """Return the data set. The first rank of a machine makes the file; the others wait for it."""
    shapes = options.shapes
    if options.input == "memory":
        return in_memory(shapes, options.seed)
    sizes = "-".join("x".join(map(str, shape)) for shape in (shapes.src, shapes.tgt))
    path = options.data or f"data/{sizes}-{shapes.dtype}{KINDS[options.input][0]}"
    refused = [None]
    if place.local_rank == 0 and not Path(path).exists():
        try:
            write_vectors(path, options.input, shapes, options.seed)
        except OSError as error:
            refused = [error]
    if dist.is_initialized():  # every rank hears what one of them was refused
        mine, refused = refused[0], [None] * dist.get_world_size()
        dist.all_gather_object(refused, mine)
    for error in filter(None, refused):
        raise error
    return open_input(options.input, path, shapes)


def make_loader(options, place, data, device):
    """Return batches of this rank's part of the data, another one in each epoch (`set_epoch`).

    Each rank has as many items as the others, or they would wait forever for its gradients; so
    the few that are left over wait for another epoch. Raises ValueError if a rank has none.
    """
    if len(data) < place.world_size:
        raise ValueError(
            f"{len(data)} item(s) cannot be shared by {place.world_size} ranks: rank {len(data)} "
            "has no data, and the others would wait for its gradients; take more items (the first "
            "number of --src-shape and --tgt-shape), or fewer ranks"
        )
    seen = {"num_replicas": place.world_size, "rank": place.rank, "seed": options.seed}
    sampler = DistributedSampler(data, **seen, drop_last=True)
    workers = {"num_workers": options.workers, "persistent_workers": options.workers > 0}
    pinned = device.type == "cuda"
    return DataLoader(data, options.batch_size, sampler=sampler, pin_memory=pinned, **workers)
