"""Messages with their length in front, over a pipe between a judge and a workshop."""

import os
import struct

LENGTH = struct.Struct(">Q")


def send_bytes(descriptor: int, body: bytes) -> None:
    """Write one message; raise OSError if its reader has gone."""
    data = memoryview(LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data[: 1 << 20]) :]


def receive_bytes(descriptor: int) -> bytearray:
    """Read one message; raise EOFError if the writer has gone."""
    (length,) = LENGTH.unpack(_exactly(descriptor, LENGTH.size))
    return _exactly(descriptor, length)


def _exactly(descriptor: int, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count:
        part = os.read(descriptor, min(count - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return data
