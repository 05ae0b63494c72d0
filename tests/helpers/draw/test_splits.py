"""The two ways to split a training: who has which blocks, and how many sentences."""

from helpers.draw.splits import two_splits


def test_each_block_stands_on_both_devices_of_one_half_and_on_one_of_the_other():
    svg = two_splits().svg()
    assert all(svg.count(f">block {layer}<") == 3 for layer in range(4))
    assert svg.count(">8 sentences<") == svg.count(">16 sentences<") == 2


def test_it_has_words_in_light_and_dark():
    assert two_splits().alt == two_splits(theme="dark").alt
    assert "mean of their gradients" in two_splits().alt
