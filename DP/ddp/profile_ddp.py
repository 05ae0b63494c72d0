"""Where does the time of a training step go: into input, communication, or computing?

    python profile_ddp.py --profile                         one device
    torchrun --nproc-per-node 2 profile_ddp.py --profile    DDP: each rank has its part of the data
    python -m helpers.ranks -n 2 profile_ddp.py --hdf5 --workers 1 --profile
    python -m helpers.trace traces/cpu-memory-*.json        what share had what?

It learns to predict vectors; a model that always says 0 has a loss of 1. --input says where the
data comes from; a file is made when it is not there yet.
"""

from dataclasses import dataclass

import torch
import torch.distributed as dist
from devices import choose_device, compiled
from loading import make_data, make_loader
from precision import train_step
from profile_flags import LR_RULES, read_flags
from profiler import make_profiler
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from transformer import SIZES, Forecaster

from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.connect import choose_backend
from helpers.ranks.script import place_from
from simplellm.losses import check_finite


@dataclass
class Training:
    """All that training takes. net: the weights; model: what is called, net itself or DDP."""

    loader: object
    profiler: object
    net: torch.nn.Module
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler


def join(options, place):
    """Return this rank's device, after joining DDP's process group if this rank isn't alone."""
    gpus = torch.cuda.device_count()
    backend, _ = choose_backend(options.backend, place, gpus, dist.is_nccl_available())
    device = torch.device(choose_device(place.local_rank, gpus, backend))
    alone = place.launcher == "by hand" and place.world_size == 1
    if not alone and not dist.is_initialized():
        connect(place, options.backend, options.timeout)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    return device


def prepare(options, place, device):
    """Make everything that training takes. Raises ValueError or OSError with one sentence."""
    loader = make_loader(options, place, make_data(options, place), device)
    profiler = make_profiler(options, place, device, options.epochs * len(loader))
    torch.manual_seed(options.seed)
    net = Forecaster(SIZES[options.size], options.shapes.src[2]).to(device)
    if options.dtype == "float64":
        net.double()
    torch.manual_seed(options.seed + 1 + place.rank)  # dropout: each rank drops others
    model = net
    if dist.is_initialized():  # DDP starts with rank 0's weights
        model = DistributedDataParallel(net, bucket_cap_mb=options.bucket_mb)
    if options.compile:
        model = compiled(model, device, lambda line: place.rank or print(line))
    lr = options.lr * place.world_size ** LR_RULES[options.lr_rule]
    optimizer = torch.optim.Adam(model.parameters(), lr)
    scaler = torch.amp.GradScaler(device.type, enabled=options.dtype == "float16")
    return Training(loader, profiler, net, model, optimizer, scaler)


def train(options, t, device, say=print):
    """Return the mean loss of each epoch, on this rank's part of the data.

    say(epoch, loss): called after each epoch.
    """
    means, dtype = [], options.shapes.torch_dtype
    with t.profiler as running:  # `with` starts it and stops it, whatever happens
        for epoch in range(options.epochs):
            t.loader.sampler.set_epoch(epoch)
            batches, total = iter(t.loader), 0.0
            for _ in range(len(t.loader)):
                with record_function("input"):
                    source, target = (x.to(device, non_blocking=True) for x in next(batches))
                total += train_step(t.model, t.optimizer, t.scaler, source, target, dtype)
                if running:
                    running.step()
            means.append(check_finite(total / len(t.loader), epoch))
            say(epoch, means[-1])
    return means


def main():
    options = read_flags(__doc__)
    place = place_from(options)

    def say(*words):
        if place.rank == 0:
            print(*words, flush=True)

    device = join(options, place)
    training = prepare(options, place, device)
    count = sum(p.numel() for p in training.net.parameters())
    size = sum(p.nbytes for p in training.net.parameters()) / 1e6
    say(f"{count:,} parameters, {size:.1f} MB of gradients; always 0 would have a loss of 1")
    train(options, training, device, lambda epoch, loss: say(f"epoch {epoch}: loss {loss:.4f}"))
    if options.profile:
        say(f"traces and tables: {options.trace_dir}")
    disconnect()


if __name__ == "__main__":
    with plain_errors():
        main()
