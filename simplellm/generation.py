"""Writing text with a model: one token after another, greedily or drawn at random."""

from collections.abc import Sequence

import torch
from torch import nn


@torch.no_grad()
def generate(
    model: nn.Module,
    prompt_ids: Sequence[int] | torch.Tensor,
    max_new_tokens: int = 100,
    temperature: float = 0.0,
    top_p: float | None = None,
    eos_id: int | None = None,
    seed: int | None = None,
    cache: bool = False,
) -> list[int]:
    """Continue a prompt, and return both as one list of ids.

    Args:
        model: a whole `LLama`. It is in evaluation mode meanwhile.
        max_new_tokens: how many tokens to add at most.
        temperature: 0 takes the likeliest token each time (greedy); 1 draws from the model's own
            probabilities; less is safer, more is bolder.
        top_p: draw among the likeliest tokens that together have probability p: nucleus sampling
            (Holtzman et al. 2019, arXiv 1904.09751).
        eos_id: stop after this token.
        seed: the same seed gives the same text. Torch's global random state is not touched.
        cache: keep the keys and values of every token (a KV cache), so that a step runs one token
            instead of the whole text.

    Once a text is longer than the model's context, only its last ctx_size tokens are read. Then
    every position changes in each step, and a cache is of no use.
    """
    text = torch.as_tensor(prompt_ids).tolist()
    if not text:
        raise ValueError("the prompt is empty: give at least one token.")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 (greedy) or more, not {temperature}.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], not {top_p}: leave it out to keep every token.")
    generator = torch.Generator()  # on the CPU, so that a seed means the same on every device
    generator.seed() if seed is None else generator.manual_seed(seed)
    was_training = model.training
    model.eval()
    past, done = [[] for _ in model.model.layers], 0  # done: how many tokens `past` holds
    try:
        for _ in range(max_new_tokens):
            if cache and len(text) <= model.max_seq:
                hidden = model.model(torch.tensor([text[done:]], device=model.device), past)
                done = len(text)
            else:
                hidden = model.model(torch.tensor([text[-model.max_seq :]], device=model.device))
            text.append(choose(model.lm_head(hidden[0, -1]), temperature, top_p, generator))
            if text[-1] == eos_id:
                break
    finally:
        model.train(was_training)
    return text


def choose(
    logits: torch.Tensor, temperature: float, top_p: float | None, generator: torch.Generator
) -> int:
    """Return the next token, drawn by its logits (vocab_size,)."""
    scores = logits.cpu().double()  # float64, so that no temperature is too small
    if not scores.isfinite().all():
        raise ValueError("the model's scores are not numbers (nan): its training went wrong.")
    if temperature == 0:
        return int(scores.argmax())
    ranked, tokens = scores.sort(descending=True, stable=True)
    chances = (ranked / temperature).softmax(-1)
    if top_p is not None:
        before = chances.cumsum(-1) - chances  # the probability of all likelier tokens
        chances[before >= top_p] = 0
    return int(tokens[torch.multinomial(chances, 1, generator=generator)])


def write_story(model: nn.Module, tokenizer, seed: int) -> str:
    """Return a story by a model that has learned stories, as long as its context at most.

    It begins where the story before it ends, as in the text that the model has read.
    """
    end = tokenizer.eos_id
    how = {"temperature": 0.6, "eos_id": end, "seed": seed, "cache": True}
    ids = model.generate([end], model.max_seq - 1, **how)
    return tokenizer.decode([token for token in ids if token != end])
