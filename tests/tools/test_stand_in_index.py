"""The chosen commands, really run, against an index of our own on this machine."""

import base64
import hashlib
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

import torch_choice
from torch_choice import Facts, answers, asks_cpu_index, choose

VERSION = "2.13.0"


def fake_wheel(folder: Path) -> Path:
    """A wheel that calls itself torch and needs a package that no index has."""
    info = f"torch-{VERSION}+cpu.dist-info"
    files = {
        "torch/__init__.py": f'__version__ = "{VERSION}+cpu"\nSTAND_IN = True\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}+cpu\n"
        "Requires-Dist: not-on-any-index==1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{name},sha256={digest.decode()},{len(text)}")
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    wheel = folder / f"torch-{VERSION}+cpu-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


@pytest.fixture
def index(tmp_path):
    """An address that serves the wheel, as a package index does, and the paths that were asked."""
    wheel = fake_wheel(tmp_path)
    asked: list[str] = []

    class Index(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            name = wheel.name.replace("+", "%2B")
            pages = {
                "/whl/cpu/torch/": f'<a href="/files/{name}">{wheel.name}</a>'.encode(),
                f"/files/{name}": wheel.read_bytes(),
                "/login/torch/": b"<html>Welcome to our hotel: please log in</html>",
            }
            body = pages.get(self.path)
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def run_pip(arguments: tuple[str, ...], target: Path, **settings: str) -> str:
    """Run the command as set-up does, into a folder, without this person's pip settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment = {**clean, "PIP_CONFIG_FILE": os.devnull, "NO_PROXY": "127.0.0.1", **settings}
    command = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, *arguments, "--target", str(target)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_command_for_linux_without_a_gpu_installs_from_the_index(index, tmp_path, monkeypatch):
    address, asked = index
    monkeypatch.setattr(torch_choice, "CPU_INDEX", address + "/whl/cpu")
    facts = Facts("Linux", "x86_64")
    assert asks_cpu_index(facts, VERSION)
    facts = Facts("Linux", "x86_64", cpu_index_answers=answers(torch_choice.CPU_INDEX, 60))
    choice = choose(facts, VERSION)
    # The index has torch alone, and nothing of what torch needs: that is enough.
    run_pip(choice.pip, tmp_path / "target")
    assert "STAND_IN = True" in (tmp_path / "target" / "torch" / "__init__.py").read_text()
    assert {path.split("/")[1] for path in asked} == {"whl", "files"}


def test_where_the_index_does_not_answer_the_plain_command_goes_on(index, tmp_path, monkeypatch):
    address, asked = index
    monkeypatch.setattr(torch_choice, "CPU_INDEX", f"http://127.0.0.1:{closed_port()}/whl/cpu")
    reached = answers(torch_choice.CPU_INDEX, seconds=2)
    choice = choose(Facts("Linux", "x86_64", cpu_index_answers=reached), VERSION)
    assert choice.pip == ("install", f"torch=={VERSION}")
    assert "does not answer" in choice.why
    # The usual index of this run is the stand-in; what torch needs is not the question here.
    run_pip((*choice.pip, "--no-deps"), tmp_path / "target", PIP_INDEX_URL=address + "/whl/cpu")
    assert (tmp_path / "target" / "torch").is_dir()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_an_index_that_serves_torch_answers(index):
    assert answers(index[0] + "/whl/cpu", 60)


def test_pages_without_torch_do_not_count_as_an_answer(index):
    assert not answers(index[0] + "/login")
    assert not answers(index[0] + "/nothing/here")
    assert not answers("not an address")


def test_an_index_that_accepts_and_then_says_nothing_is_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begin = time.monotonic()
        assert not answers(f"http://127.0.0.1:{silent.getsockname()[1]}/whl/cpu", seconds=0.3)
        assert time.monotonic() - begin < 30, "the question must have a time limit"
