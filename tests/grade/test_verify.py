"""Comparing what the work did with the reference and its mutants: no process, plain data."""

import math
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch

from helpers.grade.verify import common_factor, differences, verify
from helpers.grade.verify import same as alike


def task_of(**parts) -> ModuleType:
    module = ModuleType("small_task")
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def known(right, **mutants) -> SimpleNamespace:
    """What right work and each mistake lead to in each case; `asked` says which ran on how many."""
    asked = []

    def run(cases=None, of=()):
        asked.append((cases, *of))
        return {each: mutants[each][:cases] for each in of or mutants}

    return SimpleNamespace(right=right, mutants=run, asked=asked)


SUM = known(
    [{"sum": 5}, {"sum": 8}],
    forgotten=[{"sum": 3}, {"sum": 3}],
    taken_away=[{"sum": 1}, {"sum": -2}],
)
NAN, T = float("nan"), torch.tensor


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, (2, 3)], (1, [2, 3])), (1, 1.0), (np.int64(3), 3), (0.1 + 0.2, 0.3), (NAN, NAN),
        (np.float32(2), 2.0), ({"a": [], "b": None}, {"b": None, "a": ()}), ("a", "a"),
        (T([1.0, NAN]), T([1.0, NAN])), (torch.zeros(0), torch.zeros(0)), (b"a", b"a"),
        (T([1e3, 1e-4]), T([1e3, 2e-4])), (T([1.0]), T([1.0 + 1e-6])),
        ({"a": 1, "_seen": 2}, {"a": 1, "_seen": [3]}), ({"a": 1, "_seen": 2}, {"a": 1}),
    ],
)  # fmt: skip
def test_alike(one, other):
    assert list(differences(one, other)) == []


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (1, True, "True in place of 1"), (None, 0, "0 in place of None"), ("1", 1, "1 in place"),
        (0.0, NAN, "nan in place of 0"), ([1, 2], [1], "1 entries in place of 2"),
        ([1, 2], 3, "3 in place of a list of 2"), ({"a": 1}, [1], "in place of a dict"),
        ([{"a": 1}], ["return a dict"], "number 0: return a dict"),
        ({"a": 1}, {}, "a: is missing"), ({}, {"a": 1}, "a: should not be there"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a, number 1, b: 3 in place of 2"),
        (T([-math.inf, 1.0]), T([-math.inf, 2.0]), "2 in place of 1 at (1,)"),
        (T([-math.inf, 1.0]), T([-9e9, 1.0]), "in place of -inf at (0,)"),
        (T([1.0]), T([NAN]), "nan in place of 1 at (0,)"), (T(1.0), T(2.0), "2 in place of 1"),
        (torch.zeros(2, 3), torch.zeros(3, 2), "has the shape (3, 2) in place of (2, 3)"),
        (T([1.0]), T([1.0], dtype=torch.float64), "has the dtype float64 in place of float32"),
        (T([[1.0, 2.0]]), T([[1.0, 2.1]]), "2.1 in place of 2 at (0, 1)"), (T(1.0), 1.0, "tensor"),
        (T([1, 2]), T([1, 3]), "3 in place of 2 at (1,)"), (1, "x" * 99, "…"),
        (1, object(), "object"),
    ],
)  # fmt: skip
def test_different(one, other, words):
    found = list(differences(one, other))
    assert len(found) == 1 and words in found[0]


def test_tolerance():
    assert alike(1.0, 1.05, 0.1) and not alike(1.0, 1.05)
    assert alike(T([1.0, 2.0]), T([1.05, 2.05]), 0.1) and alike({"a": [1.0]}, {"a": [1.05]}, 0.1)
    assert alike(T([1.0], dtype=torch.bfloat16), T([1.01], dtype=torch.bfloat16))


def test_common_factor():
    right = {"a": T([1.0, 2.0]), "b": [3, 0.0], "_seen": 7}
    found = {"a": T([4.0, 8.0]), "b": [12, 0], "_seen": "text"}
    assert common_factor(right, found) == pytest.approx(4)
    for other in (
        {"a": T([4.0, 8.0]), "b": [12, 1]}, right, {"a": T([1.0]), "b": [3, 0]}, {"a": 1},
        {"a": T([4.0, 8.0]), "b": T([12, 0])}, {"a": T([4.0, 8.0]), "b": [T([12, 0]), 0]},
        {"a": T([NAN, NAN]), "b": [NAN, 0]}, {"a": T([0.0, 0.0]), "b": [0, 0]},
    ):  # fmt: skip
        assert common_factor(right, other) is None


def test_verify_says_nothing_names_the_mistake_or_says_where():
    def said(seen, reference=SUM):
        return verify(task_of(), list(range(len(reference.right))), seen, reference=reference)

    assert said([{"sum": 5}, {"sum": 8}]) is None
    assert said([{"sum": 3}, {"sum": 3}]).startswith("forgotten (sum: 3 in place of 5")
    assert said([{"sum": 5}, {"sum": -2}]).startswith("taken_away (")  # of the wrong cases alone
    assert said([{"sum": 7}, {"sum": 8}]).startswith("sum: 7 in place of 5")
    assert "every number is 2 times what it should be" in said([{"sum": 10}] * 2)
    assert said([{"sum": 5}]) == "results came back for 1 of 2 cases"
    # Where two mistakes explain the first wrong case, the one that explains more of them is named.
    two = known([9, 9], a=[3, 3], b=[3, 1])
    assert said([3, 1], two).startswith("b (") and said([3, 3], two).startswith("a (")
    # The others run on no more cases than the first wrong one, and on the right ones before it.
    three = known([9, 9, 9], a=[9, 3, 3], b=[9, 3, 1], c=[9, 4, 1])
    assert said([9, 3, 1], three).startswith("b (") and three.asked == [(2,), (3, "a", "b")]
    assert said([7, 9], two) == "7 in place of 9"  # of one number there is no factor


def test_verify_uses_the_words_of_the_task():
    named = task_of(
        name=lambda case: case and f"{case} hosts",
        explain=lambda case, seen: "nobody answered" if seen is None else None,
    )
    assert verify(named, [3], [None], reference=known([[3, 3]])) == "3 hosts: nobody answered"
    told = verify(named, [3], [[3, 4]], ranks=2, reference=known([[3, 3]]))
    assert told == "3 hosts: rank 1: 4 in place of 3"
    assert verify(named, [0], [None], reference=known([1])) == "nobody answered"
    many = task_of(explain=lambda case, seen: None if sorted(seen) == case else "one is missing")
    assert verify(many, [[1, 2]], [[2, 1]]) is None
    assert verify(many, [[1], [1, 2]], [[1], [2]]) == "one is missing"
    assert verify(task_of(TOLERANCE=0.1), [0], [1.05], reference=known([1.0])) is None
