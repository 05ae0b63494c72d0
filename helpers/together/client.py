"""A laptop: HTTP that waits for a lost host, and lesson 21's learner behind it."""

import http.client
import json
import random
import secrets
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from helpers.files import write_whole
from helpers.together.lab import Refused, classroom, learn_from
from helpers.together.payloads import Wrong, pack, plain, unpack, whole

SILENCE = 15.0  # seconds without a byte after which a request is made again
BEAT, POLL, RETRY = 2.0, 0.5, 4.0  # seconds, the last at most
LARGEST = 1 << 28  # bytes of an answer


class Ended(OSError):
    """Training has ended: lesson 21's learner ends with it."""


class Line:
    """Requests to a host that may be away: each waits until it's back, and one says so.

    there: set as long as the host answers. say: called with a sentence for a person.
    """

    def __init__(self, address: str, say=print):
        parts = urlsplit(address if "//" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{address!r} is no address: copy the line from the projector")
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self.open = lambda: kinds[parts.scheme](parts.hostname, parts.port, timeout=SILENCE)
        self.address, self.say, self.secret = f"{parts.scheme}://{parts.netloc}", say, ""
        self.there, self.lost = threading.Event(), 0.0
        self.joining, self.telling = threading.Lock(), threading.Lock()
        self.there.set()
        self.rejoin = None  # what joins again if the host has forgotten this learner

    def ask(self, verb: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Return (status, body) of an answer, however long the host is away.

        Raises:
            Ended: training has ended. Refused: the host doesn't want this, and says why.
        """
        wait = POLL
        while True:
            secret = self.secret
            try:
                status, data = self.once(verb, path, body, secret)
            except (OSError, http.client.HTTPException):
                self.note(False)
            else:
                if status == 410:
                    raise Ended("training has ended")
                if status == 401 and self.rejoin:
                    self.join_again(secret)
                    continue
                if status not in (429, 500, 502, 503, 504):
                    self.note(True)
                    if status < 400 or status == 409:
                        return status, data
                    raise Refused(data.decode("utf-8", "replace").strip()[:300])
                self.note(status == 429)  # others: a machine in between answers for a lost host
            time.sleep(wait * random.uniform(0.7, 1.3))  # forty don't come back in one moment
            wait = min(RETRY, 1.5 * wait)

    def once(self, verb, path, body=None, secret=""):
        connection = self.open()
        try:
            connection.request(verb, path, body, {"Authorization": f"Bearer {secret}"})
            answer = connection.getresponse()
            return answer.status, answer.read(LARGEST)
        finally:
            connection.close()

    def join_again(self, secret: str) -> None:
        with self.joining:
            if self.secret == secret:  # no other thread has done it meanwhile
                self.rejoin()

    def note(self, there: bool) -> None:
        """Say when the host is lost, and when it's back."""
        with self.telling:
            if not there and self.there.is_set():
                self.there.clear()
                self.lost = time.monotonic()
                self.say(f"{time.strftime('%H:%M:%S')}: {self.address} doesn't answer. Waiting; "
                         "nothing is lost, and it goes on by itself")  # fmt: skip
            elif there and not self.there.is_set():
                self.there.set()
                away = time.monotonic() - self.lost
                self.say(f"{time.strftime('%H:%M:%S')}: the host is back after {away:.0f} s")


class Learner:
    """A laptop that has joined; it's the `ask` and the `doing` of lesson 21's learner.

    pace: seconds that an inner step takes at least. spoil: what changes a delivery, for the stress.
    """

    def __init__(self, line: Line, code: str, name: str, pace=0.0, seed=None, spoil=None):
        self.line, self.code, self.name, self.pace, self.spoil = line, code, name, pace, spoil
        self.state, self.tokens, self.merged, self.ended = 1, 0, 0, threading.Event()
        line.rejoin = self.join
        self.recipe = self.join()
        if self.recipe.get("model") not in classroom.MODELS:
            raise Refused("the host trains a model that this version doesn't know: update the lab")
        seed = secrets.randbelow(2**32) if seed is None else seed
        self.work = classroom.Stories(self.recipe["model"], seed)
        self.size = len(self.work.start())
        compute = self.work.gradient
        self.work.gradient = lambda *batch: self.counted(compute(*batch))

    def join(self) -> dict:
        facts = {"code": self.code, "name": self.name}
        _, data = self.line.ask("POST", "/join", json.dumps(facts).encode())
        recipe = plain(data)
        self.number, self.name = whole(recipe, "number", 10**9), str(recipe.get("name"))[:16]
        self.line.secret = str(recipe.get("secret"))
        return recipe

    def counted(self, found):
        """Count the tokens of a step, and take no further one while the host is lost."""
        self.tokens += found[1]
        while not self.line.there.wait(0.5):
            if self.ended.is_set():
                raise Ended("training has ended")
        return found

    def __setitem__(self, number, state):
        self.state = state

    def __call__(self, verb, **message):
        """Be lesson 21's `ask`: fetch the weights, or deliver and wait for the merge."""
        try:
            return self.exchange(verb, **message)
        except Wrong as wrong:
            raise Refused(f"what the host sent can't be used: {wrong}") from None

    def exchange(self, verb, learner=0, part=0, delta=None, **facts):
        if verb == "weights":
            _, data = self.line.ask("GET", "/weights")
            arrays, facts = unpack(data, {"weights": self.size})
            return {"weights": arrays["weights"], "versions": facts["versions"]}
        delta = np.ascontiguousarray(delta, np.float32)
        if self.spoil:
            delta = self.spoil(delta)
        ticket = secrets.token_hex(8)
        payload = pack({"delta": delta}, part=part, ticket=ticket, **facts)
        kept = self.post(payload)
        asked = ticket if kept else ""
        while True:
            time.sleep(POLL * random.uniform(0.7, 1.3))
            status, data = self.line.ask("GET", f"/merged?part={part}&ticket={asked}")
            if status == 409:
                asked = ticket if (kept := self.post(payload)) else ""
            elif status == 200:
                arrays, found = unpack(data, {"weights": len(delta)})
                self.merged += kept
                version = whole(found, "version", 10**12)
                return {"weights": arrays["weights"], "version": version, "kept": kept}

    def post(self, payload: bytes) -> bool:
        return bool(plain(self.line.ask("POST", "/deliver", payload)[1]).get("kept"))

    def beat(self) -> None:
        """Tell the host every two seconds how fast this laptop is, until training has ended."""
        tokens, at = self.tokens, time.monotonic()
        while not self.ended.wait(BEAT):
            now = time.monotonic()
            speed = (self.tokens - tokens) / (now - at)
            tokens, at = self.tokens, now
            try:
                facts = json.dumps({"speed": round(speed, 1), "doing": self.state})
                self.line.ask("POST", "/beat", facts.encode())
            except (Ended, Refused):
                continue

    def learn(self) -> None:
        """Learn until training has ended."""
        threading.Thread(target=self.beat, daemon=True).start()
        try:
            every, fragments = (whole(self.recipe, w, 10**6, 1) for w in ("every", "fragments"))
            learn_from(self.number, self, self.work, every, self.pace, fragments, self)
        finally:
            self.ended.set()

    def fetch(self, path: Path) -> str:
        """Write the class's checkpoint to a file, and return a story by it.

        Raises:
            ValueError: the file isn't a checkpoint of this model.
        """
        write_whole(path, self.line.ask("GET", "/checkpoint")[1])
        return self.work.told(path)
