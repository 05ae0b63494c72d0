"""transformers is the second opinion: the same files give the same logits, loss and gradients."""

import json

import pytest
import torch
from transformers import LlamaForCausalLM

from simplellm.huggingface import from_hf, to_hf
from simplellm.llama import LLamaStage
from simplellm.losses import causalLLMLoss
from tests.simplellm.small import small

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
VARIANTS = [
    {},
    {"num_kv_heads": 2},
    {"head_dim": 16},
    {"hidden_dim": 40, "norm_eps": 1e-3},
    {"padding_idx": 3},
    {"shared": True, "padding_idx": 3, "num_kv_heads": 2},
    {"rope_parameters": {"rope_theta": 500.0}},
    {"rope_parameters": {"rope_type": "linear", "factor": 4.0}},
    # Of its eight rotations the fast ones stay, one is slowed a little, the slow ones by 8.
    {"rope_parameters": LLAMA3, "head_dim": 16},
]
IDS = torch.randint(0, 50, (2, 60), generator=torch.Generator().manual_seed(1))
IDS[0, 5:8] = 3


def model(**sizes):
    return small(times=4, dmodel=32, ctx_size=64, **sizes)  # so that every part matters


@pytest.mark.parametrize("sizes", VARIANTS, ids=str)
def test_transformers_loads_it_strictly_and_agrees_and_it_comes_back(tmp_path, sizes):
    net = model(dropout_prob=0.25, **sizes).eval()
    to_hf(net, tmp_path)
    judge, report = LlamaForCausalLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    answer = judge(input_ids=IDS, labels=IDS)
    logits = net(IDS)
    loss = causalLLMLoss(logits, IDS, 50)
    torch.testing.assert_close(logits, answer.logits, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(loss, answer.loss, rtol=1e-6, atol=1e-6)
    loss.backward()
    answer.loss.backward()
    theirs = dict(judge.named_parameters())
    assert set(theirs) == {name for name, _ in net.named_parameters()}
    for name, weight in net.named_parameters():
        torch.testing.assert_close(weight.grad, theirs[name].grad, rtol=1e-4, atol=1e-6)
    judge.save_pretrained(tmp_path / "theirs")
    state = torch.random.get_rng_state()
    for folder in (tmp_path, tmp_path / "theirs"):
        other = from_hf(folder, device="cpu")
        assert other.config == net.config
        assert (other.lm_head.weight is other.model.embed_tokens.weight) == net.config.shared
        assert torch.equal(other.eval()(IDS), logits)
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_type_is_kept(tmp_path):
    net = model().bfloat16()
    to_hf(net, tmp_path)
    assert from_hf(tmp_path, "cpu").lm_head.weight.dtype == torch.bfloat16
    assert LlamaForCausalLM.from_pretrained(tmp_path).dtype == torch.bfloat16


def test_files_of_transformers_4_are_read(tmp_path):
    net = model(rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0})
    to_hf(net, tmp_path)
    change(
        tmp_path,
        rope_parameters=None,
        rope_theta=500.0,
        rope_scaling={"type": "linear", "factor": 4.0},
    )
    assert torch.equal(from_hf(tmp_path, "cpu")(IDS), net(IDS))


def change(folder, **entries):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | entries))


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"model_type": "gpt2"}, "has model_type = 'gpt2': only 'llama' is supported"),
        ({"hidden_act": "gelu"}, "has hidden_act = 'gelu': only 'silu' is supported"),
        ({"attention_bias": True}, "has attention_bias = True: only False is supported"),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2.0}},
            "rotary positions of type 'yarn' are not supported: use default, linear, llama3",
        ),
        (
            {"vocab_size": 60},
            r"checkpoint of another model: model.embed_tokens.weight is \(50, 32\)",
        ),
        ({"num_hidden_layers": 3}, "has no model.layers.2.self_attn.q_proj.weight"),
    ],
    ids=str,
)
def test_a_folder_with_another_model(tmp_path, entries, sentence):
    to_hf(model(), tmp_path)
    change(tmp_path, **entries)
    with pytest.raises(ValueError, match=sentence):
        from_hf(tmp_path)


def test_folders_with_something_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no .*config.json: give the folder"):
        from_hf(tmp_path)
    to_hf(model(), tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match="there is no .*model.safetensors: .* one file"):
        from_hf(tmp_path)
    (tmp_path / "config.json").write_text("half a")
    with pytest.raises(ValueError, match="config.json is not JSON"):
        from_hf(tmp_path)


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(TypeError, match="a whole LLama, not a LLamaStage"):
        to_hf(LLamaStage(dmodel=8, num_heads=2, n_layers=1), tmp_path)
    with pytest.raises(ValueError, match="4 heads do not divide dmodel = 10"):
        to_hf(small(dmodel=10, head_dim=4), tmp_path)
    assert not list(tmp_path.iterdir())
