"""Ranks with uneven data and uneven tokens train as one device does."""

import pytest
import torch
import torch.distributed as dist
from data_parallel.dataset import partition_dataset
from project import utils
from project.models import make_config, make_model
from project.run_data_parallel import average_gradients
from torch.utils.data import DataLoader
from transformers import GPT2LMHeadModel
from wrong_input import WrongInput

from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LONG, SHORT = "Der alte Mann hat ein Pferd gesucht, weil die Kinder rufen.", "Die Uhr."


def rows(count):
    """Sentences of very different lengths, so that ranks have different numbers of tokens."""
    texts = [f"{LONG if n % 2 else SHORT} {'a' * (3 * n)}" for n in range(count)]
    return [{"de": text, "en": text.lower()} for text in texts]


def steps(samples, world, batch, longest=64):
    """On a rank: train one pass; the weights after it, and the tokens of each step."""
    torch.set_num_threads(1)
    rank = dist.get_rank() if dist.is_initialized() else 0
    data = rows(samples)
    tokenizer = utils.get_tokenizer(data, 300, "de", "en")
    model = make_model(make_config("tiny", len(tokenizer), longest))
    collate = utils.german_to_english(tokenizer, longest)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if world:
        batches = partition_dataset(rank, world, data, batch, collate)
        _, counts = utils.train(
            model, optimizer, batches, batch, collate, "", rank, average_gradients
        )
    else:  # one device: the batches that `batch` ranks have together, step by step
        loaders = [list(partition_dataset(r, batch, data, batch, list)) for r in range(batch)]
        together = [
            collate([row for loader in loaders if step < len(loader) for row in loader[step]])
            for step in range(max(map(len, loaders)))
        ]
        batches = DataLoader(together, batch_size=None)
        _, counts = utils.train(model, optimizer, batches, batch, collate, "")
    return {n: p.detach().clone() for n, p in model.named_parameters()}, counts


def several(sizes):
    """On one of three ranks: what `steps` gives for each number of samples and longest row."""
    return [steps(samples, 3, 3, longest) for samples, longest in sizes]


def test_weights_after_several_uneven_steps_are_one_devices():
    """Also those of a rank without a token: it gets the gradients of the others."""
    # 10 samples on 3 ranks, one at a time: 3, 4 and 3 steps, and rows of very different lengths.
    # At 16 tokens the long sentences are cut off before their translation begins.
    uneven, cut_off = (10, 64), (3, 16)
    ranks = launch(several, 3, ((uneven, cut_off),), quiet=True)
    for (samples, longest), *answers in zip((uneven, cut_off), *ranks, strict=True):
        expected, _ = steps(samples, 0, 3, longest)
        if samples == 10:
            assert [len(counts) for _, counts in answers] == [4, 4, 4]
            assert [sum(n == 0 for n in counts) for _, counts in answers] == [1, 0, 1]
        for found, _ in answers:
            for name, weight in expected.items():
                torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-6, msg=name)


@pytest.fixture(scope="module")
def small():
    data = rows(12)
    tokenizer = utils.get_tokenizer(data, 300, "de", "en")
    model = make_model(make_config("tiny", len(tokenizer), 64))
    return data, tokenizer, model


def test_the_mean_is_taken_of_gradients_that_are_there(monkeypatch):
    from project import run_data_parallel as script

    monkeypatch.setattr(script.dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(script.dist, "all_reduce", lambda tensor: tensor.add_(3.0))
    model = torch.nn.Linear(2, 1)
    model.weight.grad, before = torch.ones(1, 2), model.weight.detach().clone()
    script.average_gradients(model)
    assert model.weight.grad.tolist() == [[2.0, 2.0]] and model.bias.grad is None
    assert torch.equal(model.weight, before)


def test_a_batch_says_what_counts(small):
    data, tokenizer, _ = small
    batch = utils.german_to_english(tokenizer, 64)(data[:3])
    for number, row in enumerate(data[:3]):
        counts = batch["label_token_weights"][number].bool()
        text = tokenizer.decode(batch["labels"][number][counts])
        assert text == row["en"] + "<eos_en>"
        assert batch["labels"][number][:-1].tolist() == batch["input_ids"][number][1:].tolist()
        read = batch["input_ids"][number][batch["attention_mask"][number].bool()]
        assert tokenizer.decode(read).startswith(row["de"] + "<eos_de>" + row["en"])
    assert batch["input_ids"].shape[1] <= 64


def test_gpt2_has_the_published_number_of_parameters():
    with torch.device("meta"):
        model = GPT2LMHeadModel(make_config("gpt2", 600, 128))
    assert sum(p.numel() for p in model.parameters()) == 124_439_808  # Radford et al., 2019


def test_padding_changes_no_loss(small):
    data, tokenizer, model = small
    collate = utils.german_to_english(tokenizer, 64)
    whole = utils.loss_fn(collate(data), model)
    each = [utils.token_losses(collate([row]), model) for row in data]
    total, count = (sum(part) for part in zip(*each, strict=True))
    torch.testing.assert_close(whole, total / count)
    loss = utils.evaluate_loss(model, data, 5, collate, "")
    assert loss == pytest.approx(whole.item(), rel=1e-5)


def test_tokens_are_counted_without_padding(small):
    data, tokenizer, model = small
    collate = utils.german_to_english(tokenizer, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    rate, counts = utils.train(model, optimizer, data, 4, collate, "")
    alone = [len(collate([row])["input_ids"][0]) for row in data]
    assert counts == [sum(alone[k : k + 4]) for k in (0, 4, 8)] and rate > 0


def test_a_rank_with_no_token_that_counts_is_named(small):
    data, tokenizer, model = small
    cut = utils.german_to_english(tokenizer, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(WrongInput, match="no token of this batch counts"):
        utils.loss_fn(cut(data[:2]), model)
    with pytest.raises(WrongInput, match="take a larger --model_max_length"):
        utils.train(model, optimizer, data, 4, cut, "")


def test_translations_with_a_cache_are_those_without(small):
    data, tokenizer, model = small
    with_cache = utils.generate(model, data, "de", "en", tokenizer, 64, "cpu", "")
    for row, said in zip(data[:4], with_cache, strict=False):
        ids = tokenizer(row["de"] + "<eos_de>")["input_ids"]
        start = len(ids)
        with torch.no_grad():
            while len(ids) < 64:
                best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
                if best == tokenizer.convert_tokens_to_ids("<eos_en>"):
                    break
                ids.append(best)
        assert said == tokenizer.decode(ids[start:])


def test_bleu_of_the_truth_is_100():
    data = [{"en": "The old man has sought a horse today."}] * 2
    assert utils.evaluate_bleu(data, [row["en"] for row in data], "en")["bleu"] == pytest.approx(
        100
    )
    assert utils.evaluate_bleu(data, ["No word fits here at all."] * 2, "en")["bleu"] < 10
