"""Writing text: greedy, drawn, stopped, in batches."""

import pytest
import torch

from simplellm.generation import choose, generate
from tests.simplellm.small import small


def model(**sizes):
    return small(times=10, ctx_size=8, **sizes)  # so that tokens differ in probability


def by_hand(net, text, count):
    text = list(text)
    for _ in range(count):
        text.append(net(torch.tensor([text[-8:]]))[0, -1].argmax().item())
    return text


def test_greedy_takes_the_likeliest_token_and_slides_past_the_context():
    net = model()
    text = net.generate([1, 2, 3], max_new_tokens=12)
    assert text == by_hand(net, [1, 2, 3], 12)
    assert len(text) == 15 > net.max_seq
    assert text == net.generate([1, 2, 3], 12) == generate(net, torch.tensor([1, 2, 3]), 12)
    assert net.generate(list(range(20)), 3) == by_hand(net, range(20), 3)


def test_a_batch_of_prompts_of_any_length_gives_what_each_gives_alone():
    net = model()
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]]
    assert net.generate(prompts, 10) == [net.generate(prompt, 10) for prompt in prompts]
    assert prompts[1] == [4]
    square = torch.tensor([[1, 2], [3, 4]])
    assert net.generate(square, 4) == [net.generate([1, 2], 4), net.generate([3, 4], 4)]


def test_it_stops_at_the_end_of_the_text_each_prompt_by_itself():
    net = model()
    free = [net.generate([1, 2, 3], 6), net.generate([4], 6)]
    eos = next(token for token in free[0][3:] if token not in free[1])
    stopped = net.generate([[1, 2, 3], [4]], 6, eos_id=eos)
    assert stopped[0] == free[0][: free[0].index(eos, 3) + 1]
    assert stopped[1] == free[1]
    assert net.generate([eos], 0, eos_id=eos) == [eos]


def test_a_seed_gives_one_text_and_the_global_numbers_are_left_alone():
    net = model()
    state = torch.random.get_rng_state()
    assert net.generate([1], 8, temperature=1e-300) == net.generate([1], 8)
    first = net.generate([1], 8, temperature=1.0, seed=5)
    assert first == net.generate([1], 8, temperature=1.0, seed=5)
    assert first != net.generate([1], 8, temperature=1.0, seed=6)
    # Two texts may be the same by chance; six are not.
    assert len({tuple(net.generate([1], 8, temperature=1.0)) for _ in range(6)}) > 1
    assert torch.equal(state, torch.random.get_rng_state())


SCORES = torch.tensor([0.5, 0.3, 0.15, 0.05]).double().log()


def drawn(count=4000, **how):
    how = dict(temperature=1.0, top_k=None, top_p=None) | how
    generator = torch.Generator().manual_seed(0)
    tokens = choose(SCORES.expand(count, 4), generator=generator, **how)
    return [(tokens == token).float().mean().item() for token in range(4)]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, [0.5, 0.3, 0.15, 0.05]),
        ({"temperature": 0.0}, [1, 0, 0, 0]),
        ({"temperature": 0.5}, [0.685, 0.247, 0.0616, 0.0068]),
        ({"temperature": 1e9}, [0.25, 0.25, 0.25, 0.25]),
        ({"top_k": 2}, [0.625, 0.375, 0, 0]),
        ({"top_k": 99}, [0.5, 0.3, 0.15, 0.05]),
        ({"top_p": 0.01}, [1, 0, 0, 0]),
        ({"top_p": 0.6}, [0.625, 0.375, 0, 0]),
        ({"top_k": 3, "top_p": 0.82}, [0.625, 0.375, 0, 0]),
    ],
    ids=str,
)
def test_tokens_are_drawn_with_the_probabilities_that_the_settings_give(how, expected):
    shares = drawn(**how)
    assert shares == pytest.approx(expected, abs=0.03)
    assert not any(share for share, chance in zip(shares, expected, strict=True) if not chance)


def test_dropout_is_off_meanwhile_and_training_goes_on():
    net = model(dropout_prob=0.9)
    assert net.generate([1, 2], 10) == net.generate([1, 2], 10)
    assert net.training
    with pytest.raises(ValueError):
        net.generate([99])
    assert net.training
    net.eval().generate([1], 1)
    assert not net.training


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"temperature": float("nan")}, "temperature must be .* not nan"),
        ({"top_k": 0}, "top_k must be 1 or more, not 0"),
        ({"top_p": 1.5}, r"top_p must be in \(0, 1\], not 1.5"),
        ({"max_new_tokens": -1}, "max_new_tokens must be 0 or more, not -1"),
        ({"prompt_ids": "Once"}, r"token ids, not text: pass tokenizer.encode\(text\)"),
        ({"prompt_ids": []}, "the prompt is empty: give at least one token"),
        ({"prompt_ids": [[1], []]}, r"the prompt \(number 1 of the batch\) is empty"),
        ({"prompt_ids": [1, 50]}, "token 50 at row 0, column 1 is outside the vocabulary of 50"),
    ],
    ids=str,
)
def test_wrong_settings(how, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        model().generate(**{"prompt_ids": [1]} | how)


def test_a_model_whose_training_went_wrong():
    net = model()
    net.lm_head.weight.data[0, 0] = float("nan")
    with pytest.raises(ValueError, match="scores are not numbers"):
        net.generate([1], temperature=1.0)


def test_with_a_cache_the_text_is_the_same():
    net = model(num_kv_heads=2)
    prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]]
    for how in ({}, {"temperature": 0.8, "top_k": 9, "seed": 3}):
        assert net.generate(prompts, 10, cache=True, **how) == net.generate(prompts, 10, **how)
