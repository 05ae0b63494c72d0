"""GPT-2 is one device on ranks with uneven data and uneven tokens, and in a pipeline."""

import os
import threading

import pytest
import torch
import torch.distributed as dist
from data_parallel.dataset import partition_dataset
from pipeline.model_parallel import GPT2LMHeadModelParallel
from pipeline.partition import WithDevice
from pipeline.pipe import Pipe
from pipeline.worker import Task, create_workers
from project import run_data_parallel, utils
from project.models import make_config, make_model
from torch import nn
from torch.utils.data import DataLoader
from wrong_input import WrongInput

from helpers.ranks import launch
from helpers.schedules import gpipe

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

LONG, SHORT = "Der alte Mann hat ein Pferd gesucht, weil die Kinder rufen.", "Die Uhr."


def rows(count):
    """Sentences of very different lengths, so that ranks have different numbers of tokens."""
    texts = [f"{LONG if n % 2 else SHORT} {'a' * (3 * n)}" for n in range(count)]
    return [{"de": text, "en": text.lower()} for text in texts]


def small_model(data, longest=64):
    tokenizer = utils.get_tokenizer(data, 300, "de", "en")
    model = make_model(make_config("tiny", len(tokenizer), longest))
    return tokenizer, model, utils.german_to_english(tokenizer, longest)


def steps(samples, longest, ranks=True):
    """On a rank of three: train one pass; the weights after it, and the tokens of each step."""
    torch.set_num_threads(1)
    rank = dist.get_rank() if dist.is_initialized() else 0
    data = rows(samples)
    tokenizer, model, collate = small_model(data, longest)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if ranks:
        batches = partition_dataset(rank, 3, data, 3, collate)
    else:  # one device: the batches that the ranks have together, step by step
        loaders = [list(partition_dataset(r, 3, data, 3, list)) for r in range(3)]
        together = [
            collate([row for loader in loaders if step < len(loader) for row in loader[step]])
            for step in range(max(map(len, loaders)))
        ]
        batches = DataLoader(together, batch_size=None)
    average = run_data_parallel.average_gradients if ranks else None
    _, counts = utils.train(model, optimizer, batches, 3, collate, "", rank, average)
    return {n: p.detach().clone() for n, p in model.named_parameters()}, counts


def several(sizes):
    """On one of three ranks: what `steps` gives for each number of samples and longest row."""
    return [steps(*size) for size in sizes]


def test_weights_after_several_uneven_steps_are_one_devices():
    """Also those of a rank without a token: it gets the gradients of the others."""
    # 10 samples on 3 ranks, one at a time: 3, 4 and 3 steps, and rows of very different lengths.
    # At 16 tokens the long sentences are cut off before their translation begins.
    uneven, cut_off = (10, 64), (3, 16)
    ranks = launch(several, 3, ((uneven, cut_off),), quiet=True)
    for (samples, longest), *answers in zip((uneven, cut_off), *ranks, strict=True):
        expected, _ = steps(samples, longest, ranks=False)
        if samples == 10:
            assert [len(counts) for _, counts in answers] == [4, 4, 4]
            assert [sum(n == 0 for n in counts) for _, counts in answers] == [1, 0, 1]
        for found, _ in answers:
            for name, weight in expected.items():
                torch.testing.assert_close(found[name], weight, rtol=1e-4, atol=1e-6, msg=name)


@pytest.fixture(scope="module")
def small():
    return rows(12), *small_model(rows(12))


def test_a_batch_says_what_counts(small):
    data, tokenizer, _, collate = small
    batch = collate(data[:3])
    for number, row in enumerate(data[:3]):
        counts = batch["label_token_weights"][number].bool()
        text = tokenizer.decode(batch["labels"][number][counts])
        assert text == row["en"] + "<eos_en>"
        assert batch["labels"][number][:-1].tolist() == batch["input_ids"][number][1:].tolist()
        read = batch["input_ids"][number][batch["attention_mask"][number].bool()]
        assert tokenizer.decode(read).startswith(row["de"] + "<eos_de>" + row["en"])
    assert batch["input_ids"].shape[1] <= 64
    assert utils.evaluate_bleu(data, [row["en"] for row in data], "en")["bleu"] > 99


def test_padding_changes_no_loss_and_is_no_token(small):
    data, _, model, collate = small
    each = [utils.token_losses(collate([row]), model) for row in data]
    total, count = (sum(part) for part in zip(*each, strict=True))
    torch.testing.assert_close(utils.loss_fn(collate(data), model), total / count)
    loss = utils.evaluate_loss(model, data, 5, collate, "")
    assert loss == pytest.approx((total / count).item(), rel=1e-5) and not model.training
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    rate, counts = utils.train(model, optimizer, data, 4, collate, "")
    alone = [len(collate([row])["input_ids"][0]) for row in data]
    assert counts == [sum(alone[k : k + 4]) for k in (0, 4, 8)] and rate > 0 and model.training


def test_translations_with_a_cache_are_those_without(small):
    data, tokenizer, model, _ = small
    with_cache = utils.generate(model, data, "de", "en", tokenizer, 64, "cpu", "")
    end = tokenizer.convert_tokens_to_ids("<eos_en>")
    how = {"max_length": 64, "use_cache": False, "eos_token_id": end, "pad_token_id": end}
    for row, said in zip(data[:4], with_cache, strict=False):
        ids = torch.tensor([tokenizer(row["de"] + "<eos_de>")["input_ids"]])
        alone = model.generate(ids, do_sample=False, **how)[0, ids.shape[1] :]
        assert said == tokenizer.decode(alone).removesuffix("<eos_en>")


@pytest.fixture
def both():
    config = make_config("tiny", 120, 32)
    plain, parallel = make_model(config), make_model(config, kind=GPT2LMHeadModelParallel)
    parallel.parallelize()
    yield plain, parallel
    parallel.deparallelize()


@pytest.mark.parametrize("split_size", [None, 1, 3])
@pytest.mark.parametrize("mask", ["none", "left", "right"])
def test_logits_and_gradients_of_stages_are_the_plain_models(both, split_size, mask):
    plain, parallel = both
    if split_size:
        parallel._prepare_pipeline_parallel(split_size)
    pairs = list(zip(plain.named_parameters(), parallel.named_parameters(), strict=True))
    assert all(one[0] == other[0] and torch.equal(one[1], other[1]) for one, other in pairs)
    ids = torch.randint(0, 120, (7, 12), generator=torch.Generator().manual_seed(0))
    left = torch.ones(7, 12, dtype=torch.long)
    left[1:, :4] = 0
    attention = {"none": None, "left": left, "right": left.flip(1)}[mask]
    counts = 1 if attention is None else attention[..., None]
    for model in both:
        logits = model(input_ids=ids, attention_mask=attention).logits * counts
        logits.square().mean().backward()
        expected = logits if model is plain else expected  # noqa: F821
        torch.testing.assert_close(logits, expected)
    for (name, p), (_, q) in pairs:
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-4, atol=1e-7, msg=name)


def test_threads_end_and_the_plain_way_is_back_and_other_stages_are_refused(both):
    _, parallel = both
    fresh = make_model(parallel.config, kind=GPT2LMHeadModelParallel)
    with pytest.raises(WrongInput, match=r"call parallelize\(\) first"):
        fresh._prepare_pipeline_parallel(2)
    with pytest.raises(WrongInput, match="5 devices for 4 blocks"):
        fresh.parallelize(["cpu:0"] * 5)
    before, ids = threading.active_count(), torch.tensor([[5, 6, 7]])
    parallel._prepare_pipeline_parallel(2)
    parallel._prepare_pipeline_parallel(4)  # a second one replaces the first
    assert threading.active_count() == before + 2
    with pytest.raises(WrongInput, match="cannot take a cache"):
        parallel(input_ids=ids, use_cache=True)
    parallel._finalize_pipeline_parallel()
    assert threading.active_count() == before and parallel.transformer.h_pp is None
    first = parallel(input_ids=ids[:, :2], use_cache=True)
    second = parallel(input_ids=ids[:, 2:], past_key_values=first.past_key_values, use_cache=True)
    torch.testing.assert_close(second.logits[:, -1], parallel(input_ids=ids).logits[:, -1])


def test_each_thread_works_in_the_order_of_gpipe():
    done, layers = [[], [], []], [nn.Identity() for _ in range(3)]
    for part, layer in enumerate(layers):
        layer.register_forward_hook(lambda _, x, y, part=part: done[part].append(int(y[0, 0])))
    marked = [WithDevice(layer, f"cpu:{part}") for part, layer in enumerate(layers)]
    with Pipe(nn.Sequential(*marked), 2) as pipe:
        pipe(torch.arange(8)[:, None] // 2)  # a micro-batch holds its number
        of_each = pipe.partitions, pipe.devices, pipe.in_queues, pipe.out_queues
        assert [len(each) for each in of_each] == [3, 3, 3, 3]
    for numbers, actions in zip(done, gpipe(3, 4).ranks, strict=True):
        assert numbers == [action.micro_batch for action in actions if action.kind == "F"]


def test_a_worker_takes_tasks_from_one_queue_and_puts_results_in_another():
    (given,), (taken,) = create_workers([torch.device("cpu")])
    task = Task(lambda: 8)
    given.put(task)
    given.put(None)
    assert taken.get() == (True, (task, 8))


def test_ranks_meet_on_this_machine_unless_they_are_told_where(monkeypatch):
    places = []
    monkeypatch.setattr(run_data_parallel, "connect", lambda place, *_, **how: places.append(place))
    for environment in ({}, {"MASTER_ADDR": "there", "MASTER_PORT": "5"}):
        monkeypatch.setattr(os, "environ", environment)
        run_data_parallel.setup(1, 2, "gloo")
    assert [(p.address, p.port) for p in places] == [("localhost", 11868), ("there", 5)]
