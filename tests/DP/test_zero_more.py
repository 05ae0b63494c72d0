"""ZeRO's peak memory, and hybrid shards beside one device."""

import memory
import peak
import pytest
import torch
import torchs_own

from helpers.ranks import launch

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


def small_peaks():
    peak.model.__defaults__ = (96, 5)
    return [max(max(v) for v in peak.watched(stage).values()) for stage in range(4)], peak.sizes()


def test_the_peak_is_what_is_kept_and_the_largest_unit():
    for found, (weights, unit) in launch(small_peaks, 2, quiet=True):
        for stage, most in enumerate(found):
            cut = [2 if stage >= first else 1 for first in (3, 2, 1)]
            keeps = weights / cut[0] + weights / cut[1] + 2 * weights / cut[2]
            assert most == pytest.approx(keeps + stage * unit, rel=0.1), stage


def test_watch_forgets_what_is_freed():
    x = torch.zeros(1000)
    with memory.Watch([x]) as watch:
        y = x + 1
        del y
        x.sum()
    first, last = watch.held[""][0], watch.held[""][-1]
    assert first == 8000 and last == 4004


def test_hybrid_shards_are_one_device_and_send_two_volumes():
    flat = launch(torchs_own.hybrid_step, 4, ((4,),), quiet=True, checked=False)
    nested = launch(torchs_own.hybrid_step, 4, ((2, 2),), quiet=True, checked=False)
    assert max(far for far, *_ in (*flat, *nested)) < 1e-12
    assert flat[0][1] == {(0, 1, 2, 3): pytest.approx(9 / 4, rel=0.05)}
    across = pytest.approx(1 / 2, rel=0.02)
    assert nested[0][1] == {(0, 1): pytest.approx(3 / 2, rel=0.05), (0, 2): across}
    assert nested[3][1] == {(2, 3): pytest.approx(3 / 2, rel=0.05), (1, 3): across}
