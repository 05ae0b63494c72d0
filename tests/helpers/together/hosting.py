"""A host in a thread, plain requests to it, and learners to put beside it."""

import asyncio
import contextlib
import http.client
import json
import threading

import numpy as np

from helpers.together.lab import classroom
from helpers.together.payloads import pack
from helpers.together.roster import Roster
from helpers.together.server import Host
from helpers.together.table import Recipe, Table

CODE, PAGE = "ABCDEF", "projector"
RECIPE = Recipe("tiny", every=8, step=124, fragments=2, guard="mean", grace=0.3)


class FakeWork:
    """Stands in for the model where only the wires are tested."""

    def judge(self, weights):
        return float(np.abs(weights).mean())

    def story(self, weights, seed):
        return "Once <b>upon</b> a time"

    def checkpoint(self, weights):
        return pack({"weights": weights})


def table(folder, weights=None, recipe=RECIPE, most=5, **how):
    weights = np.zeros(10, np.float32) if weights is None else weights
    return Table(recipe, weights, Roster(CODE, most, **how), folder / "class.safetensors")


@contextlib.contextmanager
def hosted(found, work=None):
    """Yield (port, end) of a table that listens until the block ends; end() ends training."""
    host, over, closed = (
        Host(found, work or FakeWork(), PAGE, "join"),
        threading.Event(),
        threading.Event(),
    )
    port, failed = host.listen(0, "127.0.0.1"), []

    async def run():
        await host.run(over.is_set)
        while not closed.is_set():
            await asyncio.sleep(0.05)

    def in_thread():
        try:
            asyncio.run(run())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=in_thread, daemon=True)
    thread.start()
    yield port, over.set
    over.set(), closed.set()
    thread.join()
    assert not failed, failed


def ask(port, verb, path, body=None, secret="", headers=None):
    """Return (status, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Authorization": f"Bearer {secret}"} | (headers or {})
    connection.request(verb, path, body, headers)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, data


def joined(port, name="ada"):
    status, data = ask(port, "POST", "/join", json.dumps({"code": CODE, "name": name}))
    assert status == 200, data
    return json.loads(data)


def delivery(part=0, size=5, base=0, steps=8, tokens=100, ticket="t", value=1.0):
    facts = {"part": part, "base": base, "steps": steps, "tokens": tokens, "ticket": ticket}
    return pack({"delta": np.full(size, value, np.float32)}, **facts)


def model():
    return classroom.Stories("tiny")
