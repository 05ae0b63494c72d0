"""Notes in a store that everybody may write into: what isn't signed by a rank doesn't count."""

import json
import os
import pickle
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy
import pytest
import torch
import torch.distributed as dist

from helpers.hang.notes import FIELDS, Notes, pack, text, unpack
from helpers.hang.operation import Operation
from helpers.ranks import launch
from helpers.ranks.store import HERE, serve_store

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


@pytest.mark.parametrize("place", range(len(FIELDS)), ids=FIELDS)
@pytest.mark.parametrize("odd", [None, 1.5, {}, [[]], "x", [1, "x"], -1], ids=repr)
def test_a_fact_of_another_type_is_refused(place, odd):
    facts = json.loads(json.dumps(pack(SEND)))
    facts[place] = odd
    try:
        taken = unpack(facts)
    except ValueError:
        return
    kinds = (str, int, (int, type(None)), str, tuple, int, int, tuple, str, str, tuple, int, bool)
    kinds += (tuple, tuple)
    assert isinstance(getattr(taken, FIELDS[place]), kinds[place])


@pytest.mark.parametrize("odd", [None, {}, [], [1], "send", [None] * len(FIELDS), 7], ids=repr)
def test_what_is_no_operation_is_refused(odd):
    with pytest.raises(ValueError):
        unpack(odd)


def test_numbers_of_numpy_and_torch_travel_too(store):
    Notes(store, "k").leave("a", pack(replace(SEND, peer=numpy.int64(1), tag=torch.tensor(7))))
    assert Notes(store, "k").look(["a"], unpack) == [SEND]


def test_a_note_is_read_by_who_has_the_key(store):
    Notes(store, "ours").leave("a", "hello")
    assert Notes(store, "ours").read(["a"], text) == ["hello"]
    assert Notes(store, "another").look(["a"], text) is None
    assert Notes(store, "another").unsigned("a") and not Notes(store, "ours").unsigned("a")
    assert not Notes(store, "ours").unsigned("b")


def test_a_copy_under_another_name_does_not_count(store):
    Notes(store, "ours").leave("a", "hello")
    store.set("b", store.get("a"))
    assert Notes(store, "ours").look(["b"], text) is None


def test_a_note_with_one_bit_turned_does_not_count(store):
    Notes(store, "ours").leave("a", "hello")
    note = store.get("a")
    for place in range(len(note)):
        store.set("a", note[:place] + bytes([note[place] ^ 1]) + note[place + 1 :])
        assert Notes(store, "ours").look(["a"], text) is None


@pytest.mark.parametrize("odd", ["[" * 100_000, "{}", "NaN", "", "hello", "\ud800"])
def test_a_signed_note_that_says_something_else_does_not_count(store, odd):
    """As of another version of this project, or where a person has set no key."""
    notes = Notes(store, "")
    written = odd.encode(errors="surrogatepass")
    store.set("a", notes._signature("a", written) + written)
    assert notes.look(["a"], unpack) is None
    assert notes.look(["a"], text) is None


def test_the_first_note_stays_and_a_strangers_does_not(store):
    notes = Notes(store, "ours")
    store.set("a", b"first!")
    assert notes.leave_first("a", "mine", text) == "mine"
    assert Notes(store, "ours").leave_first("a", "yours", text) == "mine"


def test_waiting_for_a_note_that_a_stranger_keeps_writing_over_ends(store):
    store.set("a", b"junk")
    store.set_timeout(timedelta(seconds=0.1))
    with pytest.raises(TimeoutError):
        Notes(store, "ours").read(["a"], text)


def test_a_thread_that_waits_leaves_the_others_alone(store):
    notes, read = Notes(store, "ours"), []
    waits = threading.Thread(target=lambda: read.extend(notes.read(["late"], text)))
    waits.start()
    others = threading.Thread(target=notes.leave, args=("early", "yes"))
    others.start()
    others.join()
    assert notes.read(["early"], text) == ["yes"] and waits.is_alive()
    notes.leave("late", "at last")
    waits.join()
    assert read == ["at last"]


class Evil:
    """Runs code where it is unpickled."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_stranger_who_writes_into_the_store_of_a_launch(tmp_path):
    """Nothing of it runs, and nothing of it stops a rank."""

    def program(step: Path, executed: Path):
        rank, x = dist.get_rank(), torch.ones(2)
        dist.barrier()
        if rank == 0:
            stranger = dist.TCPStore("127.0.0.1", int(os.environ["LAB_STORE_PORT"]))
            [before] = {n.partition("check/")[0] for n in stranger.list_keys() if "check/0/" in n}
            evil = [pickle.dumps(Evil(executed)), b"", b"[" * 5000, json.dumps(pack(SEND)).encode()]
            for index in range(8):
                for other in (0, 1):
                    for name in (f"0/{index + 1}/{other}", f"0/{other}>{1 - other}/0/{index}"):
                        stranger.set(f"{before}check/{name}", evil[index % len(evil)])
            # What a rank might write, but for the key: if they counted, it would be a mistake.
            other = replace(SEND, name="recv", rank=1, peer=0, index=0, tag=0)
            for name, note in (
                ("check/0/0>1/0/0", pack(other)),
                ("check/0/1/1", [pack(replace(other, name="barrier", index=1)), 0]),
            ):
                stranger.set(before + name, Notes(stranger, "")._signed(name, note))
            for name in ("mistake", "terms", "came/0", "came/1"):
                stranger.set(name, evil[0])
            step.touch()
        while not step.exists():
            time.sleep(0.01)
        for asynchronous in (False, True, False, True):
            work = dist.all_reduce(x, async_op=asynchronous)
            if asynchronous:
                work.wait()
        if rank == 0:
            dist.isend(x, 1).wait()
        else:
            time.sleep(0.3)
            dist.recv(x, 0)
        dist.barrier()
        return x.tolist()

    step, executed = tmp_path / "written", tmp_path / "executed"
    results = launch(program, 2, (step, executed), timeout=60, quiet=True, checked=True)
    assert results == [[16.0, 16.0]] * 2
    assert not executed.exists()
