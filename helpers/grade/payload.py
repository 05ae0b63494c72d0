"""Values that travel from the work to the check as plain data: reading them runs no code.

Pickle may call any function where it is read, so a result that the work has pickled could take the
judge over. A payload holds numbers, text, bytes, lists, tuples, sets, dicts, tensors and arrays;
for whatever else was sent, the reader raises PayloadError. Layout: 8 bytes for the length of a JSON
text, the text, and then the bytes of the tensors, one after the other.
"""

import json
import math
import re
import struct
from typing import Any

_LENGTH = struct.Struct(">Q")
MOST_HEAD = 1 << 24  # bytes of JSON: reading it takes many times as much memory
_NUMBERS = re.compile(r"[<>=|][biufc]\d{1,2}")  # NumPy's names of plain numbers
_DTYPES = (
    "float64 float32 float16 bfloat16 complex64 complex128 int64 int32 int16 int8 uint8 bool"
).split()


class PayloadError(ValueError):
    """A value cannot travel, or the bytes are no payload; the message says what it was."""


def pack(value: Any) -> bytes:
    """The bytes of `value`. A tensor or array travels with shape, dtype and numbers, no more."""
    blobs: list[bytes] = []
    try:
        head = json.dumps(_plain(value, blobs)).encode()
    except RecursionError:
        raise PayloadError("the result contains itself, or is nested too deep") from None
    except PayloadError:
        raise
    except Exception as error:  # a number of 5,000 digits, a tensor without numbers
        what = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise PayloadError(f"the result cannot be given to the check: {what}") from None
    if len(head) > MOST_HEAD:
        raise PayloadError(
            f"the result has more than {MOST_HEAD >> 20} MB beside its tensors and arrays"
        )
    return b"".join([_LENGTH.pack(len(head)), head, *blobs])


def unpack(data: bytes) -> Any:
    """The value that `pack` was given. Raises PayloadError for anything else."""
    try:
        (length,) = _LENGTH.unpack_from(data)
        if length > MOST_HEAD:
            raise PayloadError("what came back isn't a result (it says too much)")
        end = _LENGTH.size + length
        return _Reader(memoryview(data), end).value(json.loads(bytes(data[_LENGTH.size : end])))
    except PayloadError:
        raise
    except Exception as error:  # whatever the work has made of it
        raise PayloadError(f"what came back isn't a result ({type(error).__name__})") from None


def _plain(value: Any, blobs: list[bytes]) -> Any:
    """`value` as JSON can hold it; the numbers of tensors go to `blobs`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        pairs = [[_plain(key, blobs), _plain(item, blobs)] for key, item in value.items()]
        return {"dict": pairs}
    for kind, name in ((list, "list"), (tuple, "tuple"), (set | frozenset, "set")):
        if isinstance(value, kind):
            return {name: [_plain(item, blobs) for item in value]}
    if isinstance(value, bytes | bytearray):
        return {"bytes": _blob(bytes(value), blobs)}
    module = type(value).__module__.partition(".")[0]
    if module == "torch" or hasattr(value, "untyped_storage"):
        return _of_torch(value, blobs)
    if module == "numpy":
        return _of_numpy(value, blobs)
    for kind in (bool, int, float, str):  # an enum, or another class on top of a number
        if isinstance(value, kind):
            return kind(value)
    raise _cannot_travel(value)


def _of_torch(value: Any, blobs: list[bytes]) -> dict:
    import torch

    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    name = str(getattr(value, "dtype", "")).removeprefix("torch.")
    if name not in _DTYPES:
        raise _cannot_travel(value)
    flat = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes()
    return {"tensor": [name, list(value.shape), _blob(data, blobs)]}


def _of_numpy(value: Any, blobs: list[bytes]) -> dict:
    import numpy as np

    array = np.asarray(value)
    if not _NUMBERS.fullmatch(array.dtype.str):
        raise _cannot_travel(value)
    name = "array" if isinstance(value, np.ndarray) else "number"
    return {name: [array.dtype.str, list(array.shape), _blob(array.tobytes(), blobs)]}


def _blob(data: bytes, blobs: list[bytes]) -> int:
    blobs.append(data)
    return len(data)


def _cannot_travel(value: Any) -> PayloadError:
    return PayloadError(
        f"a result, a {type(value).__name__}, cannot be given to the check: it takes numbers, "
        "text, lists, dicts, tensors and arrays"
    )


class _Reader:
    """Reads the JSON of a payload, and takes the bytes of the tensors in their order."""

    def __init__(self, data: memoryview, start: int):
        self._data, self._place = data, start

    def value(self, plain: Any) -> Any:
        if not isinstance(plain, dict):
            if isinstance(plain, list):
                raise PayloadError("what came back isn't a result (list)")
            return plain
        ((kind, inside),) = plain.items()
        match kind:
            case "dict":
                return {self.value(key): self.value(item) for key, item in inside}
            case "list" | "tuple" | "set":
                items = [self.value(item) for item in inside]
                return {"list": list, "tuple": tuple, "set": set}[kind](items)
            case "bytes":
                return bytes(self._take(inside))
            case "dtype" if inside in _DTYPES:
                import torch

                return getattr(torch, inside)
            case "tensor" if inside[0] in _DTYPES:
                import torch

                numbers = torch.frombuffer(
                    bytearray(self._take(inside[2])) or bytearray(1), dtype=torch.uint8
                )
                return self._shaped(numbers, getattr(torch, inside[0]), inside)
            case "array" | "number" if _NUMBERS.fullmatch(inside[0]):
                import numpy as np

                found = np.frombuffer(self._take(inside[2]), np.dtype(inside[0])).copy()
                return found.reshape(inside[1]) if kind == "array" else found[0]
        raise PayloadError(f"what came back isn't a result ({kind!r:.40})")

    def _shaped(self, numbers: Any, dtype: Any, inside: list) -> Any:
        count = math.prod(inside[1]) * dtype.itemsize
        if count != inside[2] or min(inside[1], default=0) < 0:
            raise PayloadError("what came back isn't a result (a tensor of another size)")
        return numbers[:count].view(dtype).reshape(inside[1])

    def _take(self, count: int) -> memoryview:
        if not isinstance(count, int) or not 0 <= count <= len(self._data) - self._place:
            raise PayloadError("what came back isn't a result (it is cut off)")
        self._place += count
        return self._data[self._place - count : self._place]
