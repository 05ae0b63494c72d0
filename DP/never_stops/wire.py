"""Messages between processes: named plain values, and named arrays behind them.

    ask(address, verb="mean", step=3, gradient=array)     a question on a connection of its own
    Server(answer)                                        threads that answer questions

A message is one line of JSON and then the bytes of its arrays, so nothing in it is code.
"""

import json
import socket
import threading

import numpy as np

LONGEST = 1 << 16  # bytes of the line


class Refused(RuntimeError):
    """The other side can't do what it was asked; the text says why."""


def send(file, **message):
    """Write a message to a socket's file: arrays as they are, and the rest as JSON."""
    arrays = {name: value for name, value in message.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in message.items() if name not in arrays}
    shapes = {name: [str(array.dtype), array.size] for name, array in arrays.items()}
    file.write(json.dumps([plain, shapes]).encode() + b"\n")
    for array in arrays.values():
        file.write(array.tobytes())
    file.flush()


def receive(file):
    """Read a message. Raises ConnectionError if the other side ends before the message does."""
    line = file.readline(LONGEST)
    if not line.endswith(b"\n"):
        raise ConnectionError("the other process has ended")
    message, shapes = json.loads(line)
    for name, (dtype, size) in shapes.items():
        data = file.read(size * np.dtype(dtype).itemsize)
        if len(data) < size * np.dtype(dtype).itemsize:
            raise ConnectionError(f"the other process has ended in the middle of {name!r}")
        message[name] = np.frombuffer(data, dtype).copy()
    return message


def ask(address, patience=None, **message):
    """Send a question to (host, port) and return the answer.

    patience: seconds of silence after which to give up; None waits for as long as it takes.

    Raises:
        OSError: nobody is there, or the other side ended before it had answered.
        Refused: the answer is an error.
    """
    with socket.create_connection(address, timeout=patience) as connection:
        file = connection.makefile("rwb")
        send(file, **message)
        answer = receive(file)
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


class Server:
    """Answer questions in threads, one for each connection.

    answer(message, file): returns the answer as a dictionary, or None if it has written to `file`
    itself. What it raises as `Refused` becomes the answer; another error is kept for `check`.
    """

    def __init__(self, answer, host="127.0.0.1"):
        self.answer, self.failed = answer, None
        self.listening = socket.create_server((host, 0))
        self.address = self.listening.getsockname()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return  # closed: the end
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        try:
            with connection, connection.makefile("rwb") as file:
                try:
                    reply = self.answer(receive(file), file)
                except Refused as error:
                    reply = {"error": str(error)}
                if reply is not None:
                    send(file, **reply)
        except OSError:
            pass  # whoever asked has ended
        except Exception as error:
            self.failed = error

    def check(self):
        """Raise what has failed in a thread, where nobody would see it."""
        if self.failed:
            raise self.failed

    def close(self):
        self.listening.close()
