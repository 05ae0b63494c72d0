"""The drawings of the model and its layouts: their numbers, and that nothing overlaps."""

import pytest

from helpers.draw.model import Sizes, layouts, llama, surprise
from helpers.draw.picture import Rect, Text
from simplellm.options import SIZES
from simplellm.tokenizers import SPTokenizer


def texts(picture) -> list[str]:
    return [shape.text for shape in picture.canvas.shapes if isinstance(shape, Text)]


def test_the_sizes_are_those_of_the_model_that_the_lessons_cut():
    size, drawn = SIZES["laptop"], Sizes()
    assert (size.dmodel, size.heads, size.layers) == (drawn.width, drawn.heads, drawn.layers)
    assert SPTokenizer(size.vocabulary).vocab_size == drawn.vocabulary
    assert size.seq_l == drawn.sequence and drawn.total == 547_648


@pytest.mark.parametrize("layers", [1, 6, 126])
def test_a_llama_says_its_shapes_and_counts(check_layout, layers):
    picture = llama(Sizes(layers=layers))
    check_layout(picture)
    assert "(3, 128, 1,200)" in texts(picture) and "76,800" in texts(picture)
    assert f"{layers} blocks of 65,664 parameters" in " ".join(texts(picture))
    assert f"{layers} blocks" in picture.alt


def test_the_layouts_hold_each_layer_once_in_every_replica(check_layout):
    picture = layouts()
    check_layout(picture)
    held = [text for text in texts(picture) if text.isdigit()]
    replicas = 1 + 3 + 1 + 2
    assert all(held.count(str(layer)) == replicas for layer in range(6))


def test_a_surprising_token_is_darker_says_its_nats_and_tells_them_under_the_pointer(check_layout):
    tokens, nats = [" Once", " up", "on", " Max", "\n", "<b>"] * 9, [None, 0.0, 0.1, 7.3, 2.0, 1.0]
    picture = surprise(tokens, nats * 9)
    check_layout(picture)
    boxes = [shape for shape in picture.canvas.shapes if isinstance(shape, Rect)]
    first, sure, likely, strange = boxes[:4]
    assert sure.fill == first.fill != likely.fill != strange.fill == "#D55E00"
    assert strange.tip == "Max: 7.30 nats, probability 0.0676 %" and "nothing predicts" in first.tip
    assert texts(picture).count("7.3") == 9 and "&lt;b&gt;" in picture.svg()
    assert "'Max' 7.3" in picture.alt
