"""GPT-2 learns to translate on several processes that average their gradients.

cd gpt2
python project/run_data_parallel.py --world_size 2 --batch_size 128
python project/run_data_parallel.py --pytest True --n_epochs 1     one step; keeps its gradients
"""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from data_parallel.dataset import partition_dataset
from wrong_input import WrongInput

from helpers.plain_errors import plain_errors
from helpers.ranks import ConnectError, Place, connect, disconnect
from helpers.ranks.environment import free_port
from project import flags, results, utils
from project.data import GENERATED, load
from project.models import SIZES, make_config, make_model
from simplellm.options import number

PORT = 11868  # for whoever calls `setup`; `main` takes one that is free


def setup(rank, world_size, backend):
    """Join the process group, on this machine unless MASTER_ADDR and MASTER_PORT say otherwise."""
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", str(PORT))
    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        connect(Place(rank, world_size, rank, world_size, *where), backend, 1800.0, quiet=True)
    except ConnectError as error:
        raise WrongInput(str(error)) from None
    torch.set_num_threads(1)  # else one process would use all cores, and two could not be faster


def average_gradients(model):
    """Put the mean over all ranks into every gradient, in place."""
    ranks = dist.get_world_size()
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= ranks


def run_dp(
    rank, world_size, backend, dataset_name=GENERATED, model_max_length=128, n_epochs=10,
    batch_size=128, learning_rate=1e-4, *, pytest=False, size="tiny", n_train=4000, n_held_out=200,
    workdir="workdir", seed=0,
):  # fmt: skip
    """Train as one rank of `world_size`. Writes workdir/rank{r}_results_epoch{e}.json.

    The same files go into workdir/world_size{n}, where another world size does not overwrite them.
    pytest: one step only, and tests/model{r}_gradients.pth. Raises WrongInput, on every rank.
    """
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    rows = load(dataset_name, n_train, n_held_out, seed)
    setup(rank, world_size, backend)
    tokenizer = utils.get_tokenizer(rows.train, SIZES[size].vocab, "de", "en")
    model = make_model(make_config(size, len(tokenizer), model_max_length), seed).to(device)
    for p in model.parameters():  # every rank begins with rank 0's weights
        dist.broadcast(p.data, 0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    collate = utils.german_to_english(tokenizer, model_max_length, device)
    batches = partition_dataset(rank, world_size, rows.train, batch_size, collate)
    kept = Path(workdir) / f"world_size{world_size}"
    for epoch in range(n_epochs):
        begun, name, most = time.perf_counter(), f"epoch {epoch}", 1 if pytest else None
        how = name, rank, average_gradients, most
        rate, _ = utils.train(model, optimizer, batches, batch_size, collate, *how)
        took = time.perf_counter() - begun
        if pytest:
            utils.save_grad_weights(model, rank)
            break
        place = model_max_length, rank, world_size
        judged = utils.judge(model, rows, tokenizer, collate, batch_size, *place)
        result = results.Result(*judged, took, rate)
        for folder in (workdir, kept):  # the second one: the next world size overwrites the first
            result.save(folder, epoch, f"rank{rank}")
        if rank == 0:
            print(f"epoch {epoch}: {result} on this rank", flush=True)
    dist.barrier()
    disconnect()


def run_ranks(function, arguments, ranks):
    """Run function(rank, *arguments) in a process for each rank; if one fails, end all.

    Raises WrongInput as a rank has raised it.
    """
    try:
        mp.start_processes(function, arguments, ranks, start_method=mp.get_start_method())
    except mp.ProcessRaisedException as error:
        *_, last = str(error).strip().splitlines()
        if "WrongInput: " not in last:
            raise
        raise WrongInput(last.split("WrongInput: ")[1]) from None


def main(arguments=None):
    parser = flags.parser_of("GPT-2 learns to translate on several processes.")
    parser.add_argument("--pytest", type=flags.truth, default=False, help="True: one step only")
    parser.add_argument("--world_size", type=number(int, 1, 64), default=2, help="processes")
    options = vars(parser.parse_args(arguments))
    world_size = options.pop("world_size")
    options |= {"dataset_name": options.pop("dataset"), "size": options.pop("model")}
    options["learning_rate"] = options["learning_rate"] or SIZES[options["size"]].learning_rate
    with plain_errors():
        partition_dataset(0, world_size, range(options["n_train"]), options["batch_size"])
    backend = "nccl" if torch.cuda.device_count() >= world_size else "gloo"
    if options["pytest"]:  # what the test needs to know, to do the same on one device
        facts = options | {"world_size": world_size, "workdir": None}
        (utils.TESTS / "settings.json").write_text(json.dumps(facts), encoding="utf-8")
    os.environ.setdefault("MASTER_PORT", str(free_port()))  # two runs do not meet each other
    with plain_errors():
        run_ranks(partial(run_dp, **options), (world_size, backend), world_size)


if __name__ == "__main__":
    main()
