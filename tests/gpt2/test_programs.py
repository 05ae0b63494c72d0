"""GPT-2's programs run end to end as students call them, and say what can't work."""

import importlib
import json
import re
import sys
import types

import pytest
from pipeline.model_parallel import GPT2LMHeadModelParallel
from project.data import IWSLT, load
from project.results import Result
from wrong_input import WrongInput

from helpers.ranks.environment import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def test_one_seed_has_one_list_without_a_sentence_in_common_and_its_articles_agree():
    rows = load(train=1600, held_out=200)
    assert [len(split) for split in (rows.train, rows.validation, rows.test)] == [1600, 200, 200]
    assert rows == load(train=1600, held_out=200) != load(train=1600, held_out=200, seed=1)
    pairs = [*rows.train, *rows.validation, *rows.test]
    assert len({row["de"] for row in pairs}) == 2000 and len({row["en"] for row in pairs}) > 1900
    english = " ".join(row["en"].lower() for row in pairs)
    assert not re.search(r"\ban [^aeiou]|\ba [aeiou]", english) and " an " in english
    assert not re.search(r"none|plural", " ".join(row["de"].lower() for row in pairs))


def test_sentences_of_the_hub_and_a_data_set_that_does_not_fit(monkeypatch):
    def unreachable(name):
        raise OSError("no route to host\nmore")

    hub = types.ModuleType("datasets")  # stands in for the library
    monkeypatch.setitem(sys.modules, "datasets", hub)
    pair = {"de": "Guten Tag.", "en": "Good day."}
    for row in (pair | {"more": 1}, {"translation": pair}):
        splits = dict.fromkeys(("train", "validation", "test"), [row] * 30)
        hub.load_dataset = {IWSLT: splits}.__getitem__
        rows = load(IWSLT, train=20, held_out=5)
        assert rows.train == [pair] * 20 and rows.test == rows.validation == [pair] * 5
    for answer, says in (
        (lambda name: {"train": [{"translation": {"de": "a", "fr": "b"}}]}, "no 'en' in 'train'"),
        (lambda name: {"dev": []}, "has no 'train' in 'train'"),
        (unreachable, r"cannot be loaded \(no route to host\)"),
    ):
        hub.load_dataset = answer
        with pytest.raises(WrongInput, match=says):
            load("some/set")


def main(program, flags):
    importlib.import_module(f"project.{program}").main(flags.split())


@pytest.mark.long
def test_both_halves_and_their_figures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = "--n_train 60 --n_held_out 8 --n_epochs 1 --batch_size 20 --model_max_length 64"
    for ranks in (1, 2):
        monkeypatch.setenv("MASTER_PORT", str(free_port()))
        main("run_data_parallel", f"{small} --world_size {ranks}")
    for mode in ("model_parallel", "pipeline_parallel"):
        main("run_pipeline", f"{small} --n_chunk 3 --model_parallel_mode {mode}")
    found = [
        json.loads((tmp_path / f"workdir/{name}_results_epoch0.json").read_text())
        for name in ("rank0", "rank1", "model_parallel", "pipeline_parallel")
    ]
    facts = {"validation_loss", "bleu", "training_time", "tokens_per_sec"}
    assert all(set(each) == facts for each in found)
    assert found[0]["validation_loss"] == found[1]["validation_loss"]
    assert found[2]["validation_loss"] == pytest.approx(found[3]["validation_loss"], rel=1e-4)
    main("plot", "")


def test_a_batch_is_cut_into_as_many_micro_batches_as_are_asked_for(monkeypatch):
    monkeypatch.setattr(GPT2LMHeadModelParallel, "_prepare_pipeline_parallel", sys.exit)
    with pytest.raises(SystemExit, match="^7$"):  # of 20 sentences in three parts
        main("run_pipeline", "--batch_size 20 --n_chunk 3 --model_parallel_mode pipeline_parallel")


def test_figures_compare_the_sum_of_tokens_and_the_mean_of_times_after_the_first_epoch(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    runs = {"world_size1/rank0": 1.0, "world_size2/rank0": 1.0, "world_size2/rank1": 3.0}
    runs |= {"./model_parallel": 2.0, "./pipeline_parallel": 1.0}
    for name, seconds in runs.items():
        folder, who = name.split("/")
        for epoch in range(3):
            took = seconds if epoch else 99.0
            Result(0, 0, took, 10 * seconds).save(f"workdir/{folder}", epoch, who)
    main("plot", "")
    assert capsys.readouterr().out.splitlines() == [
        "2 devices, data parallel: 2.00 times the seconds of an epoch of one device",
        "2 devices, data parallel: 4.00 times the tokens per second of one device",
        "pipeline parallel: 0.50 times the seconds of an epoch of model parallel",
        "pipeline parallel: 0.50 times the tokens per second of model parallel",
    ]
    assert len(list((tmp_path / "submit_figures").glob("*.png"))) == 4


def test_what_a_rank_refuses_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    with pytest.raises(SystemExit, match="^error: no token of"):
        main("run_data_parallel", "--model_max_length 2 --n_train 8 --batch_size 4")
