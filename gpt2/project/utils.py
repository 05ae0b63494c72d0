"""Training and judging a translator; the names that the homework uses."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import torch
from torch import nn
from tqdm import tqdm
from wrong_input import WrongInput

from project.across import across_ranks, everyone, most_steps, number_of_ranks
from project.data import Translations
from project.text import collate_batch, german_to_english, get_tokenizer
from project.translate import evaluate_bleu, generate

TESTS = Path(__file__).resolve().parents[1] / "tests"
Batch = dict[str, torch.Tensor]


def token_losses(batch: Batch, model: nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """The sum of the losses (nats) of the tokens that count, and how many count."""
    mask = batch.get("attention_mask")
    logits = model(input_ids=batch["input_ids"], attention_mask=mask).logits
    losses = nn.functional.cross_entropy(
        logits.flatten(0, 1), batch["labels"].flatten().to(logits.device), reduction="none"
    )
    weights = batch["label_token_weights"].flatten().to(losses)
    return (losses * weights).sum(), weights.sum()


def loss_fn(batch: Batch, model: nn.Module) -> torch.Tensor:
    """The mean loss (nats per token) over the tokens that count. WrongInput if none does."""
    total, count = token_losses(batch, model)
    return total / _some(count.item())


def _some(count: float) -> float:
    if count == 0:
        raise WrongInput(
            "no token of this batch counts: every translation is cut off; take a larger "
            "--model_max_length"
        )
    return count


def evaluate_loss(
    model: nn.Module,
    examples: Iterable,
    batch_size: int,
    collate_fn: Callable,
    desc: str,
    rank: int = 0,
) -> float:
    """The mean loss (nats per token) over all tokens that count, of all batches and all ranks.

    examples: batches, as a DataLoader gives them; or a list of samples.
    """
    model.eval()
    sums = torch.zeros(2, dtype=torch.float64)
    with torch.no_grad():
        for batch in _bar(_batches(examples, batch_size, collate_fn), f"evaluate {desc}", rank):
            sums += torch.stack(token_losses(batch, model)).cpu()
    total, count = across_ranks(sums).tolist()
    return total / _some(count)


def judge(
    model: nn.Module,
    rows: Translations,
    tokenizer,
    collate: Callable,
    batch_size: int,
    rank: int = 0,
    world_size: int = 1,
    longest: int | None = None,
) -> tuple[float, float]:
    """Return the loss (nats per token) and BLEU; each rank does a share, and all get both.

    longest: tokens of a sentence with its translation; None: as many as the model has positions.
    """
    mine = rows.validation[rank::world_size]
    loss = evaluate_loss(model, mine, batch_size, collate, "validation", rank)
    mine = rows.test[rank::world_size]
    device, longest = next(model.parameters()).device, longest or model.config.n_positions
    said = generate(model, mine, "de", "en", tokenizer, longest, device, "test", rank)
    pairs = [pair for each in everyone(list(zip(mine, said, strict=True))) for pair in each]
    examples, sentences = zip(*pairs, strict=True)
    return loss, evaluate_bleu(examples, sentences, "en")["bleu"]


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    examples: Iterable,
    batch_size: int,
    collate_fn: Callable,
    desc: str,
    rank: int = 0,
    average_gradients_fn: Callable[[nn.Module], None] | None = None,
    most: int | None = None,
) -> tuple[float, list[int]]:
    """One pass over the data. Gives the mean of tokens per second, and the tokens of each step.

    examples: batches, as a DataLoader gives them; or a list of samples.
    average_gradients_fn: takes the mean of the gradients over the ranks, after backward. Each rank
        goes backward from its sum of losses x ranks / tokens of all ranks. So the mean over the
        ranks is the gradient of the mean over all tokens, though each rank has its own number of
        them. A rank whose data has ended goes on with zero until the last has ended.
    most: stop after so many steps. A token is one that is read, without padding.

    Raises WrongInput where no token of any rank counts.
    """
    model.train()
    batches = _batches(examples, batch_size, collate_fn)
    shared = average_gradients_fn is not None
    steps = most_steps(len(batches)) if shared else len(batches)
    steps = min(steps, most or steps)
    ranks = number_of_ranks() if shared else 1
    device, rates, counts = next(model.parameters()).device, [], []
    source = iter(batches)
    for _ in _bar(range(steps), f"train {desc}", rank):
        begun, batch = _now(device), next(source, None)  # the input counts, as in the seconds
        optimizer.zero_grad(set_to_none=False)
        total, count = (torch.tensor(0.0), 0.0) if batch is None else token_losses(batch, model)
        everywhere = torch.tensor(float(count))
        if shared:
            across_ranks(everywhere)
        loss = total * (ranks / _some(everywhere.item()))
        if batch is not None:
            loss.backward()
        if shared:
            _gradients_for_all(model)
            average_gradients_fn(model)
        optimizer.step()
        counts.append(0 if batch is None else _tokens(batch))
        rates.append(counts[-1] / (_now(device) - begun))
    return sum(rates) / len(rates), counts


def _gradients_for_all(model: nn.Module) -> None:
    """Zero where a parameter has no gradient: in an all-reduce every rank must take part."""
    for p in model.parameters():
        if p.requires_grad and p.grad is None:
            p.grad = torch.zeros_like(p)


def _batches(examples, batch_size: int, collate_fn: Callable):
    if isinstance(examples, Sequence):
        starts = range(0, len(examples), batch_size)
        return [collate_fn(examples[start : start + batch_size]) for start in starts]
    return examples


def _tokens(batch: Batch) -> int:
    """How many tokens are read; padding is none."""
    return int(batch.get("attention_mask", batch["label_token_weights"]).sum())


def _now(device: torch.device) -> float:
    """Seconds, after a GPU has done what it was asked to."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def _bar(steps, desc: str, rank: int = 0):
    """A progress bar in a terminal, on one rank."""
    return tqdm(steps, desc=desc, leave=False, disable=None if rank == 0 else True)


def save_grad_weights(model: nn.Module, rank: int, folder: Path = TESTS) -> Path:
    """Write {name: gradient, on the CPU} to model{rank}_gradients.pth, and give its path."""
    named = {n: p.grad.detach().cpu() for n, p in model.named_parameters() if p.grad is not None}
    path = Path(folder) / f"model{rank}_gradients.pth"
    torch.save(named, path)
    return path
