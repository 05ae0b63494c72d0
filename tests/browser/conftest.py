"""A real JupyterLab in a real browser: the fixture `lab`, for every test that looks at a page.

    def test_something(lab):
        page = lab.open("notebooks/01_one_device.ipynb")   # as a Playwright page
        lab.run_all(page)                                  # through the menu
        assert lab.errors(page) == []
        lab.screenshot(page, "01_one_device")              # build/screenshots/01_one_device.png

The server runs on a copy of the project, with settings of its own, on a port that the system
chose. The browser is the one of this machine; it reaches nothing but 127.0.0.1.
"""

import functools
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest

from helpers.check.task import load_module

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build/screenshots"
NOT_COPIED = ("build", "tests", "__pycache__", "*.egg-info", ".*")
PATIENCE = 120  # seconds for any one thing: the first start after an installation is slow
SETTINGS = {
    # Every cell is on the page, not only those in sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
# The server ends with its parent: the pipe that is its input then closes, however the parent ended.
SERVER = """
import os, signal, sys, threading
from jupyterlab.labapp import main
def watch():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=watch, daemon=True).start()
main()
"""
AXE = "axe-core/-/axe-core-4.14.1"
SHA512 = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
# The theme's own search field and folds say less than they're labeled with.
RULES = '{rules: {"label-content-name-mismatch": {enabled: false}}}'
VIOLATIONS = f"""axe.run({RULES}).then((found) => found.violations.flatMap(
    (rule) => rule.nodes.map((node) => `${{rule.id}}: ${{node.html.slice(0, 160)}}`)))"""
BROWSER_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
# JupyterLab gives no number to a cell whose source is folded.
PROMPTS = (
    "[...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')]"
    ".filter(prompt => prompt.textContent.trim())"
)
# JupyterLab shows an exception and what goes to standard error in the same way.
ERROR = '.jp-Notebook [data-mime-type="application/vnd.jupyter.stderr"]'
CELL_HEIGHTS = """cells => cells.at(-1).getBoundingClientRect().bottom
    - cells[0].getBoundingClientRect().top"""
READY = """async () => {
    await window.jupyterapp?.restored;
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    await session?.ready;
    return session?.isReady && session.session?.kernel?.connectionStatus === 'connected'
        && session.session.kernel.status === 'idle';
}"""
RAN_OR_FAILED = f"""() =>
    document.querySelector('{ERROR}')
    || (document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]')
        && {PROMPTS}.every(cell => /\\[\\d+\\]/.test(cell.textContent)))"""
ENDED = f"{PROMPTS}.filter(cell => /\\[\\d+\\]/.test(cell.textContent)).length"


@dataclass
class Lab:
    """A JupyterLab whose files lie in `root`, and the browser `context` that looks at it."""

    root: Path
    url: str
    token: str
    context: object
    outside: list[str] = field(default_factory=list)  # requests to other places than 127.0.0.1

    def write(self, name: str, cells: list[str]) -> str:
        """A notebook of code cells, in the folder of the notebooks; its path, for `open`."""
        code = [nbformat.v4.new_code_cell(cell) for cell in cells]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}  # else a dialog
        notebook = nbformat.v4.new_notebook(cells=code, metadata=kernel)
        nbformat.write(notebook, self.root / "notebooks" / name)
        return f"notebooks/{name}"

    def open(self, path: str):
        """The notebook `path`, seen from `root`, on a new page, its kernel ready."""
        page = self.context.new_page()
        page.on("request", lambda request: self._note(request.url))
        page.on("websocket", lambda socket: self._note(socket.url))
        page.goto(f"{self.url}/doc/tree/{path}?token={self.token}&reset")
        page.wait_for_function(READY)
        page.locator(".jp-Notebook .jp-Cell").first.click(position={"x": 30, "y": 10})
        page.wait_for_function("jupyterapp.commands.isEnabled('notebook:run-all-cells')")
        return page

    def run_all(self, page, patience: float = 300) -> None:
        """Clear what the notebook shows, run all of it, wait for its last cell or an error.

        patience: seconds in which some cell must end. A busy machine is only slow.
        """
        self.choose(page, "Edit", "Clear Outputs of All Cells")
        self.choose(page, "Run", "Run All Cells")
        ended, since = -1, time.monotonic()
        while not page.evaluate(RAN_OR_FAILED):
            if (now := page.evaluate(ENDED)) != ended:
                ended, since = now, time.monotonic()
            if time.monotonic() - since > patience:
                raise AssertionError(f"code cell {ended + 1} hasn't ended within {patience:.0f} s")
            page.wait_for_timeout(500)

    def choose(self, page, menu: str, item: str) -> None:
        """Click `item` in the menu `menu`."""
        page.locator("#jp-MainMenu").get_by_text(menu, exact=True).click()
        page.locator(".lm-Menu").get_by_text(item, exact=True).click()

    def errors(self, page) -> list[str]:
        """The text of every error and every warning that the notebook shows."""
        return page.locator(ERROR).all_inner_texts()

    def screenshot(self, page, name: str) -> Path:
        """The whole notebook as `build/screenshots/{name}.png`, however long it is."""
        cells = page.locator(".jp-Notebook .jp-Cell").evaluate_all(CELL_HEIGHTS)
        page.set_viewport_size({"width": 1200, "height": min(round(cells) + 200, 16_000)})
        page.locator(".jp-Notebook .jp-WindowedPanel-outer").evaluate("all => all.scrollTo(0, 0)")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        page.screenshot(path=path)
        return path

    def _note(self, url: str) -> None:
        if urlsplit(url).hostname not in (None, "127.0.0.1"):  # None: data: and blob:
            self.outside.append(url)


@pytest.fixture
def lab(running_lab: Lab) -> Iterator[Lab]:
    """The running JupyterLab; the pages and kernels of a test end with it."""
    running_lab.outside.clear()
    yield running_lab
    running_lab.outside.clear()
    for page in running_lab.context.pages:
        page.close()
    ask, sessions = running_lab.context.request, f"{running_lab.url}/api/sessions"
    headers = {"Authorization": f"token {running_lab.token}"}
    for session in ask.get(sessions, headers=headers).json():
        ask.delete(f"{sessions}/{session['id']}", headers=headers)


@pytest.fixture(scope="session")
def browser():
    """Chromium, started once for all tests; it reaches nothing but 127.0.0.1."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("No Chromium or Chrome is on the PATH: install one to run the browser tests.")
    with sync_playwright() as play:
        yield (started := play.chromium.launch(executable_path=path, args=BROWSER_FLAGS))
        started.close()


class Files(SimpleHTTPRequestHandler):
    """A folder as any web server would serve it."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site's (address, folder)."""
    folder = tmp_path_factory.mktemp("site") / "lab"
    done = subprocess.run([sys.executable, ROOT / "site/make.py", "--out", folder])
    assert done.returncode == 0
    handler = functools.partial(Files, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *_: None  # a page that is left breaks off what it loads
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", folder
        server.shutdown()


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, from npm's registry by its hash."""
    taken = load_module(ROOT / "site/vendored.py", "vendored").taken
    return taken(ROOT, AXE, SHA512, {"axe.min.js": "axe"})["axe"].decode()


@pytest.fixture
def page(browser):
    """A page of a new visitor; whatever it complains of fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page, bad = context.new_page(), []
    page.set_default_timeout(1000 * PATIENCE)
    page.on("pageerror", lambda error: bad.append(str(error)))
    page.on("console", lambda said: bad.append(said.text) if said.type == "error" else None)
    ours = "http://127.0.0.1:", "data:", "blob:"
    page.on("request", lambda r: None if r.url.startswith(ours) else bad.append(r.url))
    yield page
    context.close()
    assert bad == []


@pytest.fixture(scope="session")
def running_lab(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab on a copy of the project, opened in the browser; one for all tests."""
    root = tmp_path_factory.mktemp("lab") / "project"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_COPIED))
    with jupyter(root, tmp_path_factory.mktemp("jupyter")) as (url, token):
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        context.set_default_timeout(1000 * PATIENCE)
        yield Lab(root, url, token, context)
        context.close()


@contextmanager
def jupyter(root: Path, home: Path) -> Iterator[tuple[str, str]]:
    """A JupyterLab server for the folder `root`, its own files in `home`: (address, token)."""
    for name, values in SETTINGS.items():
        path = home / "settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    token = secrets.token_hex(16)
    places = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": root,
        "LAB_PROGRESS": home / "progress.json",
    }
    flags = ["--no-browser", "--allow-root", "--LabApp.extension_manager=readonly"]
    flags += ["--LabApp.expose_app_in_browser=True"]
    flags += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--IdentityProvider.token={token}"]
    environment = os.environ | {name: str(place) for name, place in places.items()}
    environment.pop("LAB_STATIC", None)
    with (home / "log.txt").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, *flags],
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield _address(server, home), token
    finally:
        _end(server)


def _address(server: subprocess.Popen, home: Path) -> str:
    """Where the server listens, once it does."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and server.poll() is None:
        for path in (home / "runtime").glob("jpserver-*.json"):
            try:
                port = json.loads(path.read_text())["port"]
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                return f"http://127.0.0.1:{port}"
            except (ValueError, OSError):  # half written, or not listening yet
                pass
        time.sleep(0.1)
    log = (home / "log.txt").read_text(encoding="utf-8", errors="replace")
    raise RuntimeError(f"JupyterLab did not start:\n{log[-3000:]}")


def _end(server: subprocess.Popen) -> None:
    """Close the server's input, on which it stops with its kernels; if it does not, end it hard."""
    server.stdin.close()
    try:
        server.wait(90)
    except subprocess.TimeoutExpired:
        if hasattr(os, "killpg"):
            os.killpg(server.pid, signal.SIGKILL)
        server.kill()
        server.wait()
