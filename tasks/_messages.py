"""What the tasks on messages share: what a rank sends and receives, listed as plain data."""

import contextlib
import sys
from unittest import mock

import torch
import torch.distributed as dist

from helpers.hang.monitor import NoSuchRank, the_monitor

BATCH = "batch_isend_irecv"


class Refused(Exception):
    """A call that doesn't begin, as nobody would answer it."""


@contextlib.contextmanager
def noted(alone=False):
    """While the body runs, list this rank's calls; leave the body at one that doesn't begin.

    A message is {"call", "to" or "from", "bytes", "batch", "awaited"}, a collective {"call"}. A
    collective doesn't begin, for other ranks may take no part in this case; if the rank is alone,
    no message does either.
    """
    watch, calls, messages, begun = the_monitor(), [], [], []
    note, waiting, remember = watch.note, watch.waiting, watch.remember

    def note_too(operation):
        call = {"call": operation.name}
        calls.append(call)
        if operation.collective or alone:
            raise Refused
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_name != BATCH:
            frame = frame.f_back
        call["to" if operation.sends else "from"] = operation.peer
        call["bytes"] = operation.count * getattr(torch, operation.dtype or "uint8").itemsize
        call |= {"batch": frame is not None, "awaited": False}
        messages.append((operation, call))
        note(operation)

    def waiting_too(operation, *since):
        known = any(other is operation for _, other in begun)  # else it's only being handed over
        for other, call in messages:
            call["awaited"] = call["awaited"] or (known and other is operation)
        return waiting(operation, *since)

    def remember_too(work, operation):
        begun.append((work, operation))  # or a message that nobody waits for might never arrive
        return remember(work, operation)

    watch.note, watch.waiting, watch.remember = note_too, waiting_too, remember_too
    try:
        yield calls
    except Refused:
        return
    except NoSuchRank as nobody:
        if not alone:
            raise
        calls.append({"call": str(nobody)})
        return
    finally:
        del watch.note, watch.waiting, watch.remember
    late = [id(operation) for operation, call in messages if not call["awaited"]]
    for work, operation in begun:
        if id(operation) in late:
            work.wait()


@contextlib.contextmanager
def world_of(ranks):
    """While the body runs, torch says that there are so many ranks; the others take no part."""
    with mock.patch.object(dist, "get_world_size", lambda group=None: ranks):
        yield
