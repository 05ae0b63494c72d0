"""HTTP around the table: limits before a body is read, and one sentence for what's wrong.

    POST /join              {"code", "name"}: a number, a secret and the recipe
    GET  /weights           all weights, and the version of each fragment
    POST /beat              {"speed", "doing"}, every two seconds
    POST /deliver           a fragment's change; what comes of it is asked for by
    GET  /merged?part=0&ticket=…     204 as long as it waits
    GET  /checkpoint        the model as it is, for whoever has the code or is a learner
    GET  /SECRET/           the projector's page, and /SECRET/state: what it shows

All but the first and the last two want the header "Authorization: Bearer SECRET".
"""

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

from tornado import web
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets

from helpers.together.page import files
from helpers.together.payloads import Wrong, plain, whole
from helpers.together.roster import Bucket

SMALL = 2000  # bytes of a body that isn't a delivery
TICK, JUDGED, STORIES = 0.1, 2.0, 60.0  # seconds between merges that are due, losses and stories


class Host:
    """A table that listens. work: what judges the weights, writes stories and makes checkpoints.

    laptop: [[tokens, loss]] of one laptop alone, for the page. line: what students type.
    """

    def __init__(self, table, work, page_secret: str, line: str = "", laptop=()):
        self.table, self.work, self.line, self.laptop = table, work, line, laptop
        self.strangers = Bucket(50, 300)  # requests without a learner's secret
        self.torch = ThreadPoolExecutor(1)  # one thread for the model, beside the one that answers
        routes = [(f"/{name}", handler, {"host": self}) for name, handler in HANDLERS.items()]
        for name, found in files().items():
            routes.append((f"/{page_secret}/{name}", Page, {"host": self, "file": found}))
        routes.append((f"/{page_secret}/state", State, {"host": self}))
        self.application = web.Application(
            routes,
            default_handler_class=Nothing,
            default_handler_args={"host": self},
            log_function=lambda handler: None,
        )

    def listen(self, port: int, address: str) -> int:
        """Take a port, and return it; `run` answers. Raises OSError if it's taken."""
        self.sockets = bind_sockets(port, address)
        return self.sockets[0].getsockname()[1]

    def serve(self) -> None:
        """Answer, from now on, in the event loop that runs."""
        logging.getLogger("tornado.general").setLevel(logging.CRITICAL)  # what strangers send
        self.server = HTTPServer(
            self.application,
            max_body_size=self.table.limit(),
            max_header_size=8192,
            body_timeout=60,
            idle_connection_timeout=30,
        )
        self.server.add_sockets(self.sockets)

    async def run(self, until) -> None:
        """Answer, merge, judge and write stories until `until()` says that training has ended."""
        self.serve()
        loop, judged, story, busy, seen = asyncio.get_running_loop(), 0.0, 0.0, None, -1
        while not until():
            self.table.tick()
            if busy and busy.done():
                what, tokens, found = busy.result()
                busy = None
                if what == "loss":
                    self.table.note_loss(tokens, found)
                else:
                    self.table.story = found
            now, version = loop.time(), self.table.versions
            if not busy and now >= story:
                story = now + STORIES
                busy = self._work("story", self.work.story, version)
            elif not busy and now >= judged and version != seen:
                judged, seen = now + JUDGED, version
                busy = self._work("loss", self.work.judge)
            await asyncio.sleep(TICK)
        self.table.ended = True
        self.table.save()

    def _work(self, what, function, *more):
        weights, tokens = self.table.merges.weights, self.table.merges.tokens
        return asyncio.get_running_loop().run_in_executor(
            self.torch, lambda: (what, tokens, function(weights, *more))
        )

    def seen(self) -> dict:
        return self.table.seen() | {"line": self.line, "alone": self.alone()}

    def alone(self) -> list:
        """Return the curve of one laptop, as far as the median learner has read by itself."""
        here = sorted(one.tokens for one in self.table.roster.laptops.values() if one.tokens)
        most = here[len(here) // 2] if here else 0
        return [point for point in self.laptop if point[0] <= most]


@web.stream_request_body
class Handler(web.RequestHandler):
    """A request: refused before its body is read if it's too long, too frequent, or a stranger's.

    verb: the one that it answers. largest: bytes of its body.
    """

    verb, known = "GET", True

    def initialize(self, host, file=None):
        self.host, self.table, self.file, self.body = host, host.table, file, bytearray()

    def prepare(self):
        try:
            self.check()
        except Wrong as wrong:
            self.refuse(wrong)

    def check(self):
        """Raise `Wrong` before the body is read."""
        if self.request.method != self.verb:
            raise Wrong(f"{self.request.path} is asked by {self.verb}", 405)
        size = self.request.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.request.headers:
            raise Wrong("say how long the body is: Content-Length is missing", 411)
        if not size.isascii() or not size.isdigit() or int(size) > self.largest():
            raise Wrong(f"a body here has at most {self.largest():,} bytes", 413)
        if self.known:
            bearer = self.request.headers.get("Authorization", "")
            self.laptop = self.table.roster.of(bearer.removeprefix("Bearer "))
        elif not self.host.strangers.take():
            raise Wrong("too many requests: wait a second", 429)

    def largest(self) -> int:
        return SMALL

    def data_received(self, chunk):
        self.body += chunk

    def refuse(self, wrong: Wrong):
        self.set_status(wrong.status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{wrong}\n")

    def _answer(self):
        try:
            found = self.answer()
        except Wrong as wrong:
            return self.refuse(wrong)
        if found is None:
            self.set_status(HTTPStatus.NO_CONTENT)
            return self.finish()
        return self.finish(found)

    def get(self):
        return self._answer()

    post = get

    def set_default_headers(self):
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.clear_header("Server")

    def write_error(self, status_code, **_):
        self.refuse(
            Wrong(f"the host can't answer this: {HTTPStatus(status_code).phrase}", status_code)
        )

    def running(self) -> None:
        if self.table.ended:
            raise Wrong("training has ended: ask for /checkpoint", 410)

    def binary(self, data: bytes) -> bytes:
        self.set_header("Content-Type", "application/octet-stream")
        return data


class Nothing(Handler):
    known = False

    def check(self):
        raise Wrong("there's nothing here: join with `python -m helpers.together join`", 404)


class Join(Handler):
    verb, known = "POST", False

    def answer(self):
        self.running()
        return self.table.join(plain(bytes(self.body)), self.request.remote_ip)


class Weights(Handler):
    def answer(self):
        self.running()
        return self.count(self.binary(self.table.weights()))

    def count(self, data):
        self.table.down += len(data or b"")
        return data


class Beat(Handler):
    verb = "POST"

    def answer(self):
        self.running()
        self.table.roster.beat(self.laptop, plain(bytes(self.body)))


class Deliver(Handler):
    verb = "POST"

    def largest(self):
        return self.table.limit()

    def answer(self):
        self.running()
        self.table.up += len(self.body)
        return self.table.deliver(self.laptop, bytes(self.body))


class Merged(Weights):
    def answer(self):
        self.running()
        part, ticket = self.get_query_argument("part", ""), self.get_query_argument("ticket", "")
        asked = {"part": int(part) if part.isascii() and part.isdigit() and len(part) < 9 else None}
        part = whole(asked, "part", len(self.table.merges.fragments) - 1)
        found = self.table.merged(self.laptop, part, ticket)
        return found and self.count(self.binary(found))


class Checkpoint(Handler):
    known = False

    def check(self):
        super().check()
        bearer = self.request.headers.get("Authorization", "").removeprefix("Bearer ")
        if bearer not in self.table.roster.by_secret:
            code = self.get_query_argument("code", "")
            self.table.roster.check(code, self.request.remote_ip)

    async def get(self):
        loop, weights = asyncio.get_running_loop(), self.table.merges.weights
        data = await loop.run_in_executor(self.host.torch, self.host.work.checkpoint, weights)
        self.set_header("Content-Disposition", 'attachment; filename="together.safetensors"')
        self.finish(self.binary(data))


class Page(Handler):
    known = False

    def answer(self):
        kind, found = self.file
        self.set_header("Content-Type", kind)
        self.set_header("Content-Security-Policy", "default-src 'none'; script-src 'self'; "
                        "style-src 'self'; connect-src 'self'; img-src data:")  # fmt: skip
        self.set_header("Referrer-Policy", "no-referrer")
        return found


class State(Handler):
    known = False

    def answer(self):
        self.set_header("Content-Type", "application/json")
        return json.dumps(self.host.seen())


HANDLERS = {
    "join": Join,
    "weights": Weights,
    "beat": Beat,
    "deliver": Deliver,
    "merged": Merged,
    "checkpoint": Checkpoint,
}
