"""The promises on measured clusters, each with constants that were set elsewhere."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from bench.cluster_model import newer, validate
from bench.cluster_model.experts import eight_bits, experts, long_context
from bench.cluster_model.fit import EXPECTED, constants, fit, with_constants
from bench.cluster_model.fit import held_out as fold_errors
from bench.cluster_model.h100 import (
    judged_apart,
    judged_llama3,
    machine_without,
    newer_constants,
    rows_that_set,
)
from bench.cluster_model.page import better
from bench.cluster_model.published import llama3, megatron, read_rows, vtrain
from bench.cluster_model.torchtitan import torchtitan
from helpers.cluster import memory
from helpers.cluster.layer import layer_seconds
from helpers.cluster.presets import A100, A100_HALF, H100
from helpers.cluster.validate import layers, recomputation
from helpers.cost import flops

PAGE = Path(__file__).resolve().parents[3] / "docs" / "cluster_model.md"
LESSON = PAGE.parents[1] / "notebooks" / "source" / "19_design_your_own.py"
LESSON = LESSON.read_text(encoding="utf-8").replace("\n# ", " ")


def mean_and_largest(judged):
    errors = [abs(j.error) for j in judged]
    return sum(errors) / len(errors), max(errors)


def test_the_code_has_the_constants_that_the_rows_give():
    found, coded = constants(fit(A100_HALF, vtrain())), constants(A100)
    for name in EXPECTED:
        assert coded[name] == pytest.approx(found[name], rel=0.01), name


@cache
def held_out():
    return validate.judged_vtrain()


@cache
def tables():
    return validate.tables()[0]


def test_calibration_rows_judged_by_the_others():
    one, several = held_out()
    assert (len(one), len(several)) == (120, 20)
    assert mean_and_largest(one)[0] < 0.10
    assert mean_and_largest(several)[0] < 0.13


def test_table_5_of_2205_05198():
    judged, factor = validate.judged_recomputation()
    mean, largest = mean_and_largest(judged)
    assert len(judged) == 8 and mean < 0.036 and largest < 0.088
    assert 0.9 < factor < 1.1


def test_table_1_of_2104_04473():
    judged, factor = validate.judged_megatron()
    assert len(judged) == 10 and mean_and_largest(judged)[1] < 0.08
    assert 0.9 < factor < 1.1


def test_llama_3s_first_row_is_judged_by_the_others_and_its_second_sets_nothing():
    first, second, _ = judged_llama3()
    assert -0.13 < first.error < first.row.error(H100) < 0 and -0.11 < second.error < 0


def test_fsdp_by_torchtitans_rows():
    """None has set anything. All are faster in the model, which knows neither unfused kernels nor
    devices that are short of power."""
    rows = torchtitan()
    assert len(rows) == 10 and not any(row.sets for row in rows)
    for row in rows:
        name = row.row.name
        assert (abs(row.error) > 0.15) == bool(row.missed), (name, row.error)
        least = -0.35 if "eager" in name else -0.25 if "float8" not in name else -0.29
        assert least < row.error < -0.12, name
    slower = {"fused": 0.35, "matmul": H100.matmul * (500 / 700) ** (1 / 3)}
    for row in rows:  # what the reasons say: FlashAttention-2's share, and clocks at 500 W
        error = row.row.error(replace(row.machine, **slower))
        assert error > -0.19 or "eager" in row.row.name, (row.row.name, error)
    assert 16384 / rows[0].row.seconds == pytest.approx(5762)  # two sequences of 8,192 a GPU
    without, chunks = (row.row.predicted(row.machine) for row in rows[-2:])
    assert chunks / without == pytest.approx(100 / 128, rel=0.04)  # what two chunks bring


def test_single_layers_within_a_tenth():
    for name, model, layout, forward, backward in layers():
        go, back = layer_seconds(model, layout, A100)
        assert go.total == pytest.approx(forward, rel=0.1), name
        assert back.total == pytest.approx(backward, rel=0.1), name


def test_every_measured_run_fits_into_its_memory():
    for row in [*vtrain(), *megatron(), *recomputation()]:
        assert memory(row.model, row.layout).total < 80e9, row.layout


def test_a_row_is_not_judged_by_itself():
    """A row that is wrong must not pull its own judgement: ten times as long, -90 %."""
    rows = vtrain()[:60:2]
    wrong = [*rows[:-1], replace(rows[-1], seconds=10 * rows[-1].seconds)]
    assert fold_errors(A100_HALF, wrong, folds=2)[-1] < -0.85


def test_the_fit_finds_constants_that_are_known():
    """Times made by the model itself with other constants: the fit must find those."""
    values = [value * (1.1 if i % 2 else 0.95) for i, (value, _) in enumerate(EXPECTED.values())]
    made = with_constants(A100_HALF, values)
    rows = [replace(row, seconds=row.predicted(made)) for row in vtrain()]
    found = fit(A100_HALF, rows)
    assert max(abs(row.error(found)) for row in rows) < 0.02
    for name in ("matmul", "launch"):
        assert constants(found)[name] == pytest.approx(constants(made)[name], rel=0.03)


def test_the_page_says_what_the_code_says():
    text = PAGE.read_text(encoding="utf-8")
    pages = validate.judged_recomputation()[0], validate.judged_megatron()[0]
    for judged in pages:
        for j in judged:
            assert f"| {j.row.name} | {j.row.layout.gpus} |" in text
            assert f"| {j.predicted:.4g} | {j.error:+.1%} |" in text
    mean, largest = mean_and_largest(held_out()[0])
    assert "| FLOPs x one factor |" in text
    assert f"| vTrain, one node | 120 | {mean:.1%} | {largest:.1%} |" in text


def test_rows_of_your_own(tmp_path, capsys):
    row = "64,512,4,3072,32,30,2048,2,32,1,4078.2"
    path = tmp_path / "rows.csv"
    path.write_text(
        f"# a comment\ngpus,global_batch,...\n{row}\n8 2 1 2048 16 12 1024 2 1 4 63.1\n"
    )
    validate.main([str(path)])
    said = capsys.readouterr().out
    assert "64 GPUs" in said and "one node: 1 rows" in said and "several nodes: 1 rows" in said
    with pytest.raises(ValueError, match="'12 x' is not a row: write batch"):
        read_rows(["12 x"])
    path.write_text("nothing\n")
    with pytest.raises(ValueError, match="holds no row"):
        validate.main([str(path)])


def test_the_h100_has_the_constants_that_its_rows_give():
    rows, found = rows_that_set(), machine_without()
    assert [*map(len, rows.values())] == [4, 1, 2] and [*rows] == ["matmul", "fused", "hidden"]
    for name in rows:
        assert getattr(H100, name) == pytest.approx(getattr(found, name), rel=0.01), name
    assert [row.name for row in rows["matmul"]] == [
        *("405B on 8,192 GPUs", "Qwen3 235B-A22B", "Mixtral 8x7B", "Mixtral 8x22B")
    ]
    errors = [row.error(H100) for row in rows["matmul"]]
    assert max(map(abs, errors)) < 0.12 and min(errors) < 0 < max(errors)
    beside, apart = rows["hidden"]
    shorter = beside.predicted(H100) / apart.predicted(H100)
    assert shorter == pytest.approx(17.6 / 19.7, rel=0.001)


def test_a_row_that_sets_matmul_is_judged_without_itself():
    """Its own pull would bring it nearer."""
    for row in judged_apart(experts()):
        if row.sets == "matmul":
            others = machine_without(row.row.name)
            assert row.machine == others
            assert abs(others.matmul - machine_without().matmul) > 0.001, row.row.name
            assert abs(row.error) > abs(row.row.error(machine_without())), row.row.name


def test_rows_of_experts_are_within_15_percent_or_say_why_not():
    rows = judged_apart(experts())
    assert [row.sets for row in rows if row.sets] == ["matmul", "hidden", "matmul", "matmul"]
    for row in [*rows, *eight_bits()]:
        assert (abs(row.error) > 0.15) == bool(row.missed), (row.row.name, row.figure, row.error)
    assert sum(not row.missed for row in rows) >= 8
    assert sum(abs(row.error) < 0.24 for row in rows) == len(rows) - 1
    deepseek = [row for row in rows if row.row.name == "DeepSeek-V3"]
    assert [row.machine.name for row in deepseek] == ["H800", "H100"]
    assert not any(row.sets for row in deepseek)
    assert -0.2 < deepseek[0].error and abs(deepseek[1].error) < 0.08


def test_dense_models_in_8_bits_set_nothing():
    rows = eight_bits()
    assert len(rows) == 6 and not any(row.sets for row in rows)
    assert sum(abs(row.error) for row in rows) / len(rows) < 0.09
    for row in rows:  # in 16 bits they'd be far off
        slow = replace(row.row, layout=replace(row.row.layout, fp8=False))
        assert slow.error(row.machine) > row.error + 0.35


def test_rows_of_long_sequences():
    rows = long_context()
    assert [row.sets for row in rows] == ["", "", "", "", "fused"]
    assert max(abs(row.error) for row in rows) < 0.12
    assert sum(abs(row.error) < 0.08 for row in rows) == 4
    full = llama3("full")[2]
    assert full.error(H100) < -0.2  # Llama 3's paper counts the causal half


def test_a_rate_counts_the_operations_that_its_source_counts():
    """The source prints both: 245 TFLOP/s and 19.7 s."""
    (row,) = (each for each in experts() if each.figure == 19.7)
    work = flops(row.row.model, 2048, 4096, "causal").model
    assert work / 256 / 19.7 / 1e12 == pytest.approx(245, rel=0.01)
    assert row.row.seconds == 19.7
    assert row.predicted == pytest.approx(row.figure * (1 + row.error))


def test_lesson_17_counts_the_runs_on_newer_machines():
    """And lesson 19's last paragraph: two thirds of the larger runs are within a tenth."""
    entries = tables()
    errors = [j.error for entry in entries[4:] for j in entry.rows]
    within = sum(abs(error) <= 0.15 for error in errors)
    assert f"Of {len(errors)} runs on H100s and H800s" in LESSON
    assert f"predicts {within} to within 15 %, and one takes more than twice as long" in LESSON
    assert sum(error < -0.5 for error in errors) == 1
    many = [abs(j.error) for entry in entries for j in entry.rows if j.row.layout.gpus >= 64]
    assert sum(error < 0.1 for error in many) / len(many) == pytest.approx(2 / 3, abs=0.03)


def test_the_page_says_where_one_factor_for_the_flops_does_better():
    said = better(tables())
    assert said in PAGE.read_text(encoding="utf-8")
    assert re.findall(r'^  "(\w+)', said, re.M) == ["Llama", "torchtitan", "Dense"]
    rival, scaled = re.findall(r"\((.+)% a", said), re.findall(r"([\d.]+)%(?:,| away)", said)
    assert [float(a) > float(b) for a, b in zip(rival, scaled, strict=True)] == [True, True, False]


def test_kernels_that_deepseek_published():
    for *_, published, rate in newer.fp8_products():
        assert rate == pytest.approx(published, rel=0.12)
    for _, published, rate, _ in newer.dispatches():
        assert rate == pytest.approx(published, rel=0.1)


def test_the_page_has_every_newer_row_and_what_it_assumes():
    text = PAGE.read_text(encoding="utf-8")
    for row in [*torchtitan(), *judged_apart(experts()), *eight_bits(), *long_context()]:
        constant = newer.role(row)
        assert f"| {row.error:+.1%} | {constant} | {row.assumed} |" in text
        assert row.missed in text
    assert newer.assumptions() in text and newer.kernels() in text and newer_constants() in text
    assert newer.deepseek_changed(experts()[0]) in text


def test_each_assumption_of_a_best_row_matters():
    """Each moves the step of Llama 3, and of DeepSeek-V3, by a few percent or more."""
    said = newer.assumptions() + newer.deepseek_changed(experts()[0])
    errors = [float(line.split("|")[-2].strip(" %")) for line in said.splitlines() if "%" in line]
    llama, deepseek = errors[:5], errors[5:]
    assert len(deepseek) == 7 and errors[0] == pytest.approx(-10.1)
    assert llama[1] - llama[0] == pytest.approx(6.8, abs=0.2)  # 4 chunks instead of 8
    assert llama[2] - llama[0] == pytest.approx(98.8, abs=1)  # 1 chunk
    assert min(abs(error - deepseek[0]) for error in deepseek[1:]) > 1.5
