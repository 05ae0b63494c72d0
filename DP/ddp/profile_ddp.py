"""Where does the time of a training step go: into input, communication, or computing?

    python profile_ddp.py --profile                         one device
    torchrun --nproc-per-node 2 profile_ddp.py --profile    DDP: each rank has its part of the data
    python -m helpers.ranks -n 2 profile_ddp.py --hdf5 --workers 1 --profile
    python -m helpers.trace traces/cpu-memory-*.json        what share had what?

It learns to predict vectors; a model that always says 0 has a loss of 1. --input says where the
data comes from; a file is made when it is not there yet.
"""

import functools
import os
import shutil
import sys

import torch
from inputs import make_data, make_loader
from precision import train_step
from profile_flags import LR_RULES, read_flags
from profiler import make_profiler
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import record_function
from transformer import SIZES, Forecaster

from helpers.plain_errors import plain_errors
from helpers.ranks import connect, disconnect
from helpers.ranks.script import place_from
from simplellm.losses import check_finite

COMPILERS = {"darwin": "clang++", "win32": "cl"}  # as torch looks for them; elsewhere g++


def compiled(model, device, say=print):
    """Return torch.compile(model); or the model as it is, and say why in one line.

    On a processor torch writes C++, so a compiler must be there; on a GPU it writes Triton.
    """
    compiler = os.environ.get("CXX") or COMPILERS.get(sys.platform, "g++")
    if device.type == "cpu" and not shutil.which(compiler):
        say(
            f"[compile] there is no C++ compiler {compiler!r} here, so the model runs as it is: "
            "install one, or name yours in the variable CXX"
        )
        return model
    return torch.compile(model)


def prepare(options, place, device, say=print):
    """Return the batches and the profiler, which may refuse; the model as DDP calls it; and Adam.

    Raises ValueError or OSError with one sentence.
    """
    loader = make_loader(options, place, make_data(options, place), device)
    profiler = make_profiler(options, place, device, options.epochs * len(loader))
    torch.manual_seed(options.seed)
    model = Forecaster(SIZES[options.size], options.shapes.src[2]).to(device)
    if options.dtype == "float64":
        model.double()
    torch.manual_seed(options.seed + 1 + place.rank)  # dropout: each rank drops others
    count = sum(p.numel() for p in model.parameters())
    size = sum(p.nbytes for p in model.parameters()) / 1e6
    say(f"{count:,} parameters, {size:.1f} MB of gradients; always 0 would have a loss of 1")
    if place.world_size > 1:  # DDP starts with rank 0's weights
        model = DistributedDataParallel(model, bucket_cap_mb=options.bucket_mb)
    if options.compile:
        model = compiled(model, device, say)
    lr = options.lr * place.world_size ** LR_RULES[options.lr_rule]
    return loader, profiler, model, torch.optim.Adam(model.parameters(), lr)


def train(options, place, device):
    """Return the mean loss of each epoch, on this rank's part of the data, and the model."""
    say = functools.partial(print, flush=True) if place.rank == 0 else lambda line: None
    loader, profiler, model, optimizer = prepare(options, place, device, say)
    scaler = torch.amp.GradScaler(device.type, enabled=options.dtype == "float16")
    means, dtype = [], getattr(torch, options.dtype)
    with profiler as running:  # `with` starts it and stops it, whatever happens
        for epoch in range(options.epochs):
            loader.sampler.set_epoch(epoch)
            batches, total = iter(loader), 0.0
            for _ in range(len(loader)):
                with record_function("input"):
                    source, target = (x.to(device, non_blocking=True) for x in next(batches))
                total += train_step(model, optimizer, scaler, source, target, dtype)
                if running:
                    running.step()
            means.append(check_finite(total / len(loader), epoch))
            say(f"epoch {epoch}: loss {means[-1]:.4f}")
    if options.profile:
        say(f"traces and tables: {options.trace_dir}")
    return means, model


if __name__ == "__main__":
    with plain_errors():
        options = read_flags(__doc__)
        place = place_from(options)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        if place.launcher != "by hand" or place.world_size > 1:
            device = connect(place, options.backend, options.timeout)
        train(options, place, device)
        disconnect()
