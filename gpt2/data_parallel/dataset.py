"""Which rank trains on which samples."""

import random
from itertools import pairwise

from torch.utils.data import DataLoader
from wrong_input import WrongInput


class Partition:
    """Some samples of a data set, seen as a data set. index: their numbers in `data`."""

    def __init__(self, data, index):
        self.data, self.index = data, index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, index):
        return self.data[self.index[index]]


class DataPartitioner:
    """Cut a data set into parts, after a shuffle by `seed`.

    sizes: the share of each part; if they add up to 1, every sample is in exactly one part.
    partitions: the numbers of the samples of each part.

    Raises WrongInput for a share below 0, and for shares that add up to more than 1.
    """

    def __init__(self, data, sizes=(0.7, 0.2, 0.1), seed=1234):
        if min(sizes, default=0) < 0 or sum(sizes) > 1 + 1e-9:
            told = "give numbers from 0 on that add up to 1"
            raise WrongInput(f"the shares {list(sizes)} do not fit into one data set: {told}")
        self.data, index = data, list(range(len(data)))
        random.Random(seed).shuffle(index)
        # The ends of the parts are rounded, not their lengths: none is lost between two parts.
        ends = [round(len(data) * sum(sizes[:k])) for k in range(len(sizes) + 1)]
        self.partitions = [index[start:end] for start, end in pairwise(ends)]

    def use(self, partition):
        return Partition(self.data, self.partitions[partition])


def partition_dataset(rank, world_size, dataset, batch_size=128, collate_fn=None):
    """Return the batches of one rank: its part, `batch_size // world_size` samples at a time.

    The parts differ by at most one sample, so one rank may have one batch more than another.
    Raises WrongInput for a rank that isn't there, and for too few samples in all or in a batch.
    """
    if not 0 <= rank < world_size:
        raise WrongInput(f"rank {rank} of {world_size}: the ranks are 0 to {world_size - 1}")
    if world_size > len(dataset):
        told = f"{len(dataset)} samples: a rank would have nothing to train on"
        raise WrongInput(f"{world_size} ranks and {told}; take fewer ranks, or more data")
    if batch_size < world_size:
        told = f"each needs one sample of it; take a batch of {world_size} or more"
        raise WrongInput(f"a batch of {batch_size} for {world_size} ranks: {told}")
    parts = DataPartitioner(dataset, [1 / world_size] * world_size)
    return DataLoader(parts.use(rank), batch_size=batch_size // world_size, collate_fn=collate_fn)
