"""One training in three ways, on the same sentences in the same order: what does a split change?"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from data_parallel.dataset import DataPartitioner, partition_dataset
from pipeline.model_parallel import GPT2LMHeadModelParallel

from project import utils
from project.data import load
from project.judge import judge
from project.models import SIZES, make_config, make_model
from project.run_data_parallel import average_gradients

WAYS = ("one device", "data parallel", "pipeline")
LONGEST = 48  # tokens of a sentence with its translation


@dataclass(frozen=True)
class Epoch:
    """What one pass over the data led to.

    loss: nats per token, on the validation sentences. bleu: 0 to 100, on the test sentences.
    seconds: of training alone. said: the test sentences, translated. weights: after it.
    """

    loss: float
    bleu: float
    seconds: float
    said: tuple[str, ...]
    weights: tuple[torch.Tensor, ...] = field(repr=False)


def same_order(rows: list, ranks: int, batch_size: int) -> list:
    """Return the sentences in the order in which `ranks` ranks read them, one batch after another.

    A batch of one device then holds the sentences that all ranks together have in the same step.
    """
    each = batch_size // ranks
    parts = DataPartitioner(rows, [1 / ranks] * ranks)
    mine = [list(parts.use(rank)) for rank in range(ranks)]
    starts = range(0, max(map(len, mine)), each)
    return [row for start in starts for part in mine for row in part[start : start + each]]


def learn(
    way: str,
    epochs: int,
    n_train: int,
    held_out: int = 24,
    batch_size: int = 16,
    rank: int = 0,
    ranks: int = 2,
    weights: Sequence[torch.Tensor] = (),
) -> list[Epoch]:
    """Train the small GPT-2 in one of `WAYS`, and judge it after each epoch.

    ranks: of data parallelism, where each calls this; the other ways take the same order.
    weights: to begin with; without them, those that seed 0 draws.
    """
    torch.set_num_threads(1)
    rows = load(train=n_train, held_out=held_out)
    tokenizer = utils.get_tokenizer(rows.train, SIZES["tiny"].vocab, "de", "en")
    kind = {"kind": GPT2LMHeadModelParallel} if way == "pipeline" else {}
    model = make_model(make_config("tiny", len(tokenizer), LONGEST), **kind)
    with torch.no_grad():
        for p, given in zip(model.parameters(), weights, strict=bool(weights)):
            p.copy_(given)
    if way == "pipeline":
        model.parallelize(["cpu:0", "cpu:1"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=SIZES["tiny"].learning_rate)
    collate = utils.german_to_english(tokenizer, LONGEST)
    mean, world = (average_gradients, ranks) if way == "data parallel" else (None, 1)
    examples = (
        partition_dataset(rank, ranks, rows.train, batch_size, collate)
        if mean
        else same_order(rows.train, ranks, batch_size)
    )
    found = []
    for epoch in range(epochs):
        if way == "pipeline":
            model._prepare_pipeline_parallel(batch_size // 4)
        begun = time.perf_counter()
        utils.train(model, optimizer, examples, batch_size, collate, f"epoch {epoch}", rank, mean)
        took = time.perf_counter() - begun
        if way == "pipeline":
            model._finalize_pipeline_parallel()
        judged = judge(model, rows, tokenizer, collate, held_out, rank, world, LONGEST)
        said = utils.generate(model, rows.test, "de", "en", tokenizer, LONGEST, "cpu", "test", rank)
        kept = tuple(p.detach().clone() for p in model.parameters())
        found.append(Epoch(*judged, took, tuple(said), kept))
    if way == "pipeline":
        model.deparallelize()
    return found


def learn_on_ranks(epochs: int, n_train: int, weights: Sequence[torch.Tensor]) -> list[Epoch]:
    """What each rank of a launch calls."""
    import torch.distributed as dist

    rank, ranks = dist.get_rank(), dist.get_world_size()
    return learn("data parallel", epochs, n_train, rank=rank, ranks=ranks, weights=weights)
