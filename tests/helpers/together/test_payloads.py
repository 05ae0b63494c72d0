"""What strangers send is refused with one sentence, and what's right arrives as it was."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import save

from helpers.together.payloads import HEADER, Wrong, pack, size_of, unpack


def test_a_payload_arrives_as_it_was():
    delta = np.arange(5, dtype=np.float32)
    data = pack({"delta": delta}, part=1, ticket="a")
    arrays, facts = unpack(data, {"delta": 5})
    assert (arrays["delta"] == delta).all() and facts == {"part": 1, "ticket": "a"}
    assert len(data) <= size_of(5)


def raw(header, body=b""):
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + body


FACTS = {"facts": "{}"}
GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    "data, told",
    [
        (b"", "isn't a safetensors file"),
        (b"\x80\x04\x95" + bytes(50), "isn't a safetensors file"),  # a pickle begins so
        (struct.pack("<Q", 2**63) + bytes(50), "header is too long"),
        (raw({"x": "y" * HEADER}), "header is too long"),
        (raw(b"[" * 4000), "isn't a JSON object"),
        (raw(b"[1]"), "isn't a JSON object"),
        (raw(b"{"), "isn't a JSON object"),
        (raw(b"\xff"), "isn't a JSON object"),
        (raw({"delta": GOOD}, bytes(8)), "isn't a JSON object"),  # no facts
        (raw({"__metadata__": [], "delta": GOOD}, bytes(8)), "isn't a JSON object"),
        (raw({"__metadata__": FACTS, "other": GOOD}, bytes(8)), "the arrays ['delta']"),
        (pack({"delta": np.ones(2, np.float32), "b": np.ones(1)}), "and no others"),
        (pack({"delta": np.ones(2)}), "must be float32"),
        (pack({"delta": np.ones(3, np.float32)}), "must have the shape [2]"),
        (pack({"delta": np.ones((2, 1), np.float32)}), "must have the shape [2]"),
        (raw({"__metadata__": FACTS, "delta": GOOD}, bytes(4)), "don't fit its header"),
        (raw({"__metadata__": FACTS, "delta": GOOD}, bytes(9)), "don't fit its header"),
        (
            raw({"__metadata__": FACTS, "delta": {**GOOD, "data_offsets": [0, 2**64]}}, bytes(8)),
            "don't fit its header",
        ),
        (pack({"delta": np.array([1, np.nan], np.float32)}), "aren't finite"),
        (pack({"delta": np.array([1, np.inf], np.float32)}), "aren't finite"),
        (save({"delta": np.ones(2, np.float32)}, {"facts": "1"}), "isn't a JSON object"),
    ],
)
def test_what_is_wrong_with_a_payload_is_one_sentence(data, told):
    with pytest.raises(Wrong, match=".") as caught:
        unpack(data, {"delta": 2})
    assert told in str(caught.value) and "\n" not in str(caught.value)
