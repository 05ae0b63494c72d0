"""The programs as a student calls them: end to end, and with what cannot work."""

import importlib
import json

import pytest

from helpers.ranks.environment import free_port

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SMALL = "--n_train 60 --n_held_out 8 --n_epochs 1 --batch_size 20 --model_max_length 64".split()
FACTS = {"validation_loss", "bleu", "training_time", "tokens_per_sec"}


@pytest.mark.long
def test_both_halves_and_the_four_figures(program, tmp_path, monkeypatch, capsys):
    for ranks in (1, 2):
        done = program("run_data_parallel", *SMALL, "--world_size", ranks)
        assert done.returncode == 0, done.stderr
        assert "epoch 0: loss" in done.stdout
    monkeypatch.chdir(tmp_path)
    for mode in ("model_parallel", "pipeline_parallel"):
        flags = *SMALL, "--model_parallel_mode", mode, "--trace", "t.json"
        assert importlib.import_module("project.run_pipeline").main(flags) == 0
    work = tmp_path / "workdir"
    names = ["rank0", "rank1", "model_parallel", "pipeline_parallel"]
    found = [json.loads((work / f"{name}_results_epoch0.json").read_text()) for name in names]
    assert all(set(facts) == FACTS for facts in found)
    assert found[0]["validation_loss"] == found[1]["validation_loss"]
    assert found[2]["validation_loss"] == pytest.approx(found[3]["validation_loss"], rel=1e-4)
    assert importlib.import_module("project.plot").main([]) == 0
    assert len(list((tmp_path / "submit_figures").glob("*.png"))) == 4
    assert "2 devices, data parallel:" in capsys.readouterr().out
    assert len(json.loads((tmp_path / "t.json").read_text())["traceEvents"]) > 8


@pytest.mark.parametrize(
    ("name", "flags", "says"),
    [
        ("run_data_parallel", "--world_size 9 --n_train 8 --batch_size 9", "9 ranks and 8 samples"),
        ("run_data_parallel", "--world_size 4 --batch_size 3", "a batch of 3 for 4 ranks"),
        ("run_data_parallel", "--learning_rate 0", "give a number above 0"),
        ("run_data_parallel", "--pytest maybe", "write True or False"),
        ("run_data_parallel", "--world_size 0", "0 is not a whole number of 1 to 64"),
        ("run_pipeline", "--n_chunk 9 --batch_size 8", "a micro-batch would have no sample"),
        ("run_pipeline", "--dataset some/set", "some/set"),
        ("plot", "", "run the training that writes it first"),
    ],
)
def test_wrong_input_is_one_sentence_and_code_2(name, flags, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"project.{name}").main(flags.split())
    assert ended.value.code == 2
    require_one_sentence(capsys.readouterr().err, says)


def test_so_is_what_a_rank_finds_out(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    flags = "--model_max_length 2 --n_train 8 --batch_size 4 --n_epochs 1".split()
    assert importlib.import_module("project.run_data_parallel").main(flags) == 2
    require_one_sentence(capfd.readouterr().err, "no token of this batch counts")


def require_one_sentence(said, words):
    assert words in said and "Traceback" not in said
    assert len([line for line in said.splitlines() if "error: " in line]) == 1
