"""Where two observations differ is told with its place, and what is alike is not told."""

import math

import numpy as np
import pytest
import torch

from helpers.check.compare import common_factor, differences, same

NAN, T = float("nan"), torch.tensor


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ([1, (2, 3)], (1, [2, 3]), None), (1, 1.0, None), (np.int64(3), 3, None),
        (0.1 + 0.2, 0.3, None), (NAN, NAN, None), (T([1.0, NAN]), T([1.0, NAN]), None),
        ({"a": [], "b": None}, {"b": None, "a": ()}, None),
        (torch.zeros(0), torch.zeros(0), None), (T([1e3, 1e-4]), T([1e3, 2e-4]), None),
        ({"a": 1, "_seen": 2}, {"a": 1, "_seen": [3]}, None),
        ({"a": 1, "_seen": 2}, {"a": 1}, None),
        (1, True, "True in place of 1"), (None, 0, "0 in place of None"), ("1", 1, "1 in place"),
        (0.0, NAN, "nan in place of 0"), ([1, 2], [1], "1 entries in place of 2"),
        ([1, 2], 3, "3 in place of a list of 2"), ({"a": 1}, [1], "in place of a dict"),
        ([{"a": 1}], ["return a dict"], "number 0: return a dict"),
        ({"a": 1}, {}, "a: is missing"), ({}, {"a": 1}, "a: should not be there"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a, number 1, b: 3 in place of 2"),
        (T([-math.inf, 1.0]), T([-math.inf, 2.0]), "2 in place of 1 at (1,)"),
        (T([1.0]), T([NAN]), "nan in place of 1 at (0,)"), (T(1.0), T(2.0), "2 in place of 1"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "has the shape (3, 2) in place of (2, 3)"),
        (T([1.0]), T([1.0], dtype=torch.float64), "has the dtype float64 in place of float32"),
        (T([1, 2]), T([1, 3]), "3 in place of 2 at (1,)"), (1, "x" * 99, "…"),
        (T([1e3, 1.0]), T([1e3, 1.1]), "1.1 in place of 1 at (1,)"), (T(1.0), 1.0, "tensor"),
    ],
)  # fmt: skip
def test_what_differs_is_told_with_its_place_and_what_is_alike_is_not(one, other, words):
    found = list(differences(one, other))
    assert len(found) == bool(words) and all(words in each for each in found)


def test_a_tolerance_and_a_common_factor():
    assert same(1.0, 1.05, 0.1) and not same(1.0, 1.05)
    assert not same(T([200_000, 1]), T([200_001, 1]), 0.1), "of whole numbers there is none"
    assert same({"a": T([1.0, 2.0])}, {"a": T([1.05, 2.05])}, 0.1)
    right = {"a": T([1.0, 2.0]), "b": [3, 0.0], "_seen": 7}
    found = {"a": T([4.0, 8.0]), "b": [12, 0], "_seen": "text"}
    assert common_factor(right, found) == pytest.approx(4)
    for other in (found | {"b": [12, 1]}, right, {"a": T([1.0]), "b": [3, 0]}, found | {"b": []}):
        assert common_factor(right, other) is None
