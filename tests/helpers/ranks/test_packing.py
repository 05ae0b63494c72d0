"""A function that cannot be sent is refused with the name of what stops it."""

import pickle
import threading

import pytest

from helpers.ranks.job import pack
from helpers.ranks.start import CannotSend, pack_call

pytestmark = pytest.mark.ranks


def refusal(function, *arguments) -> str:
    with pytest.raises(CannotSend) as caught:
        pack_call(function, arguments)
    return str(caught.value)


def test_an_open_file(tmp_path):
    with open(tmp_path / "log.txt", "w") as log:

        def train():
            log.write("x")

        said = refusal(train)
    assert said.startswith("train() cannot be sent to the ranks, because it uses 'log': ")
    assert "open the file inside the function instead" in said


def test_a_lock():
    lock = threading.Lock()

    def train():
        with lock:
            pass

    assert "it uses 'lock': it is a lock" in refusal(train)


def test_an_argument():
    def train(numbers):
        return numbers

    said = refusal(train, (n for n in range(3)))
    assert said.startswith("argument 1 of train() cannot be sent to the ranks: it is a generator")


def test_the_call_in_place_of_the_function():
    assert "launch() needs a function, not a NoneType" in refusal(None)


def test_code_comes_back_with_the_name_of_its_file():
    """The line of a rank that fails is read from that file, whatever cloudpickle makes of it."""

    def outer():
        return lambda: None

    back = pickle.loads(pack(outer))
    assert back.__code__.co_filename == back().__code__.co_filename == __file__
