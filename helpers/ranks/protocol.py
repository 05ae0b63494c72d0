"""How the notebook and its ranks talk: messages with a length in front, over a pipe.

A rank has three pipes, so that nothing that the student prints can be taken for a result:

    stdin    orders, from the notebook to the rank; its end means that the notebook is gone
    stdout   news, from the rank to the notebook: a result, an error, a stack
    stderr   text: whatever the rank prints, on stdout or stderr, from Python or from C++
"""

import os
import pickle
import struct
from typing import Any

LENGTH = struct.Struct(">Q")


def send(descriptor: int, message: Any) -> None:
    """Write one message to a pipe.  Raises OSError where nobody reads any more."""
    send_bytes(descriptor, pickle.dumps(message))


def send_bytes(descriptor: int, body: bytes) -> None:
    """The same for what is bytes already."""
    data = memoryview(LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data[: 1 << 20]) :]


def receive(descriptor: int) -> Any:
    """Read one message; raises EOFError where the other side has ended."""
    (length,) = LENGTH.unpack(_exactly(descriptor, LENGTH.size))
    return pickle.loads(_exactly(descriptor, length))


def _exactly(descriptor: int, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        # os.read on the bare descriptor: a buffered reader's lock could block the end of Python.
        part = os.read(descriptor, min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return data
