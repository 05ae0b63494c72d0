"""Machines from files, from this computer, and from lists."""

import json

import pytest

from helpers.cluster import PRESETS, Layout, estimate, measure, read_system
from helpers.cost import gpt

SYSTEM = {
    "matrix": {
        "tflops": 1000,
        "gflops_efficiency": {"float16": [[16, 0.9], [128, 0.95], [1, 0.6], [0, 0.1]]},
    },
    "mem1": {
        "GiB": 80,
        "GBps": 3072,
        "MB_efficiency": [[100, 0.9], [10, 0.75], [1, 0.6], [0, 0.3]],
    },
    "networks": [
        {"bandwidth": 50, "efficiency": 0.9, "size": 65536, "latency": 2e-5, "ops": {}},
        {"bandwidth": 450, "efficiency": 0.65, "size": 8, "latency": 1e-5, "ops": {}},
    ],
}


def written(tmp_path, system):
    path = tmp_path / "made_up.json"
    path.write_text(json.dumps(system) if not isinstance(system, str) else system)
    return path


def test_a_calculon_file(tmp_path):
    machine = read_system(written(tmp_path, SYSTEM))
    assert (machine.name, machine.peak, machine.node) == ("made_up", 1e15, 8)
    assert machine.memory == 80 * 2**30
    assert machine.inside.speed == pytest.approx(450e9 * 0.65)
    assert machine.between.speed == pytest.approx(45e9)
    assert machine.memory_seconds(200e6) == pytest.approx(200e6 / (3072e9 * 0.9))
    assert machine.memory_seconds(5e6) == pytest.approx(5e6 / (3072e9 * 0.6))
    n = 4096  # 137 GFLOP: from 128 on
    assert machine.matmul_seconds(n, n, n) == pytest.approx(2 * n**3 / 0.95e15)
    half = n // 2  # 17 GFLOP: from 16 on
    assert machine.matmul_seconds(half, half, half) == pytest.approx(2 * half**3 / 0.9e15)
    assert 0 < estimate(gpt(4096, 8, 32), Layout(8, tp=8), machine).utilisation.mfu < 0.95


def test_a_newer_file_that_keeps_all_by_type(tmp_path):
    by_type = SYSTEM | {
        "matrix": {"float16": {"tflops": 312, "gflops_efficiency": {"16": 0.9, "0": 0.5}}}
    }
    machine = read_system(written(tmp_path, by_type))
    assert machine.peak == 312e12 and machine.matmul_steps == ((16e9, 0.9), (0, 0.5))


@pytest.mark.parametrize(
    "system, words",
    [
        ("# a readme", "is not JSON: give a Calculon system file"),
        ({}, "lacks the field 'matrix': a Calculon system file has matrix, mem1 and networks"),
        ({k: v for k, v in SYSTEM.items() if k != "networks"}, "lacks the field 'networks'"),
        (SYSTEM | {"networks": []}, "is not in the form of a Calculon system file"),
        (SYSTEM | {"mem1": {"GiB": 0, "GBps": 1, "MB_efficiency": [[0, 1]]}}, "not in the form"),
        ("[]", "is not in the form of a Calculon system file"),
    ],
)
def test_a_file_that_is_none(tmp_path, system, words):
    with pytest.raises(ValueError, match=words) as caught:
        read_system(written(tmp_path, system))
    assert "made_up.json" in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="cannot be read .*: check the path"):
        read_system(tmp_path / "no.json")


def test_this_machine():
    machine = measure(seconds=0.02)
    assert machine.name == "this machine" and machine.node >= 1
    assert machine.peak > 1e8 and machine.memory_bandwidth > 1e7 and 0 < machine.launch < 0.1
    done = estimate(gpt(128, 2, 4, 64, 1000), Layout(4, 64, recompute="none"), machine)
    assert done.seconds > 0 and done.utilisation.mfu <= 1


def test_a_slower_machine_takes_that_much_longer():
    for machine in PRESETS.values():
        layout = Layout(8, dp=2, pp=2, tp=2)
        there = estimate(gpt(1024, 4, 16), layout, machine).seconds
        assert estimate(gpt(1024, 4, 16), layout, machine.slower(1.5)).seconds == pytest.approx(
            1.5 * there
        )
