"""Translating, and how good the translation is."""

from collections import defaultdict
from collections.abc import Sequence

import torch
from sacrebleu.metrics import BLEU
from torch import nn
from tqdm import tqdm

from project.text import end_of, source_ids

TOGETHER = 64  # sentences that are translated at the same time


def evaluate_bleu(
    examples: Sequence[dict[str, str]], gen_sents: Sequence[str], tgt_key: str
) -> dict[str, float]:
    """{"bleu": 0 to 100} of translations, by sacrebleu (Post, arXiv 1804.08771)."""
    truth = [example[tgt_key] for example in examples]
    return {"bleu": BLEU().corpus_score(list(gen_sents), [truth]).score}


def generate(
    model: nn.Module,
    examples: Sequence[dict[str, str]],
    src_key: str,
    tgt_key: str,
    tokenizer,
    model_max_length: int,
    device: str | torch.device,
    desc: str,
    rank: int = 0,
) -> list[str]:
    """A translation of each example: the likeliest token each time, until the sentence ends.

    Sentences of one length go together, so that no padding is needed. A translation ends at
    `model_max_length` tokens, the source included.
    """
    model.eval()
    lengths = defaultdict(list)
    prompts = [source_ids(example, src_key, tokenizer) for example in examples]
    for number, prompt in enumerate(prompts):
        lengths[len(prompt)].append(number)
    groups = [
        numbers[start : start + TOGETHER]
        for numbers in lengths.values()
        for start in range(0, len(numbers), TOGETHER)
    ]
    end, found = tokenizer.convert_tokens_to_ids(end_of(tgt_key)), [""] * len(prompts)
    quiet = None if rank == 0 else True  # a bar in a terminal, on one rank
    for numbers in tqdm(groups, desc=f"translate {desc}", leave=False, disable=quiet):
        ids = torch.tensor([prompts[n] for n in numbers], device=device)
        for number, row in zip(numbers, greedy(model, ids, end, model_max_length), strict=True):
            found[number] = tokenizer.decode(row)
    return found


@torch.no_grad()
def greedy(model: nn.Module, ids: torch.Tensor, end: int, longest: int) -> list[list[int]]:
    """The likeliest tokens after each row of `ids` [rows, length], without `end`."""
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
