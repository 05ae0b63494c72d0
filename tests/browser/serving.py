"""A folder as any web server would serve it, to a browser on this machine."""

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    """Serves a folder at `address`, until the block ends that begins with it."""

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), functools.partial(Files, directory=folder))
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *why):
        self.shutdown()
        super().__exit__(*why)

    def handle_error(self, *_):
        """Say nothing: a page that is left breaks off what it loads."""
