"""Text is greedy or drawn as asked, stops where it should, and is the same with a cache."""

import pytest
import torch

from simplellm.generation import choose
from tests.simplellm.small import small


def model(**sizes):
    return small(times=10, ctx_size=8, **sizes)  # so that tokens differ in probability


@pytest.mark.parametrize("cache", [False, True])
def test_greedy_takes_the_likeliest_token_and_slides_past_the_context(cache):
    net = model(num_kv_heads=2, dropout_prob=0.9)  # which is off meanwhile
    for prompt in ([1, 2, 3], [4], list(range(20))):
        text = list(prompt)
        for _ in range(12):
            text.append(net.eval()(torch.tensor([text[-8:]]))[0, -1].argmax().item())
        net.train()
        assert net.generate(torch.tensor(prompt), 12, cache=cache) == text and net.training
        assert net.eval().generate(torch.tensor(prompt), 12, cache=cache) == text
        assert not net.training
        end = text[len(prompt) + 2]
        stops = text.index(end, len(prompt)) + 1
        assert net.generate(prompt, 12, eos_id=end, cache=cache) == text[:stops]


def test_a_seed_gives_one_text_and_the_global_numbers_are_left_alone():
    net = model()
    state = torch.random.get_rng_state()
    first = net.generate([1], 8, temperature=1.0, seed=5)
    assert first == net.generate([1], 8, temperature=1.0, seed=5, cache=True)
    assert first != net.generate([1], 8, temperature=1.0, seed=6)
    # Two texts may be the same by chance; six are not.
    assert len({tuple(net.generate([1], 8, temperature=1.0)) for _ in range(6)}) > 1
    assert torch.equal(state, torch.random.get_rng_state())


@pytest.mark.parametrize(
    ("temperature", "top_p", "expected"),
    [
        (1.0, None, [0.5, 0.3, 0.15, 0.05]),
        (0.0, None, [1, 0, 0, 0]),
        (1e-300, None, [1, 0, 0, 0]),
        (0.5, None, [0.685, 0.247, 0.0616, 0.0068]),
        (1.0, 0.01, [1, 0, 0, 0]),
        (1.0, 0.6, [0.625, 0.375, 0, 0]),
    ],
)
def test_tokens_are_drawn_with_the_chances_that_the_settings_give(temperature, top_p, expected):
    scores = torch.tensor([0.5, 0.3, 0.15, 0.05]).double().log()
    generator = torch.Generator().manual_seed(0)
    drawn = [choose(scores, temperature, top_p, generator) for _ in range(3000)]
    shares = [drawn.count(token) / 3000 for token in range(4)]
    assert shares == pytest.approx(expected, abs=0.03)
    assert not any(share for share, chance in zip(shares, expected, strict=True) if not chance)


def test_wrong_settings():
    net, broken = model(), model()
    broken.lm_head.weight.data[0, 0] = float("nan")
    for call, sentence in (
        (lambda: net.generate([1], temperature=float("nan")), "temperature must be .* not nan"),
        (lambda: net.generate([1], top_p=1.5), r"top_p must be in \(0, 1\], not 1.5"),
        (lambda: net.generate([]), "the prompt is empty: give at least one token"),
        (lambda: broken.generate([1]), "scores are not numbers"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call()
        assert net.training and broken.training
