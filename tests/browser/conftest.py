"""A real JupyterLab in a real browser: the fixture `lab`, for every test that looks at a page.

    page = lab.open("notebooks/01_one_device.ipynb")   # as a Playwright page
    lab.run_all(page)                                  # through the menu; no cell may fail

The server runs on a copy of the project, with settings of its own, on a port that the system
chose. The browser is the one of this machine; it reaches nothing but 127.0.0.1.
"""

import functools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from jupyter_server.serverapp import list_running_servers
from nbformat.v4 import new_code_cell, new_notebook

from helpers.check.task import load_module

ROOT = Path(__file__).resolve().parents[2]
SCREENSHOTS = ROOT / "build/screenshots"
NOT_COPIED = ("build", "tests", "__pycache__", "*.egg-info", ".*")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120_000  # ms for any one thing: the first start after an installation is slow
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
OURS = ("http://127.0.0.1:", "data:", "blob:", "file:")
# JupyterLab shows an exception and what goes to standard error in the same way.
ERROR = '.jp-Notebook [data-mime-type="application/vnd.jupyter.stderr"]'
READY = """async () => {
    await window.jupyterapp?.restored;
    const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
    await session?.ready;
    return session?.isReady && session.session?.kernel?.connectionStatus === 'connected'
        && session.session.kernel.status === 'idle';
}"""
# It gives no number to a cell whose source is folded.
RAN_OR_FAILED = f"""() => document.querySelector('{ERROR}')
    || (document.querySelector('.jp-Notebook-ExecutionIndicator[data-status=idle]')
        && [...document.querySelectorAll('.jp-Notebook .jp-CodeCell .jp-InputPrompt')]
            .every(({{textContent: said}}) => !said.trim() || /\\[\\d+\\]/.test(said)))"""


@dataclass
class Lab:
    """A JupyterLab whose files lie in `root`; opened(address) shows a page of it."""

    root: Path
    url: str
    token: str
    opened: Callable

    def write(self, name: str, cells: list) -> str:
        """A notebook of cells, or of their code, beside the lessons; its path, for `open`."""
        code = [new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}  # else a dialog
        nbformat.write(new_notebook(cells=code, metadata=kernel), self.root / "notebooks" / name)
        return f"notebooks/{name}"

    def open(self, path: str):
        """The notebook `path`, seen from `root`, on a new page, its kernel ready."""
        page = self.opened(f"{self.url}doc/tree/{path}?token={self.token}&reset")
        page.wait_for_function(READY)
        page.locator(".jp-Notebook .jp-Cell").first.click(position={"x": 30, "y": 10})
        page.wait_for_function("jupyterapp.commands.isEnabled('notebook:run-all-cells')")
        return page

    def run_all(self, page) -> None:
        """Clear what the notebook shows and run all of it; an error that it shows fails."""
        for menu, item in (("Edit", "Clear Outputs of All Cells"), ("Run", "Run All Cells")):
            page.locator("#jp-MainMenu").get_by_text(menu, exact=True).click()
            page.locator(".lm-Menu").get_by_text(item, exact=True).click()
        page.wait_for_function(RAN_OR_FAILED, timeout=900_000, polling=500)
        assert page.locator(ERROR).all_inner_texts() == []


@pytest.fixture
def lab(running_lab, opened) -> Lab:
    return Lab(*running_lab, opened)


@pytest.fixture(scope="session")
def running_lab(tmp_path_factory):
    """The (root, url, token) of JupyterLab on a copy of the project; one for all tests."""
    home = tmp_path_factory.mktemp("lab")
    root = home / "project"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_COPIED))
    tracker = home / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    tracker.parent.mkdir(parents=True)
    tracker.write_text('{"windowingMode": "none"}')  # every cell is on the page, not only in sight
    places = {f"JUPYTER_{name}_DIR": home / name.lower() for name in ("CONFIG", "DATA", "RUNTIME")}
    places |= {f"JUPYTERLAB_{n}_DIR": home / n.lower() for n in ("SETTINGS", "WORKSPACES")}
    places |= {"IPYTHONDIR": home / "ipython", "LAB_PROGRESS": home / "progress.json"}
    environment = os.environ | {name: str(at) for name, at in places.items()}
    environment["PYTHONPATH"] = str(root)
    environment.pop("LAB_STATIC", None)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True"]
    command += ["--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    log = home / "log.txt"
    with log.open("wb") as file:
        server = subprocess.Popen(command, cwd=root, env=environment, stdout=file, stderr=file)
    try:
        while not (found := list(list_running_servers(home / "runtime"))):
            assert server.poll() is None, log.read_text(encoding="utf-8", errors="replace")
            time.sleep(0.1)
        yield root, found[0]["url"], found[0]["token"]
    finally:
        server.terminate()  # it ends its kernels
        server.wait(90)


@pytest.fixture(scope="session")
def browser():
    """Chromium, started once for all tests; it reaches nothing but 127.0.0.1."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("No Chromium or Chrome is on the PATH: install one to run the browser tests.")
    with sync_playwright() as play:
        yield (started := play.chromium.launch(executable_path=path, args=BROWSER_FLAGS))
        started.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The site's (address, folder), as any web server would serve it."""
    folder = tmp_path_factory.mktemp("site") / "lab"
    done = subprocess.run([sys.executable, ROOT / "site/make.py", "--out", folder])
    assert done.returncode == 0
    handler = functools.partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", folder
        server.shutdown()


@pytest.fixture(scope="session")
def axe():
    """Return what axe-core, from npm's registry by its hash, complains of: axe(page)."""
    taken = load_module(ROOT / "site/vendored.py", "vendored").taken
    text = taken(ROOT, AXE, SHA512, {"axe.min.js": "axe"})["axe"].decode()
    return lambda page: page.evaluate(f"{text};\n{VIOLATIONS}")


@pytest.fixture
def opened(browser, request):
    """Open an address, for a new visitor: opened(address, width, theme). No page may complain.

    How it looks in the end is kept in build/screenshots.
    """
    contexts, bad = [], []

    def open_page(address: str, width=1280, theme="light"):
        how = {"viewport": {"width": width, "height": 900}, "color_scheme": theme}
        contexts.append(browser.new_context(**how))
        page = contexts[-1].new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: bad.append(str(error)))
        page.on("console", lambda said: bad.append(said.text) if said.type == "error" else None)
        page.on("request", lambda r: None if r.url.startswith(OURS) else bad.append(r.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.pages[0].screenshot(path=SCREENSHOTS / f"{request.node.name}.png")
        context.close()
    assert bad == []
