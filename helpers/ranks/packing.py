"""Pickle functions by value, with the name of the file in which each was written."""

import functools
import io
from collections import ChainMap
from collections.abc import Callable
from types import CodeType
from typing import Any


def pack(value: Any) -> bytes:
    """Pickle a value as cloudpickle does; what `pickle.loads` makes of it knows its lines.

    From 3.1.3 on cloudpickle calls every file "<dynamic-code>", and a rank that fails or waits
    could no longer tell its line.
    """
    file = io.BytesIO()
    _pickler()(file).dump(value)
    return file.getvalue()


@functools.cache
def _pickler() -> type:
    import cloudpickle  # when something is packed: a rank that runs one line needs none of it

    inherited = cloudpickle.CloudPickler.dispatch_table

    def reduce_code(code: CodeType) -> tuple:
        make, arguments, *_ = inherited[CodeType](code)
        return with_file, (make, arguments, code.co_filename)

    class Pickler(cloudpickle.CloudPickler):
        dispatch_table = ChainMap({CodeType: reduce_code}, inherited)

    return Pickler


def with_file(make: Callable[..., CodeType], arguments: tuple, file: str) -> CodeType:
    """Make code anew, and say which file it is from."""
    return make(*arguments).replace(co_filename=file)
