"""What two people do on a hub, both at the same time; hub.sh starts the hub, and this."""

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from jupyter_client.session import Session
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

HUB = "127.0.0.1:8000"
LESSON, NOTE = "notebooks/00_welcome.ipynb", "notebooks/mine.txt"
RANKS = """
import os, helpers, torch, torch.distributed as dist
from helpers.grade import check
from helpers.ranks import launch
def total():
    x = torch.ones(1)
    dist.all_reduce(x)
    return x.item()
check("DP-1")
print("two ranks:", launch(total, 2, quiet=True), "from", os.path.dirname(helpers.__file__))
"""


async def ask(path: str, method: str = "GET", body: Any = None, token: str = "people-of-a-test"):
    """Return the status of an answer, and what it says."""
    request = HTTPRequest(
        f"http://{HUB}{path}", method, {"Authorization": f"token {token}"},
        body=None if body is None else json.dumps(body), allow_nonstandard_methods=True,
        request_timeout=120,
    )  # fmt: skip
    try:
        answer = await AsyncHTTPClient().fetch(request, raise_error=False)
    except OSError:  # nobody listens yet
        return 599, None
    return answer.code, json.loads(answer.body or "null") if answer.code < 400 else None


async def until(path: str, right: Any, begun: float, seconds: float = 180) -> float:
    """Ask until the answer is right; return the seconds since then."""
    while not right(*await ask(path)):
        if time.monotonic() - begun > seconds:
            sys.exit(f"error: {path} was not as it should be within {seconds} s")
        await asyncio.sleep(1)
    return time.monotonic() - begun


async def start(name: str) -> str:
    """Start a person's server; return a token of that person's."""
    path = f"/hub/api/users/{name}"
    await ask(path, "POST", {})
    begun = time.monotonic()
    await ask(f"{path}/server", "POST", {})  # answers when it runs, or after 10 s
    took = await until(path, lambda code, user: code == 200 and user["server"], begun)
    print(f"{name}'s server answers after {took:.0f} s", flush=True)
    return (await ask(f"/hub/api/users/{name}/tokens", "POST", {}))[1]["token"]


async def run(socket: Any, code: str) -> tuple[str, int]:
    """Run a cell; return what it printed, and how many errors it had."""
    asked = Session().msg("execute_request", {"code": code, "silent": False, "allow_stdin": False})
    await socket.write_message(json.dumps(asked | {"channel": "shell"}, default=str))
    said, errors = "", 0
    while True:
        message = json.loads(await asyncio.wait_for(socket.read_message(), 300))
        if message["parent_header"].get("msg_id") != asked["msg_id"]:
            continue
        kind, content = message["msg_type"], message["content"]
        said += content["text"] if kind == "stream" else ""
        if kind == "error":
            errors += 1
            print(*content["traceback"], sep="\n", flush=True)
        if kind == "status" and content["execution_state"] == "idle":
            return said, errors


async def work(name: str, token: str, other: str) -> None:
    """Open lesson 00, run its cells, start ranks, and keep a note."""
    own, begun = f"/user/{name}/api", time.monotonic()
    cells = (await ask(f"{own}/contents/{LESSON}", token=token))[1]["content"]["cells"]
    _, kernel = await ask(f"{own}/kernels", "POST", {"path": LESSON}, token)
    where = f"ws://{HUB}{own}/kernels/{kernel['id']}/channels"
    headers = {"Authorization": f"token {token}"}
    socket = await websocket_connect(HTTPRequest(where, headers=headers))
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    errors = sum([(await run(socket, code))[1] for code in codes])
    took = time.monotonic() - begun
    print(f"{name}: lesson 00, {len(codes)} cells, {errors} errors, {took:.0f} s")
    said, wrong = await run(socket, RANKS)
    socket.close()
    wrote, _ = await ask(
        f"{own}/contents/{NOTE}", "PUT", {"type": "file", "format": "text", "content": name}, token
    )
    theirs, _ = await ask(f"/user/{other}/api/contents/{LESSON}", token=token)
    print(f"{name}: {said.strip()}\n{name}: a note {wrote}; {other}'s files {theirs}", flush=True)
    if errors or wrong or f"/home/{name}/" not in said or (wrote, theirs) != (201, 403):
        sys.exit(f"error: that is not as it should be for {name}")


async def main() -> None:
    await until("/hub/api/", lambda code, _: code == 200, time.monotonic())
    people = ("ada", "bob")
    tokens = await asyncio.gather(*map(start, people))
    await asyncio.gather(*map(work, people, tokens, people[::-1]))
    begun = time.monotonic()
    for name in people:  # the culler ends what has been idle for 60 s
        path = f"/hub/api/users/{name}"
        took = await until(path, lambda _, user: not (user["server"] or user["pending"]), begun)
        print(f"{name}'s server was culled after {took:.0f} s", flush=True)
        end = time.monotonic() + 30
        while not subprocess.run(["pgrep", "-u", name], stdout=subprocess.DEVNULL).returncode:
            if time.monotonic() > end:
                sys.exit(f"error: processes of {name} are left")
            await asyncio.sleep(1)
        print(f"no process of {name} is left")
    for name, token in zip(people, await asyncio.gather(*map(start, people)), strict=True):
        note = (await ask(f"/user/{name}/api/contents/{NOTE}", token=token))[1]["content"]
        print(f"{name}'s note, after another start: {note}")
        if note != name:
            sys.exit("error: the work is gone")


asyncio.run(main())
