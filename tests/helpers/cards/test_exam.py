"""Exams: what a solution says follows from what its question gives."""

import re
from functools import cache
from html import unescape

import pytest

from helpers.cards.__main__ import main
from helpers.cards.exam import exam, parts

SEEDS = [str(seed) for seed in range(25)]


@cache
def variant(seed: str) -> list:
    return parts(seed)


def drawn(seed: str, title: str) -> tuple[str, str]:
    part = next(part for part in variant(seed) if part.title == title)
    plain = (unescape(re.sub(r"<[^>]+>", " ", text)) for text in (part.text, part.solution))
    return tuple(plain)


def numbers(text: str, *patterns: str) -> list[float]:
    return [float(re.search(pattern, text)[1].replace(",", "")) for pattern in patterns]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_reduce(seed):
    text, solution = drawn(seed, "All-reduce")
    n, size, rate, alpha = numbers(text, r"(\d+) ranks", r"(\d+) MB", r"(\d+) GB/s", r"(\d+) µs")
    seconds = 2 * (n - 1) * (alpha * 1e-6 + size * 1e6 / n / (rate * 1e9))  # step by step
    (took,) = numbers(solution, r"= ([\d.]+) ms")
    assert took == pytest.approx(1e3 * seconds, rel=2e-3)
    (equal,) = numbers(solution, r"S = n · α · B = ([\d.]+) MB")
    assert equal * 1e6 / n / (rate * 1e9) == pytest.approx(alpha * 1e-6, rel=5e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_when_a_message_hides(seed):
    text, solution = drawn(seed, "When does a message hide?")
    flops, link, tokens = numbers(text, r"(\d+) TFLOP", r"(\d+) GB/s", r"has (\d+) tokens")
    (bound,) = numbers(solution, r"F/B = ([\d,]+) tokens")
    backward = 4 * 1e9 * bound / (flops * 1e12)  # of a billion parameters
    assert backward == pytest.approx(4 * 1e9 / (link * 1e9), rel=1e-3)
    (left,) = numbers(solution, r"and (\d+)% of it is left over")
    assert left == pytest.approx(100 * max(0, 1 - tokens / bound), abs=0.6)


@pytest.mark.parametrize("seed", SEEDS)
def test_memory(seed):
    text, solution = drawn(seed, "Memory")
    billions, gpus = numbers(text, r"(\d+) billion", r"on (\d+) GPUs")
    one, two, three = numbers(solution, *(rf"ZeRO-{s} ([\d.]+) GB" for s in (1, 2, 3)))
    assert one == pytest.approx(billions * (4 + 12 / gpus), rel=1e-3)
    assert two == pytest.approx(billions * (2 + 14 / gpus), rel=1e-3)
    assert three == pytest.approx(billions * 16 / gpus, rel=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pipeline(seed):
    from helpers.schedules import gpipe, one_f_one_b
    from helpers.simulate import Costs, simulate

    text, solution = drawn(seed, "A pipeline")
    p, m, f = map(int, numbers(text, r"(\d+) stages", r"(\d+) micro", r"forward (\d+) ms"))
    step, share = numbers(solution, r"= (\d+) ms", r"= ([\d.]+)%")
    for build in (gpipe, one_f_one_b):
        done = simulate(build(p, m), Costs(f, f, f, activation_bytes=1))
        assert done.step_time == step and 100 * done.bubble() == pytest.approx(share, abs=0.06)
    kept = ", ".join(f"{each:g}" for each in done.peak_memory)
    assert f"1F1B {kept}." in solution


def test_variants_differ_and_have_a_hundred_points():
    for seed in SEEDS:
        assert sum(part.points for part in variant(seed)) == 100
    assert exam("A", False) != exam("B", False) != exam("B", False, "secret")
    assert len({part.text for seed in SEEDS for part in variant(seed)}) > 100


def test_the_questions_hold_no_solution(tmp_path):
    assert main(["exam", "--seed", "A", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "exam_A.html").read_text(encoding="utf-8")
    assert "class=right" not in page and page.count("<article>") == 7
    for part in parts("A"):
        assert part.solution not in page
