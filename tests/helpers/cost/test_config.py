"""Config files as they are, and as they should not be."""

import json

import pytest

from helpers.cost import ModelConfig, gpt, read_config

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 100,
}
GPT2 = {
    "model_type": "gpt2",
    "n_embd": 64,
    "n_head": 4,
    "n_layer": 2,
    "n_positions": 32,
    "vocab_size": 100,
}


def test_a_gpt2_without_n_inner_has_four_times_its_width_and_is_tied():
    model = read_config(GPT2 | {"n_inner": None})
    assert model.intermediate == 256 and model.tied
    assert read_config(GPT2 | {"n_inner": 100}).intermediate == 100


def test_a_file_is_read(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert read_config(path) == read_config(str(path)) == read_config(LLAMA)
    assert read_config(LLAMA | {"max_sequence_length": 512}).positions == 512  # its older name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("# A readme", "is not JSON: give a model's config.json"),
        ("[1, 2]", "holds no JSON object"),
        ("{}", "has no field 'model_type', so it is no config.json"),
        ('{"model_type": "bert"}', "model_type is 'bert', and the architectures known"),
    ],
)
def test_what_is_no_config_file(tmp_path, text, words):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        read_config(path)
    assert "config.json" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("fields", [LLAMA, GPT2])
def test_each_field_that_is_missing_is_named(fields):
    for name in fields:
        if name != "model_type":
            rest = {key: value for key, value in fields.items() if key != name}
            with pytest.raises(ValueError, match=f"lacks the field '{name}'"):
                read_config(rest)


@pytest.mark.parametrize("value", [0, -1, 2.5, "64", True])
def test_a_field_that_is_no_size_is_named(value):
    with pytest.raises(ValueError, match="vocab_size is .*: a whole number, 1 or more"):
        read_config(LLAMA | {"vocab_size": value})


def test_heads_that_do_not_divide():
    with pytest.raises(ValueError, match="64 cannot be cut into 5 heads"):
        read_config(LLAMA | {"num_attention_heads": 5, "num_key_value_heads": 5})
    with pytest.raises(ValueError, match="4 heads cannot share 3"):
        read_config(LLAMA | {"num_key_value_heads": 3})
    with pytest.raises(ValueError, match="hidden 64 cannot be cut into 5 heads"):
        gpt(64, 2, 5)
    with pytest.raises(ValueError, match="the families are llama and gpt2"):
        ModelConfig("bert", 64, 2, 4, 4, 16, 160, 100)


def test_a_config_of_the_other_family_is_refused_where_one_is_asked_for():
    assert read_config(LLAMA).require("llama")
    with pytest.raises(ValueError, match="config of a gpt2, and a llama is asked for"):
        read_config(GPT2).require("llama")
