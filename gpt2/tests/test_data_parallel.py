"""Problems 1.1, 1.2: every sample is in one part, and two ranks have one device's gradients.

cd gpt2
python -m pytest -l -v -k "a4_1_1"
python project/run_data_parallel.py --pytest True --n_epochs 1
python -m pytest -l -v -k "a4_1_2"
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from data_parallel.dataset import DataPartitioner, partition_dataset
from project import utils
from project.data import load
from project.models import SIZES, make_config, make_model
from wrong_input import WrongInput

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

TESTS = Path(__file__).resolve().parent


@pytest.mark.parametrize(("samples", "ranks"), [(64, 2), (65, 4), (49, 49), (50, 49), (7, 3)])
def test_a4_1_1_every_sample_is_in_one_part(samples, ranks):
    loaders = [partition_dataset(rank, ranks, list(range(samples)), ranks) for rank in range(ranks)]
    parts = [[int(sample) for batch in loader for sample in batch] for loader in loaders]
    assert sorted(sum(parts, [])) == list(range(samples))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert samples < 49 or sum(parts, []) != list(range(samples))  # shuffled


def test_a4_1_1_shares_of_a_batch_and_of_any_size_up_to_everything():
    loader = partition_dataset(0, 3, list(range(100)), 10)
    assert [len(batch) for batch in loader] == [3] * 11
    assert loader.dataset[0] in range(100) and len(loader.dataset) == 33
    cut = DataPartitioner(list(range(50)))
    assert [len(cut.use(k)) for k in range(3)] == [35, 10, 5]
    assert sorted(sum(cut.partitions, [])) == list(range(50))
    assert cut.partitions == DataPartitioner(list(range(50))).partitions
    assert cut.partitions != DataPartitioner(list(range(50)), seed=1).partitions
    with pytest.raises(WrongInput, match="numbers from 0 on that add up to 1"):
        DataPartitioner(range(8), [0.7, 0.7])


def test_a4_1_1_wrong_input():
    for arguments, says in (
        ((0, 9, range(8), 18), "9 ranks and 8 samples"),
        ((0, 4, range(8), 3), "a batch of 3 for 4 ranks: each needs one sample"),
        ((4, 4, range(8), 4), "the ranks are 0 to 3"),
    ):
        with pytest.raises(WrongInput, match=says):
            partition_dataset(*arguments)


@pytest.fixture(scope="module")
def gradients():
    """Of each rank {name: gradient}, and the settings; by the command above if it has not run."""
    made = not (TESTS / "settings.json").exists()
    if made:
        command = "project/run_data_parallel.py --pytest True --n_epochs 1 --n_train 500"
        command += " --workdir tests/workdir/gradients"
        subprocess.run([sys.executable, *command.split()], cwd=TESTS.parent, check=True)
    settings = json.loads((TESTS / "settings.json").read_text())
    files = [TESTS / f"model{rank}_gradients.pth" for rank in range(settings["world_size"])]
    yield [torch.load(file) for file in files], settings
    if made:  # so that they are never those of an older program
        for file in (*files, TESTS / "settings.json"):
            file.unlink()
        shutil.rmtree(TESTS / "workdir", ignore_errors=True)


def test_a4_1_2_all_ranks_have_one_devices_gradients(gradients):
    (first, *others), s = gradients
    for other in others:
        assert first.keys() == other.keys()
        assert all(torch.equal(first[name], other[name]) for name in first)
    assert others
    rows = load(s["dataset_name"], s["n_train"], s["n_held_out"], s["seed"])
    tokenizer = utils.get_tokenizer(rows.train, SIZES[s["size"]].vocab, "de", "en")
    config = make_config(s["size"], len(tokenizer), s["model_max_length"])
    model = make_model(config, s["seed"])
    collate = utils.german_to_english(tokenizer, s["model_max_length"])
    loaders = [
        partition_dataset(rank, s["world_size"], rows.train, s["batch_size"], list)
        for rank in range(s["world_size"])
    ]
    together = collate([row for loader in loaders for row in next(iter(loader))])
    utils.loss_fn(together, model).backward()
    for name, p in model.named_parameters():
        torch.testing.assert_close(first[name], p.grad, rtol=1e-3, atol=1e-6, msg=name)
