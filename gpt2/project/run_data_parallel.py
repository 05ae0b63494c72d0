"""GPT-2 learns to translate on several processes that average their gradients.

cd gpt2
python project/run_data_parallel.py --world_size 2 --batch_size 128
python project/run_data_parallel.py --pytest True --n_epochs 1     one step; keeps its gradients
"""

import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from data_parallel.dataset import partition_dataset
from wrong_input import WrongInput, plain_words

from helpers.ranks.environment import free_port
from helpers.ranks.store import Place, PortTaken, choose_networks, open_store
from project import flags, results, utils
from project.across import same_weights
from project.data import GENERATED, load
from project.models import SIZES, make_config, make_model
from project.text import load_tokenizer

WAIT_S = 1800.0  # for rank 0, as torch does
PORT = 11868  # of who calls `setup` by himself; `main` takes one that is free


def setup(rank: int, world_size: int, backend: str) -> None:
    """Join the process group, on this machine unless MASTER_ADDR and MASTER_PORT say otherwise."""
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", str(PORT))
    where = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    place = Place(rank, world_size, rank, world_size, *where)
    os.environ |= choose_networks(place) | os.environ
    if backend == "nccl":
        torch.cuda.set_device(rank)
        backend = "cpu:gloo,cuda:nccl"  # counts and checks travel on the CPU
    try:
        store = open_store(place, WAIT_S)
    except PortTaken:
        raise WrongInput(
            f"port {os.environ['MASTER_PORT']} is taken, perhaps by another run: wait for it, or "
            "choose another port: MASTER_PORT=11900 python …"
        ) from None
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)


def average_gradients(model: torch.nn.Module) -> None:
    """Put the mean over all ranks into every gradient, in place."""
    ranks = dist.get_world_size()
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad /= ranks


def run_dp(
    rank: int,
    world_size: int,
    backend: str,
    dataset_name: str = GENERATED,
    model_max_length: int = 128,
    n_epochs: int = 10,
    batch_size: int = 128,
    learning_rate: float = 1e-4,
    *,
    pytest: bool = False,
    size: str = "tiny",
    n_train: int = 4000,
    n_held_out: int = 200,
    workdir: str | Path = "workdir",
    seed: int = 0,
) -> None:
    """Train as one rank of `world_size`. Writes workdir/rank{r}_results_epoch{e}.json.

    The same files go into workdir/world_size{n}, where another world size does not overwrite them.
    pytest: one step only, and tests/model{r}_gradients.pth. Raises WrongInput, on every rank.
    """
    torch.set_num_threads(1)  # else one process would use all cores, and two could not be faster
    device = torch.device("cuda", rank) if backend == "nccl" else torch.device("cpu")
    rows = load(dataset_name, n_train, n_held_out, seed)
    setup(rank, world_size, backend)
    if rank == 0:
        utils.get_tokenizer(rows.train, SIZES[size].vocab, "de", "en", workdir)
    dist.barrier()
    tokenizer = load_tokenizer(workdir)
    model = make_model(make_config(size, len(tokenizer), model_max_length), seed).to(device)
    same_weights(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    collate = utils.german_to_english(tokenizer, model_max_length, device)
    batches = partition_dataset(rank, world_size, rows.train, batch_size, collate)
    kept = Path(workdir) / f"world_size{world_size}"
    results.forget(kept, f"rank{rank}")
    for epoch in range(n_epochs):
        begun = time.perf_counter()
        rate, _ = utils.train(
            model, optimizer, batches, batch_size, collate, f"epoch {epoch}", rank,
            average_gradients, most=1 if pytest else None,
        )  # fmt: skip
        took = time.perf_counter() - begun
        if pytest:
            utils.save_grad_weights(model, rank)
            break
        loss, bleu = utils.judge(
            model, rows, tokenizer, collate, batch_size, rank, world_size, model_max_length
        )
        result = results.Result(loss, bleu, took, rate)
        for folder in (workdir, kept):  # the second one: the next world size overwrites the first
            result.save(folder, epoch, f"rank{rank}")
        if rank == 0:
            print(f"epoch {epoch}: {result} on this rank", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def one_rank(rank: int, world_size: int, backend: str, options: dict) -> None:
    run_dp(rank, world_size, backend, **options)


def run_ranks(function, arguments: tuple, ranks: int) -> int:
    """Run function(rank, *arguments) in a process for each rank; if one fails, end all.

    Return 0; or 2 after the sentence of a WrongInput, which a rank raised.
    """
    try:
        mp.start_processes(function, arguments, ranks, start_method=mp.get_start_method())
    except mp.ProcessRaisedException as error:
        *_, last = str(error).strip().splitlines()
        if "WrongInput: " not in last:
            raise
        print(f"error: {last.split('WrongInput: ')[1]}", file=sys.stderr)
        return 2
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = flags.common("GPT-2 learns to translate on several processes.")
    parser.add_argument("--pytest", type=flags.truth, default=False, help="True: one step only")
    parser.add_argument("--world_size", type=flags.ranks, default=2, help="processes")
    told = parser.parse_args(arguments)
    with plain_words():
        options = {
            "dataset_name": told.dataset, "model_max_length": told.model_max_length,
            "n_epochs": told.n_epochs, "batch_size": told.batch_size, "pytest": told.pytest,
            "learning_rate": flags.learning_rate(told), "size": told.model, "seed": told.seed,
            "n_train": told.n_train, "n_held_out": told.n_held_out, "workdir": told.workdir,
        }  # fmt: skip
        partition_dataset(0, told.world_size, range(told.n_train), told.batch_size)
    enough = torch.cuda.device_count() >= told.world_size
    backend = "nccl" if enough else "gloo"
    if told.pytest:  # what the test needs to know, to do the same on one device
        facts = options | {"world_size": told.world_size, "workdir": None}
        (utils.TESTS / "settings.json").write_text(json.dumps(facts), encoding="utf-8")
    os.environ.setdefault("MASTER_PORT", str(free_port()))  # two runs do not meet each other
    return run_ranks(one_rank, (told.world_size, backend, options), told.world_size)


if __name__ == "__main__":
    sys.exit(main())
