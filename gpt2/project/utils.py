"""Sentences as numbers and back, training and judging a translator; the homework's own names."""

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist
from sacrebleu.metrics import BLEU
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from torch import nn
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast
from wrong_input import WrongInput

TESTS = Path(__file__).resolve().parents[1] / "tests"
PAD = "<pad>"
TOGETHER = 64  # sentences that are translated at the same time

# Sentences as numbers


def get_tokenizer(examples, vocab_size, src_key, tgt_key):
    """Return a byte-level BPE, trained here on both languages of `examples`; no network.

    The same examples have the same tokenizer, on every rank. It has <eos_de>, <eos_en> and <pad>
    beside the tokens. Raises WrongInput for examples without the two languages.
    """
    for key in (src_key, tgt_key):
        if not examples or key not in examples[0]:
            raise WrongInput(f"no text under {key!r} to train a tokenizer on: give sentences")
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(
        (example[key] for example in examples for key in (src_key, tgt_key)),
        vocab_size=vocab_size,
        special_tokens=[end_of(src_key), end_of(tgt_key), PAD],
        show_progress=False,
    )
    made = Tokenizer.from_str(tokenizer.to_str())
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token=PAD)


def end_of(key):
    """Return the token that ends a sentence of a language."""
    return f"<eos_{key}>"


def source_ids(example, src_key, tokenizer):
    """Return what the model reads before it translates."""
    return tokenizer(f"{example[src_key]}{end_of(src_key)}")["input_ids"]


def collate_batch(examples, src_key, tgt_key, tokenizer, model_max_length, device="cpu"):
    """Return a batch: each row a sentence, its end, the translation, its end, and padding.

    All are (rows, length), length at most `model_max_length`: input_ids; labels, the token after
    each; label_token_weights, 1.0 where the label belongs to the translation, else 0.0;
    attention_mask, 1 for a token that has one after it, else 0.
    """
    columns = ([], [], [])  # tokens, what counts, what is there
    for example in examples:
        source = source_ids(example, src_key, tokenizer)
        target = source_ids(example, tgt_key, tokenizer)
        weights = [0.0] * len(source) + [1.0] * len(target)
        rows = source + target, weights, [1] * len(weights)
        for column, row in zip(columns, rows, strict=True):
            column.append(torch.tensor(row[: model_max_length + 1]))
    pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
    ids = pad(columns[0], padding_value=tokenizer.pad_token_id).to(device)
    weights, mask = (pad(column).to(device) for column in columns[1:])
    return {
        "input_ids": ids[:, :-1],
        "labels": ids[:, 1:],
        "label_token_weights": weights[:, 1:],
        "attention_mask": mask[:, 1:],
    }


def german_to_english(tokenizer, longest, device="cpu"):
    """Return `collate_batch` for this lab's sentences, at most `longest` tokens each."""
    facts = {"tokenizer": tokenizer, "model_max_length": longest, "device": device}
    return partial(collate_batch, src_key="de", tgt_key="en", **facts)


# Training


def everyone(thing):
    """Return what each rank gave, in the order of the ranks, on every rank; of one, that."""
    if not dist.is_initialized():
        return [thing]
    things = [None] * dist.get_world_size()
    dist.all_gather_object(things, thing)
    return things


def token_losses(batch, model):
    """Return the sum of the losses (nats) of the tokens that count, and how many count."""
    mask = batch.get("attention_mask")
    logits = model(input_ids=batch["input_ids"], attention_mask=mask).logits
    losses = nn.functional.cross_entropy(
        logits.flatten(0, 1), batch["labels"].flatten().to(logits.device), reduction="none"
    )
    weights = batch["label_token_weights"].flatten().to(losses)
    return (losses * weights).sum(), weights.sum()


def loss_fn(batch, model):
    """Return the mean loss (nats per token) over the tokens that count. WrongInput if none does."""
    total, count = token_losses(batch, model)
    return total / some(count.item())


def some(count):
    if count == 0:
        told = "every translation is cut off; take a larger --model_max_length"
        raise WrongInput(f"no token of this batch counts: {told}")
    return count


@torch.no_grad()
def evaluate_loss(model, examples, batch_size, collate_fn, desc, rank=0):
    """Return the mean loss (nats per token) over all tokens that count, of all ranks.

    examples: batches, as a DataLoader gives them; or a list of samples.
    """
    model.eval()
    batches = bar(batches_of(examples, batch_size, collate_fn), f"evaluate {desc}", rank)
    sums = [[x.item() for x in token_losses(batch, model)] for batch in batches]
    total, count = (sum(part) for part in zip(*sum(everyone(sums), []), strict=True))
    return total / some(count)


def train(
    model, optimizer, examples, batch_size, collate_fn, desc, rank=0, average_gradients_fn=None,
    most=None,
):  # fmt: skip
    """Go through the data once; return the mean of tokens per second, and each step's tokens.

    examples: batches, as a DataLoader gives them; or a list of samples.
    average_gradients_fn: takes the mean of the gradients over the ranks, after backward. Each rank
        goes backward from its sum of losses x ranks / tokens of all ranks. So the mean over the
        ranks is the gradient of the mean over all tokens, though each rank has its own number of
        them. A rank whose data has ended goes on with zero until the last has ended.
    most: stop after so many steps. A token is one that is read, without padding.

    Raises WrongInput where no token of any rank counts.
    """
    model.train()
    batches = batches_of(examples, batch_size, collate_fn)
    everywhere = everyone if average_gradients_fn else lambda mine: [mine]
    steps = max(everywhere(len(batches)))
    device, rates, counts = next(model.parameters()).device, [], []
    source = iter(batches)
    for _ in bar(range(min(steps, most or steps)), f"train {desc}", rank):
        begun, batch = now(device), next(source, None)  # the input counts, as in the seconds
        optimizer.zero_grad(set_to_none=False)
        total, count = (torch.tensor(0.0), 0.0) if batch is None else token_losses(batch, model)
        of_ranks = everywhere(float(count))
        loss = total * (len(of_ranks) / some(sum(of_ranks)))
        if batch is not None:
            loss.backward()
        if average_gradients_fn:
            for p in model.parameters():  # in an all-reduce every rank must take part
                if p.requires_grad and p.grad is None:
                    p.grad = torch.zeros_like(p)
            average_gradients_fn(model)
        optimizer.step()
        read = batch and batch.get("attention_mask", batch["label_token_weights"])
        counts.append(0 if batch is None else int(read.sum()))
        rates.append(counts[-1] / (now(device) - begun))
    return sum(rates) / len(rates), counts


def batches_of(examples, batch_size, collate_fn):
    if not isinstance(examples, Sequence):
        return examples
    starts = range(0, len(examples), batch_size)
    return [collate_fn(examples[start : start + batch_size]) for start in starts]


def now(device):
    """Return the seconds, after a GPU has done what it was asked to."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def save_grad_weights(model, rank):
    """Write {name: gradient, on the CPU} to tests/model{rank}_gradients.pth."""
    named = {n: p.grad.detach().cpu() for n, p in model.named_parameters() if p.grad is not None}
    torch.save(named, TESTS / f"model{rank}_gradients.pth")


def bar(steps, desc, rank=0):
    """Return the steps with a progress bar in a terminal, on one rank."""
    return tqdm(steps, desc=desc, leave=False, disable=None if rank == 0 else True)


# Translating


def evaluate_bleu(examples, gen_sents, tgt_key):
    """Return {"bleu": 0 to 100} of translations, by sacrebleu (Post, arXiv 1804.08771)."""
    truth = [example[tgt_key] for example in examples]
    return {"bleu": BLEU().corpus_score(list(gen_sents), [truth]).score}


def generate(
    model, examples, src_key, tgt_key, tokenizer, model_max_length, device, desc, rank=0
):  # fmt: skip
    """Return a translation of each example: the likeliest token each time, until it ends.

    Sentences of one length go together, so that no padding is needed. A translation ends at
    `model_max_length` tokens, the source included.
    """
    model.eval()
    lengths = defaultdict(list)
    prompts = [source_ids(example, src_key, tokenizer) for example in examples]
    for number, prompt in enumerate(prompts):
        lengths[len(prompt)].append(number)
    starts = ((n, at) for n in lengths.values() for at in range(0, len(n), TOGETHER))
    groups = [numbers[at : at + TOGETHER] for numbers, at in starts]
    end, found = tokenizer.convert_tokens_to_ids(end_of(tgt_key)), [""] * len(prompts)
    for numbers in bar(groups, f"translate {desc}", rank):
        ids = torch.tensor([prompts[n] for n in numbers], device=device)
        for number, row in zip(numbers, greedy(model, ids, end, model_max_length), strict=True):
            found[number] = tokenizer.decode(row)
    return found


@torch.no_grad()
def greedy(model, ids, end, longest):
    """Return the likeliest tokens after each row of `ids` (rows, length), without `end`."""
    rows, past, step = [[] for _ in ids], None, ids
    done = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(longest - ids.shape[1]):
        answer = model(input_ids=step, past_key_values=past, use_cache=True)
        past = answer.past_key_values
        step = answer.logits[:, -1:].argmax(-1).to(ids.device)
        done |= step[:, 0] == end
        if done.all():
            break
        for number in (~done).nonzero()[:, 0].tolist():
            rows[number].append(int(step[number, 0]))
    return rows


def judge(model, rows, tokenizer, collate, batch_size, longest, rank=0, world_size=1):
    """Return the loss (nats per token) and BLEU; each rank does a share, and all get both.

    longest: tokens of a sentence with its translation.
    """
    mine, device = rows.validation[rank::world_size], next(model.parameters()).device
    loss = evaluate_loss(model, mine, batch_size, collate, "validation", rank)
    mine = rows.test[rank::world_size]
    said = generate(model, mine, "de", "en", tokenizer, longest, device, "test", rank)
    pairs = sum(everyone(list(zip(mine, said, strict=True))), [])
    examples, sentences = zip(*pairs, strict=True)
    return loss, evaluate_bleu(examples, sentences, "en")["bleu"]
