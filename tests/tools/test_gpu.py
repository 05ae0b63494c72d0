"""`make gpu` on a machine without one: the processor stands in for the GPU, and gloo for NCCL."""

import re
from pathlib import Path

import pytest
import torch

import gpu
from helpers.trace import Trace

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
LONG = "CP DP/ddp DP/zero DP_PP/ EP PP/1F1B PP/microbatches PP/schedules TP".split()
# A script whose second run, that on the GPU, is off by 1 %: in its loss, or in its gradient alone.
PLANTED = """
import argparse
from pathlib import Path
import torch

def read_flags(arguments):
    return argparse.Namespace()

def train(options, place, device, say):
    net = torch.nn.Linear(2, 1, bias=False, device=device)
    torch.nn.init.ones_(net.weight)
    net(torch.ones(1, 2, device=device)).sum().backward()
    seen = Path(__file__).with_name("seen")
    off = 1.01 if seen.exists() else 1.0
    seen.touch()
    loss = 2.0 * ({loss})
    net.weight.grad *= {gradient}
    return [loss], net, None
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "FOLDER", tmp_path)
    return tmp_path


def test_without_a_gpu_it_refuses_in_one_sentence(monkeypatch, capsys, folder):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main() == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: torch sees no GPU") and err.count("\n") == 1
    assert not list(folder.iterdir())


def test_every_script_that_trains_on_ranks_is_among_them():
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.glob("*/**/*.py")
        if path.relative_to(ROOT).parts[0] not in (".venv", "build", "tests", "tools", "helpers")
        and re.search(r"^    run_as_rank\(", path.read_text(encoding="utf-8"), re.M)
    }
    assert found == set(gpu.SCRIPTS)


@pytest.mark.slow
@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("path", [gpu.ONE, *gpu.SCRIPTS])
def test_each_script_is_itself_on_the_same_device(path):
    name, right, said = gpu.beside_the_cpu(path, gpu.SCRIPTS.get(path, {1: ""}), 2, "gloo")
    ranks = "1 rank" if path == gpu.ONE else "2 ranks"
    wanted = f"{ranks}: losses 0.0e+00, gradients 0.0e+00 apart"
    assert (name, right, said) == (path, True, wanted)


@pytest.mark.parametrize(
    ("loss", "gradient", "right"), [("1", "1", True), ("off", "1", False), ("1", "off", False)]
)
def test_what_is_off_by_a_percent_is_wrong(loss, gradient, right, folder):
    script = folder / "planted.py"
    script.write_text(PLANTED.format(loss=loss, gradient=gradient))
    _, found, said = gpu.beside_the_cpu(str(script), {1: ""}, 1, "gloo")
    assert found == right
    assert said.count("1.0e-02") == (not right)


def test_a_script_that_needs_more_gpus_says_how_many():
    assert gpu.beside_the_cpu("x.py", {2: "", 4: ""}, 1) == (
        "x.py",
        True,
        "not run: it needs 2 GPUs",
    )


def test_messages():
    name, right, said = gpu.messages(2, "gloo", megabytes=0.1)
    assert (name, right) == ("gloo, 2 ranks", True)
    assert re.fullmatch(r"an all-reduce of 0.1 MB takes [\d.]+ ms, [\d.]+ GB/s a rank", said)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn])
def test_rates(dtype, monkeypatch):
    name, right, said = gpu.rate(CPU, dtype, size=64)
    assert right and name.startswith("products of ") and "TFLOP/s at 64" in said
    multiply = gpu.scaled_mm
    monkeypatch.setattr(gpu, "scaled_mm", lambda *a, **more: 1.1 * multiply(*a, **more))
    assert gpu.rate(CPU, dtype, size=64)[1] == (dtype == torch.bfloat16)


@pytest.mark.slow
def test_the_traced_step(folder):
    name, right, said = gpu.traced(2, ["--epochs", "1", "--src-shape", "256", "1", "16"])
    assert (name, right) == (gpu.TRACED, True), said
    assert re.fullmatch(
        r"computing \d+%, communication \d+%, input \d+%, idle \d+% of \d+ ms", said
    )
    assert Trace.load(folder / "gpu_step.json.gz").ranks == [0, 1]
    assert gpu.traced(2, ["--epochs", "0"])[1] is False


def test_the_report_tells_of_each_check_and_of_one_that_breaks(folder, capsys):
    def breaks():
        raise RuntimeError("no kernel\nfor a | b")

    path = folder / "report.md"
    assert gpu.tell([lambda: ("one", True, "fine")], "A machine.", path)
    assert path.read_text().endswith(
        "Everything is right.\n\n| | | |\n|---|---|---|\n| one | right | fine |\n"
    )
    assert not gpu.tell([breaks, lambda: ("one", True, "fine")], "A machine.", path)
    said = path.read_text()
    assert "Something is wrong." in said and "| one | right | fine |" in said
    assert "| a check | **wrong** | RuntimeError: no kernel for a / b |" in said
    assert "WRONG  a check" in capsys.readouterr().out


def test_all_of_it_is_looked_at():
    assert len(list(gpu.checks(CPU, 1))) == 5 + len(gpu.SCRIPTS)
