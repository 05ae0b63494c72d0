"""What the work answers is read as plain data: nothing in it runs."""

import json
import struct

import numpy as np
import pytest
import torch

from helpers.grade.payload import MOST_HEAD, PayloadError, pack, unpack
from helpers.grade.verify import same

ITSELF: list = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -(2**70), 2.5, float("inf"), "é\ud800", b"\0\xff", [1, [2]], (1, "a"),
        {1, 2}, {"a": 1, 5: (1, 2), (0, 1): None}, torch.randn(2, 3), torch.tensor(3.0),
        torch.empty(0, 4), torch.ones(3, dtype=torch.bfloat16), torch.tensor([True, False]),
        torch.arange(4)[::2], torch.ones(2, dtype=torch.complex64).conj(), torch.float64,
        np.arange(6).reshape(2, 3).T, np.float32(2), np.zeros((0, 2)), np.array(5),
    ],
    ids=lambda value: f"{type(value).__name__}",
)  # fmt: skip
def test_comes_back_as_it_was(value):
    found = unpack(pack(value))
    assert type(found) is type(value) and same(value, found, 0.0)


def test_only_the_numbers_of_a_parameter_travel():
    class Sneaky(torch.Tensor):
        def __eq__(self, other):
            return True

    for made in (torch.nn.Parameter(torch.ones(2)), torch.ones(2).as_subclass(Sneaky)):
        assert type(unpack(pack(made))) is torch.Tensor


@pytest.mark.parametrize(
    ("value", "words"),
    [({1: 10**5000}, "cannot be given to the check: ValueError: Exceeds"),
     (torch.ones(2, device="meta"), "cannot be given to the check: NotImplementedError"),
     (torch.eye(2).to_sparse(), "cannot be given to the check: RuntimeError"),
     *((value, "cannot be given to the check: it takes numbers, text") for value in
       (object(), len, 1j, np.array([object()]), [lambda: 1])),
     ("x" * MOST_HEAD, "^the result has more than 16 MB beside its tensors"),
     (ITSELF, "contains itself")],
)  # fmt: skip
def test_what_cannot_travel(value, words):
    with pytest.raises(PayloadError, match=words):
        pack(value)


def forged(plain, tail=b""):
    head = json.dumps(plain).encode()
    return struct.pack(">Q", len(head)) + head + tail


@pytest.mark.parametrize(
    "data",
    [
        b"", b"123", b"\xff" * 8, pack(torch.ones(3))[:-1], forged([1]), forged({"exec": "1"}),
        forged({"dict": 3}), forged({"tensor": ["float32", [2], 4]}, b"1234"),
        forged({"tensor": ["float32", [-1, -1], 4]}, b"1234"), forged({"bytes": -1}, b"1"),
        forged({"tensor": ["__class__", [1], 1]}, b"1"), forged({"dtype": "load"}),
        forged({"array": ["|O8", [1], 8]}, b"12345678"), forged({}), forged({"a": 1, "b": 2}),
        forged({"bytes": 1 << 60}), forged({"set": [{"list": []}]}),
        b"\0\0\0\0\0\0\1\0" + b"[" * 100_000, forged("x" * MOST_HEAD),
    ],
)  # fmt: skip
def test_what_is_no_payload(data):
    with pytest.raises(PayloadError, match="what came back isn't a result"):
        unpack(data)
