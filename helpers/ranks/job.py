"""What a launcher sends to a rank, and what a rank that has failed sends back."""

import functools
import io
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from helpers.hang.places import Frame
from helpers.ranks.store import Place


@dataclass
class Job:
    """What a rank needs in order to look like the process that launched it, and what it runs.

    place and environment differ from rank to rank: the supervisor fills them in.
    """

    folder: str
    path: list[str]
    place: Place | None = None
    environment: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)  # of the notebook: file name -> "cell [7]"
    sources: dict[str, str] = field(default_factory=dict)  # file name -> the text of the cell
    backend: str = "auto"
    timeout: float = 300.0
    quiet: bool = False
    checked: bool = False
    call: bytes = b""  # (function, arguments), by `pack`; or
    script: list[str] = field(default_factory=list)  # a file and its arguments


@dataclass
class Error:
    """How a program ended that raised. misfit: the kind of a `Mismatch`."""

    time: float
    kind: str
    text: str
    frames: list[Frame]
    traceback: str
    misfit: str = ""


def pack(value: Any) -> bytes:
    """Pickle functions by value, with the name of the file in which each was written.

    As cloudpickle does; but what `pickle.loads` makes of it knows its lines.
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
