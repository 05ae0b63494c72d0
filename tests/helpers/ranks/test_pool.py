"""Warm ranks: taken once, replaced, and gone when nobody wants them."""

import array
import os
import queue
import select
import socket
import time

import pytest

from helpers.ranks import launch
from helpers.ranks.forkserver import ForkServer, _fresh_server, possible
from helpers.ranks.pool import Pool, keep_warm, rank_environment

pytestmark = [pytest.mark.slow, pytest.mark.ranks]


@pytest.fixture
def pool():
    pool = Pool()
    yield pool
    pool.close()


def test_a_waiting_process_is_taken_once(pool):
    pool.size = 2
    pool.refill()
    first, second = pool._waiting
    taken = pool.take(1, queue.Queue())
    assert taken == [first]
    assert pool._waiting == [second]
    pool.refill()
    assert len(pool._waiting) == 2
    for process in taken:
        process.kill()
        process.close()


def test_a_process_that_died_while_it_waited_is_replaced(pool):
    pool.size = 1
    pool.refill()
    (dead,) = pool._waiting
    dead.process.kill()
    dead.process.wait()
    (taken,) = pool.take(1, queue.Queue())
    assert taken is not dead and taken.alive
    taken.kill()
    taken.close()


def test_none_is_kept_warm_any_longer(pool, monkeypatch):
    monkeypatch.setattr("helpers.ranks.pool.the_pool", lambda: pool)
    keep_warm(2)
    waiting = list(pool._waiting)
    assert len(waiting) == 2 and all(process.alive for process in waiting)
    keep_warm(1)  # the rest of them go on waiting
    assert all(process.alive for process in waiting)
    keep_warm(0)
    assert not any(process.alive for process in waiting)


def test_nothing_survives_from_one_launch_to_the_next(monkeypatch):
    def leave_a_mark():
        found = os.environ.get("LEFT_BEHIND"), os.environ.get("SET_LATE")
        os.environ["LEFT_BEHIND"] = "yes"
        return os.getpid(), found

    (before,) = launch(leave_a_mark, ranks=1, quiet=True)
    time.sleep(0.1)
    monkeypatch.setenv("SET_LATE", "after the rank was started")
    (after,) = launch(leave_a_mark, ranks=1, quiet=True)
    assert before[0] != after[0]
    assert after[1] == (None, "after the rank was started")


@pytest.mark.skipif(not possible(), reason="ranks are forked on Linux only")
def test_a_server_that_has_just_died_is_replaced(pool, monkeypatch):
    pool.take(1, queue.Queue())[0].kill()
    died = pool._server
    died.process.kill()
    died.process.wait()
    monkeypatch.setattr(ForkServer, "alive", property(lambda server: True))  # not noticed yet
    (rank,) = pool.take(1, queue.Queue())
    assert pool._server is not died and rank.process.poll() is None
    rank.kill()


@pytest.mark.skipif(not possible(), reason="ranks are forked on Linux only")
@pytest.mark.parametrize("killed", ["while it imports", "after it asked", "with an answer unread"])
def test_the_server_ends_without_a_word_when_its_owner_is_killed(killed, capfd):
    mine, theirs = socket.socketpair()
    server = _fresh_server(theirs, rank_environment())
    theirs.close()
    if killed != "while it imports":  # it has asked for a rank, whose pipes end with their owner
        with open(os.devnull, "r+b") as nothing:
            pipes = array.array("i", [nothing.fileno()] * 3)
            mine.sendmsg([b"f"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, pipes)])
    if killed == "with an answer unread":
        select.select([mine], [], [])
    mine.close()
    assert server.wait(timeout=120) == 0
    assert capfd.readouterr().err == ""
