"""How the notebook and its ranks talk: messages with a length in front, over a pipe.

A rank has three pipes, so that nothing that the student prints can be taken for a result:

    stdin    orders, from the notebook to the rank; its end means that the notebook is gone
    stdout   news, from the rank to the notebook: a result, an error, a stack
    stderr   text: whatever the rank prints, on stdout or stderr, from Python or from C++

The order that starts a rank's work carries a `RankContext` and a job: a `Call` or a `Script`.
"""

import functools
import io
import linecache
import os
import pickle
import runpy
import struct
import sys
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from helpers.hang import places
from helpers.ranks.store import Place

LENGTH = struct.Struct(">Q")


def send(descriptor: int, message: Any) -> None:
    """Write one message to a pipe; raise OSError if its reader has gone."""
    send_bytes(descriptor, pickle.dumps(message))


def send_bytes(descriptor: int, body: bytes) -> None:
    """Write one message that is already bytes."""
    data = memoryview(LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data[: 1 << 20]) :]


def receive(descriptor: int) -> Any:
    """Read one message; raise EOFError if the writer has gone."""
    return pickle.loads(receive_bytes(descriptor))


def receive_bytes(descriptor: int) -> bytearray:
    """Read one message that need not be pickled; raise EOFError if the writer has gone."""
    (length,) = LENGTH.unpack(_exactly(descriptor, LENGTH.size))
    return _exactly(descriptor, length)


def _exactly(descriptor: int, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        # os.read on the bare descriptor: a buffered reader's lock could block the end of Python.
        part = os.read(descriptor, min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return data


@dataclass
class RankContext:
    """What a fresh interpreter needs in order to look like the process that launched it.

    place and environment differ from rank to rank: the supervisor fills them in.
    """

    folder: str
    import_path: list[str]
    place: Place | None = None
    environment: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)  # of the notebook: file name -> "cell [7]"
    sources: dict[str, str] = field(default_factory=dict)  # file name -> the text of the cell
    backend: str = "auto"
    timeout: float = 300.0
    quiet: bool = False
    checked: bool = False

    def apply(self) -> None:
        """Adopt the environment, the folder, the import path and the notebook's cells."""
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        sys.path[:] = self.import_path
        places.CELLS.update(self.cells)
        for name, text in self.sources.items():
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)


@dataclass
class Call:
    """Call a function that was pickled by value."""

    packed: bytes  # (function, arguments), by `pack`

    def run(self) -> Any:
        function, arguments = pickle.loads(self.packed)
        return function(*arguments)


@dataclass
class Script:
    """Run a file as `python script.py` would."""

    path: str
    arguments: list[str]

    def run(self) -> None:
        sys.argv = [self.path, *self.arguments]
        sys.path.insert(0, os.path.dirname(os.path.abspath(self.path)))
        try:
            runpy.run_path(self.path, run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise


@dataclass(frozen=True)
class News:
    """An event of one rank.

    kind: "message" (value: a dict), "text" (value: bytes) or "ended" (value: the exit status).
    """

    rank: int
    kind: str
    value: Any


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
