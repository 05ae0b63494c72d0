"""Writing text with a model: one token after another, greedily or drawn at random."""

from collections.abc import Sequence
from operator import index

import torch
from torch import nn


@torch.no_grad()
def generate(
    model: nn.Module,
    prompt_ids: Sequence[int] | Sequence[Sequence[int]] | torch.Tensor,
    max_new_tokens: int = 100,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos_id: int | None = None,
    seed: int | None = None,
    cache: bool = False,
) -> list[int] | list[list[int]]:
    """Continue one prompt, or each prompt of a batch.

    Args:
        model: a whole `LLama`.
        prompt_ids: the ids of one prompt, or a batch of prompts of any lengths; lists or tensors.
        max_new_tokens: how many tokens to add at most.
        temperature: 0 takes the likeliest token each time (greedy); 1 draws from the model's own
            probabilities; less is safer, more is bolder.
        top_k: draw among the k likeliest tokens only.
        top_p: draw among the likeliest tokens that together have probability p: nucleus sampling
            (Holtzman et al. 2019, arXiv 1904.09751).
        eos_id: stop after this token.
        seed: the same seed gives the same text. Torch's global random state is not touched.
        cache: keep the keys and values of every token (a KV cache), so that a step runs one token
            instead of the whole text. A text that is longer than the model's context is run again
            in each step, because every position in it changes.

    Returns:
        Prompt and continuation, with the `eos_id` that ended it: one list of ids, or one for each
        prompt of a batch.

    Once a text is longer than the model's context, only its last ctx_size tokens are read. The
    model is in evaluation mode meanwhile.

    Raises:
        ValueError: a setting out of range, an empty prompt, or a token outside the vocabulary.
    """
    texts, is_batch = _read_prompts(prompt_ids)
    _check_settings(max_new_tokens, temperature, top_k, top_p)
    generator = torch.Generator()  # on the CPU, so that a seed means the same on every device
    generator.seed() if seed is None else generator.manual_seed(seed)
    was_training = model.training
    model.eval()
    try:
        open_texts = texts
        caches = {id(text): [[] for _ in model.model.layers] for text in texts} if cache else {}
        for _ in range(max_new_tokens):
            if cache:
                scores = torch.cat([cached_scores(model, t, caches[id(t)]) for t in open_texts])
            else:
                scores = next_scores(model, open_texts)
            tokens = choose(scores, temperature, top_k, top_p, generator).tolist()
            for text, token in zip(open_texts, tokens, strict=True):
                text.append(token)
            open_texts = [text for text in open_texts if text[-1] != eos_id]
            if not open_texts:
                break
    finally:
        model.train(was_training)
    return texts if is_batch else texts[0]


def write_story(model: nn.Module, tokenizer, seed: int, temperature: float = 0.6) -> str:
    """Return a story by a model that has learned stories, as long as its context at most.

    It begins where the story before it ends, as in the text that the model has read.
    """
    end = tokenizer.eos_id
    ids = generate(
        model,
        [end],
        max_new_tokens=model.max_seq - 1,
        temperature=temperature,
        eos_id=end,
        seed=seed,
        cache=True,
    )
    return tokenizer.decode([token for token in ids if token != end])


def next_scores(model: nn.Module, texts: list[list[int]]) -> torch.Tensor:
    """Return the logits of each text's next token: (number of texts, vocab_size), on the CPU.

    Shorter texts are padded on the right: in a causal model no token sees what comes after it.
    """
    windows = [text[-model.max_seq :] for text in texts]
    longest = max(map(len, windows))
    ids = torch.tensor([window + [0] * (longest - len(window)) for window in windows])
    ends = torch.tensor([len(window) - 1 for window in windows])
    hidden = model.model(ids.to(model.device))
    last = hidden[torch.arange(len(texts)), ends]  # the head runs on one position of each text
    return _checked(model.lm_head(last))


def _checked(logits: torch.Tensor) -> torch.Tensor:
    scores = logits.cpu().double()  # float64, so that no temperature is too small
    if not scores.isfinite().all():
        raise ValueError("the model's scores are not numbers (nan): its training went wrong.")
    return scores


def cached_scores(model: nn.Module, text: list[int], past: list[list]) -> torch.Tensor:
    """The same for one text, (1, vocab_size): only what `past` doesn't hold yet is run."""
    done = past[0][0].shape[2] if past[0] else 0
    if len(text) > model.max_seq:
        return next_scores(model, [text])
    ids = torch.tensor([text[done:]], device=model.device)
    return _checked(model.lm_head(model.model(ids, past)[:, -1]))


def choose(
    scores: torch.Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    generator: torch.Generator,
) -> torch.Tensor:
    """Return one token for each row of scores (B, vocab_size): (B,)."""
    if temperature == 0:
        return scores.argmax(-1)
    ranked, tokens = scores.sort(dim=-1, descending=True, stable=True)
    chances = (ranked / temperature).softmax(-1)
    if top_k is not None:
        chances[:, top_k:] = 0
        chances /= chances.sum(-1, keepdim=True)
    if top_p is not None:
        before = chances.cumsum(-1) - chances  # the probability of all likelier tokens
        chances[before >= top_p] = 0
    drawn = torch.multinomial(chances, 1, generator=generator)
    return tokens.gather(-1, drawn).squeeze(-1)


def _read_prompts(prompt_ids) -> tuple[list[list[int]], bool]:
    """Return the prompts as lists that can grow, and whether there was a batch of them."""
    if isinstance(prompt_ids, str):
        raise TypeError("prompt_ids are token ids, not text: pass tokenizer.encode(text).")
    prompts = prompt_ids.tolist() if isinstance(prompt_ids, torch.Tensor) else list(prompt_ids)
    is_batch = bool(prompts) and hasattr(prompts[0], "__iter__")
    texts = [[index(token) for token in prompt] for prompt in (prompts if is_batch else [prompts])]
    for place, text in enumerate(texts):
        if not text:
            where = f" (number {place} of the batch)" if is_batch else ""
            raise ValueError(f"the prompt{where} is empty: give at least one token.")
    return texts, is_batch


def _check_settings(max_new_tokens, temperature, top_k, top_p) -> None:
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens must be 0 or more, not {max_new_tokens}.")
    if not 0 <= temperature < float("inf"):
        raise ValueError(f"temperature must be 0 (greedy) or more, not {temperature}.")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be 1 or more, not {top_k}: leave it out to keep every token.")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], not {top_p}: leave it out to keep every token.")
