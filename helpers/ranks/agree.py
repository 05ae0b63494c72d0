"""Ranks that nobody counted agree before they connect, through notes in their store.

torch waits, silently and for many minutes, if a rank is missing, was started twice, or has another
world size. Ranks of one launch() were handed their places and need none of this.
"""

import os
import secrets
import socket
import time
from datetime import timedelta

from helpers.hang.notes import Notes
from helpers.ranks.store import (
    HERE,
    SAY_AFTER_S,
    ConnectError,
    Place,
    all_here,
    first_line,
    serve_store,
)
from helpers.words import names

LINGER_S = 10.0  # how long rank 0 serves the store after an error, so that the others read it
READ_S = 1.0  # and no longer than this once every rank that arrived has read it
PORT = "lab/port"  # the note under torchrun: where rank 0 serves this attempt's store


def agree(store, place: Place, backend: str, timeout: float) -> None:
    """Return once all ranks have arrived at the store and agree; `check_ranks_agree` says when.

    Raises:
        ConnectError: if they don't; rank 0 goes on serving the store until the others know why.
    """
    store.add("arrived", 1)
    try:
        check_ranks_agree(Notes(store), place, backend, timeout)
    except ConnectError:
        _linger_for_readers(store, place)
        raise


def check_ranks_agree(notes: Notes, place: Place, backend: str, timeout: float) -> None:
    """Return once every rank has arrived, exactly once, with the same world size and backend.

    A rank that finds a mistake leaves it in the store, so that all ranks end with the same
    sentence instead of waiting for each other.

    Raises:
        ConnectError: if the ranks disagree, one was started twice, or one did not come in time.
    """

    def fail(sentence: str) -> None:
        notes.leave("mistake", sentence)
        raise ConnectError(sentence)

    # The first rank to arrive writes its terms, and the others compare theirs with them.
    mine = [place.world_size, backend, place.rank]
    size, theirs, whose = notes.leave_first("terms", mine)
    if place.world_size != size:
        fail(
            f"the ranks disagree about the world size: rank {whose} has {size} and rank "
            f"{place.rank} has {place.world_size}; start every rank with the same number"
        )
    if backend != theirs:
        fail(
            f"the ranks disagree about the backend: rank {whose} takes {theirs} and rank "
            f"{place.rank} takes {backend}; name one for all with --backend"
        )
    me = secrets.token_hex(8)
    if notes.leave_first(_came(place.rank), me) != me:
        fail(
            f"rank {place.rank} was started twice: give each process a rank of its own, "
            f"from 0 to {place.world_size - 1}"
        )
    begun, said = time.monotonic(), False
    while notes.look([_came(rank) for rank in range(place.world_size)]) is None:
        if mistake := notes.look(["mistake"]):
            raise ConnectError(*mistake)
        waited = time.monotonic() - begun
        missing = [rank for rank in range(place.world_size) if not notes.look([_came(rank)])]
        if waited > SAY_AFTER_S and not said and missing:
            said = True
            print(f"[ranks] rank {place.rank} waits for {names(missing)}", flush=True)
        if waited > timeout and missing:
            fail(f"after {timeout:.0f} s {names(missing)} did not come")
        time.sleep(0.01 if waited < 1 else 0.1)
    if mistake := notes.look(["mistake"]):
        raise ConnectError(*mistake)


def _came(rank: int) -> str:
    return f"came/{rank}"


def _linger_for_readers(store, place: Place) -> None:
    """Keep rank 0, which serves the store, alive until the others have read what went wrong."""
    store.add("read", 1)
    begun = time.monotonic()
    while place.rank == 0 and "LAB_STORE_PORT" not in os.environ:
        waited = time.monotonic() - begun
        all_know = store.add("read", 0) >= store.add("arrived", 0)
        if waited > LINGER_S or (all_know and waited > READ_S):
            return
        time.sleep(0.02)


def store_of_this_attempt(place: Place, timeout: float):
    """Open a store that no earlier attempt has written to: rank 0 serves it and leaves its port.

    torchrun keeps one store for all attempts. After a restart gloo would find the addresses of dead
    ranks in it, and call them (pytorch issue 135712). TORCHELASTIC_RESTART_COUNT can't tell the
    attempts apart, because each machine has its own count.
    """
    import torch.distributed as dist

    wait, begun = timedelta(seconds=timeout), time.monotonic()
    kept = dist.TCPStore(place.address, place.port, is_master=False, timeout=wait)
    notes, address = Notes(kept), HERE if all_here(place) else place.address
    if place.rank == 0:
        store = serve_store(address, timeout=wait)
        notes.leave(PORT, store.port)
        return store
    while True:
        [port] = notes.read([PORT])
        try:
            socket.create_connection((address, port), timeout=5).close()
            return dist.TCPStore(address, port, is_master=False, timeout=wait)
        except (OSError, dist.DistError) as error:  # the port of the previous attempt
            if time.monotonic() - begun > timeout:
                raise ConnectError(
                    f"rank {place.rank} waited {timeout:.0f} s for the store of rank 0 at "
                    f"{address}:{port}: {first_line(error)}"
                ) from None
        time.sleep(0.05)
