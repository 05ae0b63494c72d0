"""Arrays and facts as bytes, and every check of bytes that come from a stranger.

A payload is a safetensors file whose metadata has one entry, "facts": JSON. Neither can hold code.
"""

import json
import math
import struct

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

HEADER = 4096  # bytes of names, shapes and facts, at most


class Wrong(ValueError):
    """A message that isn't as it must be: one sentence, and the status of HTTP that fits."""

    def __init__(self, sentence: str, status: int = 400):
        super().__init__(sentence)
        self.status = status


def pack(arrays: dict[str, np.ndarray], **facts) -> bytes:
    """Return arrays and facts (plain JSON values) as bytes."""
    return save(arrays, metadata={"facts": json.dumps(facts)})


def size_of(numbers: int) -> int:
    """Return how many bytes a payload with so many float32 numbers has at most."""
    return 8 + HEADER + 4 * numbers


def unpack(data: bytes, expected: dict[str, int]) -> tuple[dict[str, np.ndarray], dict]:
    """Return the arrays and facts of a payload.

    Args:
        data: from a stranger.
        expected: {name: how many float32 numbers}; these arrays, and no others.

    Raises:
        Wrong: with what is wrong, in one sentence.
    """
    header = header_of(data)
    facts = facts_of(header)
    header.pop("__metadata__", None)
    if set(header) != set(expected):
        raise Wrong(f"it must hold the arrays {sorted(expected)}, and no others")
    for name, length in expected.items():
        if not isinstance(header[name], dict) or header[name].get("dtype") != "F32":
            raise Wrong(f"{name} must be float32")
        if header[name].get("shape") != [length]:
            raise Wrong(f"{name} must have the shape [{length}]")
    try:
        arrays = load(data)
    except (SafetensorError, ValueError, OverflowError):
        raise Wrong("the bytes of its arrays don't fit its header") from None
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise Wrong(f"{name} has numbers that aren't finite: has the training diverged?")
    return arrays, facts


def header_of(data: bytes) -> dict:
    """Return the header of a safetensors file as it stands there, a dictionary."""
    length = struct.unpack("<Q", data[:8])[0] if len(data) >= 8 else 0
    if not 0 < length <= min(HEADER, len(data) - 8):
        raise Wrong("this isn't a safetensors file, or its header is too long")
    return plain(data[8 : 8 + length])


def facts_of(header: dict) -> dict:
    """Return the facts that a header has in its metadata."""
    meta = header.get("__metadata__")
    return plain(meta.get("facts") if isinstance(meta, dict) else None)


def plain(text: bytes | str) -> dict:
    """Return a JSON object; Raises `Wrong` for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Wrong("this isn't a JSON object")
    return found


def whole(facts: dict, name: str, most: int, least: int = 0) -> int:
    """Return a fact that's a whole number between two others."""
    found = facts.get(name)
    if type(found) is not int or not least <= found <= most:
        raise Wrong(f"{name} must be a whole number from {least} to {most}")
    return found


def number(facts: dict, name: str, most: float) -> float:
    """Return a fact that's a number from 0 on."""
    found = facts.get(name)
    if type(found) not in (int, float) or not math.isfinite(found) or not 0 <= found <= most:
        raise Wrong(f"{name} must be a number from 0 to {most:g}")
    return float(found)


def text(facts: dict, name: str, most: int) -> str:
    """Return a fact that's a text of one line, and not too long."""
    found = facts.get(name)
    if not isinstance(found, str) or not 0 < len(found) <= most or not found.isprintable():
        raise Wrong(f"{name} must be a text of 1 to {most} characters, in one line")
    return found
