"""ZeRO's peak memory, hybrid shards, and Muon's matrices owned by ranks, beside one device."""

import memory
import muon
import peak
import pytest
import torch
import torchs_own
from torch import nn

from helpers.network import Link
from helpers.ranks import find_place, launch
from helpers.trace import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

SHAPES = [(12, 12)] * 5 + [(32, 12), (12, 32)] * 3
FAST = Link(100_000)


def matrices(seed):
    draw = torch.Generator().manual_seed(seed)
    return [nn.Parameter(torch.randn(s, generator=draw, dtype=torch.double)) for s in SHAPES]


def by_muon(ranks, steps=3):
    """On a rank: the weights of one device and of ranks that own them, bytes sent, the states."""
    rank = find_place().rank
    one, cut = matrices(0), matrices(0)
    optimizer, recorder = muon.Muon(one), Recorder(rank)
    trainer = muon.ZeroMuon(cut, muon.Muon, recorder)
    for step in range(steps):
        grads = [[p.detach() for p in matrices(100 * step + r + 1)] for r in range(ranks)]
        for i, (a, b) in enumerate(zip(one, cut, strict=True)):
            a.grad, b.grad = sum(each[i] for each in grads) / ranks, grads[rank][i].clone()
        optimizer.step()
        trainer.step()
    sent = sum(e.info["bytes"] for e in recorder.trace().events) / steps
    return [p.detach() for p in one], [p.detach() for p in cut], sent, len(trainer.owned)


@pytest.mark.parametrize("ranks", [1, 3])
def test_matrices_owned_by_ranks_are_one_device(ranks):
    found = launch(by_muon, ranks, (ranks,), quiet=True)
    whole = sum(8 * p.numel() for p in matrices(0))
    for one, cut, sent, _ in found:
        assert all((a - b).abs().max() < 1e-12 for a, b in zip(one, cut, strict=True))
        assert 2 * whole <= sent < 2.3 * whole  # as ZeRO-1, and what the fullest part adds
    assert sum(owned for *_, owned in found) == len(SHAPES)


def test_muon_is_torchs():
    ours, theirs, start = matrices(0), matrices(0), matrices(0)
    one = muon.Muon(ours, lr=0.02, momentum=0.9)
    other = torch.optim.Muon(theirs, lr=0.02, momentum=0.9, weight_decay=0.0)
    for step in range(3):
        for a, b, g in zip(ours, theirs, matrices(step + 1), strict=True):
            a.grad, b.grad = g.detach().clone(), g.detach().clone()
        one.step()
        other.step()
    for a, b, begun in zip(ours, theirs, start, strict=True):
        assert (a - b).norm() < 0.05 * (a - begun).norm()  # torch multiplies in bfloat16


@pytest.mark.parametrize("shape", [(48, 12), (12, 48), (20, 20)])
def test_orthogonal_keeps_the_singular_vectors(shape):
    g = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    u, _, v = torch.linalg.svd(g, full_matrices=False)
    turned = u.T @ muon.orthogonal(g) @ v.T
    values = turned.diagonal()
    assert (turned - values.diag()).abs().max() < 1e-9
    assert 0.2 < values.min() and values.max() < 1.3


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


def hybrid(shape):
    return torchs_own.hybrid_step(shape, FAST, FAST)


def test_hybrid_shards_are_one_device_and_send_two_volumes():
    flat = launch(hybrid, 4, ((4,),), quiet=True, checked=False)
    nested = launch(hybrid, 4, ((2, 2),), quiet=True, checked=False)
    assert max(far for far, *_ in (*flat, *nested)) < 1e-12
    assert flat[0][1] == {(0, 1, 2, 3): pytest.approx(9 / 4, rel=0.05)}
    across = pytest.approx(1 / 2, rel=0.02)
    assert nested[0][1] == {(0, 1): pytest.approx(3 / 2, rel=0.05), (0, 2): across}
    assert nested[3][1] == {(2, 3): pytest.approx(3 / 2, rel=0.05), (1, 3): across}
