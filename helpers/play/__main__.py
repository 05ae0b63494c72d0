"""Play with a schedule in the browser; this machine answers, and runs your plan on real ranks.

python -m helpers.play                               all levels
python -m helpers.play "#level=cap&plan=F0-F1__"     a plan that somebody has shared
python -m helpers.play plan.csv --run                no page: run a plan and judge its gradients
"""

import argparse
import json
import os
import secrets
import sys
import threading
import webbrowser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from helpers.play.answers import answer
from helpers.play.board import Board
from helpers.play.levels import LEVELS, level_of
from helpers.play.links import read
from helpers.play.page import asset, page

PORT = 18640  # the same each time: what a browser keeps belongs to an address with its port
LARGEST = 1_000_000  # bytes of a question
RANKS = threading.Lock()  # one plan runs at a time, however many pages ask


class Server(ThreadingHTTPServer):
    allow_reuse_address = os.name == "posix"  # on Windows two servers would share a port


def steady(port: int = PORT) -> tuple[Server, str]:
    """Return a server on the usual port, and its address; on another where that one is taken."""
    try:
        return server(port)
    except OSError:
        made, address = server()
        print(
            f"port {port} is taken, so this page doesn't know the levels that you have won: end "
            "the game that runs there, or name a port of your own with --port"
        )
        return made, address


def server(port: int = 0) -> tuple[Server, str]:
    """Return a server on this machine alone, and its address, which ends in a secret.

    Other pages in the same browser don't know the secret, so they can't ask it anything.
    """
    secret = secrets.token_urlsafe(12)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.split("#")[0] != f"/{secret}/":
                return self.send_error(HTTPStatus.NOT_FOUND)
            return self._send(page(asset("served.js")), "text/html; charset=utf-8")

        def do_POST(self):
            size = int(self.headers.get("content-length") or 0)
            if self.path != f"/{secret}/ask" or not 0 < size <= LARGEST:
                return self.send_error(HTTPStatus.NOT_FOUND)
            try:
                question = dict(json.loads(self.rfile.read(size)))
            except (ValueError, TypeError, RecursionError):
                return self.send_error(HTTPStatus.BAD_REQUEST)
            said = (
                on_ranks(question) if question.get("do") in ("run", "train") else answer(question)
            )
            return self._send(json.dumps(said), "application/json")

        def _send(self, text: str, kind: str) -> None:
            data = text.encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.send_header("cache-control", "no-store")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing: an address in a log would give the secret away."""

    made = Server(("127.0.0.1", port), Handler)
    return made, f"http://127.0.0.1:{made.server_address[1]}/{secret}/"


def on_ranks(question: dict) -> dict:
    from helpers.play.real import answered  # torch: only once somebody asks for it

    with RANKS:
        return answered(question)


def opened(text: str, level: str) -> Board:
    """Return the plan of a link or a file."""
    if "level=" not in text:
        text = Path(text).read_text(encoding="utf-8", errors="replace")
    return read(text, level_of(level))[0]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.play",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", nargs="?", default="", help="a link, or a file (torch's CSV)")
    levels = [level.id for level in LEVELS]
    parser.add_argument("--level", choices=levels, default="own", help="of a CSV (own)")
    parser.add_argument("--run", action="store_true", help="run the plan here, and judge it")
    parser.add_argument("--port", type=int, help=f"({PORT}; another if it's taken)")
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args(arguments)
    try:
        if options.run:
            board = opened(options.plan, options.level)
            from helpers.play.real import run, train

            print(run(board)["said"])
            judged = train(board)
            print(judged["said"])
            return 0 if judged["right"] else 1
        made, address = steady() if options.port is None else server(options.port)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if "level=" in options.plan:
        address += "#" + options.plan.rpartition("#")[2]
    print(f"play here: {address}\nCtrl+C ends it", flush=True)
    if not options.no_browser:
        webbrowser.open(address)
    try:
        made.serve_forever()
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
