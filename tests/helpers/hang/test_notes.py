"""Notes in torch's store: they arrive as they were left, and nothing in them runs."""

import json
import pickle
import threading
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch

from helpers.hang.notes import Notes, pack, unpack
from helpers.hang.operation import Operation
from helpers.ranks.store import HERE, serve_store

pytestmark = pytest.mark.ranks

SEND = Operation("send", 0, 1, "0", (0, 1), 3, 7, (4, 3), "float32", "", ("a.py", 4, "f"), 2, False)


@pytest.fixture
def store():
    return serve_store(HERE)


@pytest.mark.parametrize(
    "operation",
    [SEND, replace(SEND, peer=None), Operation("barrier", 1), replace(SEND, shape=(), dtype="")],
)
def test_an_operation_travels_as_json(operation):
    assert unpack(json.loads(json.dumps(pack(operation)))) == operation


def test_numbers_of_numpy_and_torch_travel_too(store):
    Notes(store).leave("a", pack(replace(SEND, peer=numpy.int64(1), tag=torch.tensor(7))))
    assert [unpack(note) for note in Notes(store).look(["a"])] == [SEND]


def test_the_first_note_stays(store):
    assert Notes(store).leave_first("a", "mine") == "mine"
    assert Notes(store).leave_first("a", "yours") == "mine"


def test_a_thread_that_waits_leaves_the_others_alone(store):
    notes, read = Notes(store), []
    waits = threading.Thread(target=lambda: read.extend(notes.read(["late"])))
    waits.start()
    others = threading.Thread(target=notes.leave, args=("early", "yes"))
    others.start()
    others.join()
    assert notes.read(["early"]) == ["yes"] and waits.is_alive()
    notes.leave("late", "at last")
    waits.join()
    assert read == ["at last"]


class Evil:
    """Runs code where it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_what_a_stranger_writes_is_an_error_and_never_runs(store, tmp_path):
    store.set("a", pickle.dumps(Evil(tmp_path / "executed")))
    with pytest.raises(ValueError):
        Notes(store).read(["a"])
    assert not (tmp_path / "executed").exists()
