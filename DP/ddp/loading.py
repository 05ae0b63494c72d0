"""From a data set to the batches of one rank."""

from pathlib import Path

import torch.distributed as dist
from inputs import FromMemory, default_path, open_input, write_vectors
from torch.utils.data import DataLoader, DistributedSampler
from vectors import make_vectors


def make_data(options, place):
    """Return the data set. The first rank of a machine makes the file; the others wait for it."""
    if options.input == "memory":
        return FromMemory(make_vectors(options.shapes, options.seed))
    path = options.data or default_path("data", options.input, options.shapes)
    refused = [None]
    if place.local_rank == 0 and not Path(path).exists():
        try:
            write_vectors(path, options.input, options.shapes, options.seed)
        except OSError as error:
            refused = [error]
    if dist.is_initialized():  # every rank hears what one of them was refused
        mine, refused = refused[0], [None] * dist.get_world_size()
        dist.all_gather_object(refused, mine)
    for error in filter(None, refused):
        raise error
    return open_input(options.input, path, options.shapes)


def make_loader(options, place, data, device):
    """Return batches of this rank's part of the data, another one in each epoch (`set_epoch`).

    Each rank has as many items as the others, or they would wait in vain for its gradients; so the
    few that are left over wait for another epoch. Raises ValueError if a rank has none.
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
