import pytest
import torch

from helpers.oracle import common_factor, differences
from helpers.oracle.compare import compare, distance, same

A = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
B = torch.tensor([0.5, 0.25])


def test_equal_tensors_have_no_differences():
    assert differences({"a": A, "none": None}, {"a": A.clone(), "none": None}) == []
    assert differences({"a": torch.empty(0)}, {"a": torch.empty(0)}) == []


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rounding_of_the_dtype_is_allowed_and_more_is_not(dtype):
    eps = torch.finfo(dtype).eps
    expected = torch.linspace(-1, 1, 11).to(dtype)
    near, far = (
        (expected.double() + steps * eps).to(dtype) for steps in (1, {2: 64, 4: 400, 8: 2e4}[
            expected.element_size()
        ])
    )  # fmt: skip
    assert differences({"a": expected}, {"a": near}) == []
    assert [d.kind for d in differences({"a": expected}, {"a": far})] == ["value"]


@pytest.mark.parametrize(
    ("actual", "kind", "sentence"),
    [
        ({}, "missing", "a: is None, or is not there at all"),
        ({"a": None}, "missing", "a: is None, or is not there at all"),
        ({"a": A[0]}, "shape", "a: has the shape (2,) in place of (2, 2)"),
        ({"a": A.double()}, "dtype", "a: has the dtype float64 in place of float32"),
        ({"a": A * float("nan")}, "not finite", "a: holds NaN or infinity"),
        ({"a": A + 0.5}, "value", "a: differs by up to 0.5, where the largest entry should be 4"),
        ({"a": A, "b": B}, "unexpected", "b: is there, and nobody expected it"),
    ],
)
def test_each_kind_of_difference(actual, kind, sentence):
    (found,) = differences({"a": A}, actual)
    assert (found.kind, f"{found.name}: {found.text}") == (kind, sentence)


def test_none_was_expected():
    (found,) = differences({"a": None}, {"a": A})
    assert found.text == "is there, and should be None"


def test_zeros_are_measured_by_the_largest_of_all():
    zero = torch.zeros(2)
    assert differences({"a": A, "zero": zero}, {"a": A, "zero": zero + 1e-6}) == []
    (found,) = differences({"a": A, "zero": zero}, {"a": A, "zero": zero + 1e-3})
    assert found.name == "zero"


def test_what_is_left_of_a_sum_that_cancels_is_rounding():
    noise = torch.tensor([3e-8, -1e-8])
    assert differences({"a": A, "noise": noise}, {"a": A, "noise": -noise}) == []
    assert len(differences({"noise": noise}, {"noise": -noise})) == 1
    small = torch.tensor([1e-2, 2e-2])
    assert len(differences({"a": A, "small": small}, {"a": A, "small": small + 1e-6})) == 1


@pytest.mark.parametrize("actual", [{"a": A}, {"a": A + 1}, {}, {"a": A, "b": B}, {"a": None}])
def test_same_is_no_differences(actual):
    assert same({"a": A}, actual) == (not differences({"a": A}, actual))


def test_distance():
    assert distance(A, A + torch.tensor([0.5, -1.0])) == (1.0, 4.0)
    assert distance(torch.empty(0), torch.empty(0)) == (0.0, 0.0)
    assert distance(A.int(), A.int() + 2) == (2.0, 4.0)


def test_tolerance_can_be_given():
    assert differences({"a": A}, {"a": A + 0.1}, tolerance=0.1) == []
    assert differences({"a": A}, {"a": A * (1 + 1e-6)}, tolerance=0.0) != []


def test_common_factor():
    tensors = {"a": A, "b": B}
    assert common_factor(tensors, {"a": 3 * A, "b": 3 * B}) == pytest.approx(3)
    assert common_factor(tensors, tensors) == pytest.approx(1)
    assert common_factor(tensors, {"a": 3 * A, "b": 2 * B}) is None
    assert common_factor(tensors, {"a": 3 * A}) is None
    assert common_factor(tensors, {"a": 3 * A, "b": B[:1]}) is None
    assert common_factor({"a": 0 * A}, {"a": A}) is None
    assert common_factor({}, {}) is None


def test_whole_numbers_and_broken_ones():
    assert compare(A.int(), A.int(), tolerance=1.0) is None
    assert compare(A.int(), A.int() + 1, tolerance=1.0).kind == "value"
    odd = torch.tensor([1.0, float("inf"), float("nan")])
    assert compare(odd, odd.clone()) is None
    assert compare(odd, torch.tensor([1.5, float("inf"), float("nan")])).at == (0,)
    assert compare(odd, torch.tensor([1.0, 5.0, float("nan")])).kind == "not finite"
