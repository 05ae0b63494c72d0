"""Questions from one process to another, over the connections of Python's multiprocessing.

    ask(address, verb="mean", step=3, gradient=array)     a question on a connection of its own
    Server(answer)                                        threads that answer questions

Its sockets lie in a folder that only this user can open: whoever can write to one could run code.
"""

import threading
from contextlib import suppress
from multiprocessing.connection import Client, Listener


class Refused(RuntimeError):
    """The other side can't do what it was asked; the text says why."""


def ask(address, /, patience=None, **message):
    """Send a question and return the answer, or raise it if it is `Refused`.

    Raises OSError if nobody is there, if the other side ends before it has answered, or if it's
    silent for longer than `patience` seconds (None: forever).
    """
    with Client(address) as connection:
        connection.send(message)
        if not connection.poll(patience):
            raise TimeoutError(f"no answer in {patience} s")
        try:
            answer = connection.recv()
        except EOFError:
            raise ConnectionError("the other process has ended") from None
    if isinstance(answer, Refused):
        raise answer
    return answer


class Server:
    """Answer questions in threads, one for each connection.

    answer(connection, **message): returns the answer. What it raises as `Refused` becomes the
    answer; another error is kept for `check`.
    """

    def __init__(self, answer):
        self.answer, self.failed = answer, None
        self.listener = Listener(backlog=64)
        self.address = self.listener.address
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with suppress(OSError):  # closed: the end
            while True:
                call = (self.listener.accept(),)
                threading.Thread(target=self.talk, args=call, daemon=True).start()

    def talk(self, connection):
        with connection:
            try:
                try:
                    answer = self.answer(connection, **connection.recv())
                except Refused as error:
                    answer = error
                connection.send(answer)
            except (EOFError, OSError):
                pass  # whoever asked has ended
            except Exception as error:
                self.failed = error

    def check(self):
        """Raise what has failed in a thread, where nobody would see it."""
        if self.failed:
            raise self.failed
