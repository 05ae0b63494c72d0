"""Windows of Chromium, Firefox and WebKitGTK that can do the same few things.

Playwright drives the Chromium of this machine, but no Firefox and no WebKit that it hasn't brought
itself: Firefox (firefox-esr) is driven by WebDriver BiDi, WebKitGTK (webkit2gtk-driver and xvfb) by
WebDriver.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

PATIENCE = 120  # seconds for any one thing
KEYS = {"ArrowDown": "\ue015", "ArrowUp": "\ue013"}


class Browser:
    """One window. mode: "", "dark", "still" (reduced motion) or "forced" (forced colors)."""

    def until(self, script: str) -> None:
        """Wait until a script's value is true. Raises AssertionError."""
        end, value = time.monotonic() + PATIENCE, None
        while time.monotonic() < end:
            with contextlib.suppress(RuntimeError):  # the page is being left
                if value := self.js(script):
                    return
            time.sleep(0.1)
        raise AssertionError(f"in {PATIENCE} s it never became true: {script} ({value!r})")

    def press(self, selector: str, kind: str = "mouse") -> None:
        """Press the middle of an element, with "mouse" or "touch"."""
        x, y = self.js(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); "
            "one.scrollIntoView({ block: 'center', behavior: 'instant' }); "
            "const box = one.getBoundingClientRect(); "
            "return [box.x + box.width / 2, box.y + box.height / 2].map(Math.round); })()"
        )
        moves = [{"type": "pointerMove", "x": x, "y": y, "duration": 0}]
        moves += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        about = {"parameters": {"pointerType": kind}, "actions": moves}
        self.act({"type": "pointer", "id": kind} | about)

    def key(self, name: str) -> None:
        value = KEYS.get(name, name)
        both = [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.act({"type": "key", "id": "keys", "actions": both})


class Chromium(Browser):
    """A page of the tests' own Chromium: a program has one Playwright."""

    name = "chromium"
    LOOKS = {
        "dark": {"color_scheme": "dark"},
        "still": {"reduced_motion": "reduce"},
        "forced": {"forced_colors": "active"},
    }

    def __init__(self, mode: str, browser):
        self.page = browser.new_page(has_touch=True, **self.LOOKS.get(mode, {}))

    def goto(self, address: str) -> None:
        self.page.goto(address)

    def js(self, script: str) -> object:
        from playwright.sync_api import Error

        try:
            return self.page.evaluate(script)
        except Error as error:
            raise RuntimeError(str(error)) from None

    def size(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def press(self, selector: str, kind: str = "mouse") -> None:
        one = self.page.locator(selector).first
        one.tap() if kind == "touch" else one.click()

    def key(self, name: str) -> None:
        self.page.keyboard.press(name)

    def close(self) -> None:
        self.page.close()


class Firefox(Browser):
    name, program = "firefox", ("firefox-esr", "firefox")
    LOOKS = {
        "dark": {"layout.css.prefers-color-scheme.content-override": 0},
        "still": {"ui.prefersReducedMotion": 1},
        "forced": {"browser.display.document_color_use": 2, "ui.useAccessibilityTheme": 1},
    }

    def __init__(self, mode: str):
        from websocket import create_connection

        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        first = {"layout.css.prefers-color-scheme.content-override": 1}
        wanted = first | {"browser.shell.checkDefaultBrowser": False} | self.LOOKS.get(mode, {})
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in wanted.items()]
        (Path(self.home.name) / "user.js").write_text("\n".join(lines), encoding="utf-8")
        path = next(filter(None, map(shutil.which, self.program)))
        flags = ["--headless", "--no-remote", "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(
            [path, *flags, "--profile", self.home.name],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        said = next(line for line in self.process.stderr if "BiDi listening on" in line)
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        address = said.split()[-1] + "/session"
        self.line = create_connection(address, timeout=PATIENCE, suppress_origin=True)
        self.number = 0
        self.ask("session.new", capabilities={})
        self.context = self.ask("browsingContext.getTree")["contexts"][0]["context"]

    def ask(self, method: str, **params) -> dict:
        self.number += 1
        self.line.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while (said := json.loads(self.line.recv())).get("id") != self.number:
            pass
        if said["type"] == "error":
            raise RuntimeError(said["message"])
        return said["result"]

    def goto(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def js(self, script: str) -> object:
        whole = f"(async () => JSON.stringify(await ({script})))()"
        target = {"target": {"context": self.context}, "awaitPromise": True}
        said = self.ask("script.evaluate", expression=whole, **target)
        if said["type"] == "exception":
            raise RuntimeError(said["exceptionDetails"]["text"])
        return json.loads(said["result"].get("value", "null"))

    def size(self, width: int, height: int) -> None:
        view = {"width": width, "height": height}
        self.ask("browsingContext.setViewport", context=self.context, viewport=view)

    def act(self, actions: dict) -> None:
        self.ask("input.performActions", context=self.context, actions=[actions])

    def close(self) -> None:
        self.line.close()
        self.process.terminate()
        self.process.wait()
        self.home.cleanup()


class WebKit(Browser):
    name, program = "webkit", ("WebKitWebDriver",)

    def __init__(self, mode: str):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        settings = Path(self.home.name) / "gtk-3.0/settings.ini"
        settings.parent.mkdir()
        settings.write_text(f"[Settings]\ngtk-enable-animations={int(mode != 'still')}\n")
        seen, shown = os.pipe()
        screen = ["Xvfb", "-displayfd", str(shown), "-screen", "0", "1500x1000x24"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.screen = subprocess.Popen(screen, pass_fds=[shown], **quiet)
        display = f":{os.read(seen, 16).decode().strip()}"
        look = {"GTK_THEME": "Adwaita:dark"} if mode == "dark" else {}
        here = {"DISPLAY": display, "GDK_BACKEND": "x11", "HOME": self.home.name}
        here |= {"XDG_CONFIG_HOME": self.home.name, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.driver = subprocess.Popen(
            [shutil.which(self.program[0]), f"--port={port}"], env=os.environ | here | look, **quiet
        )
        self.root = f"http://127.0.0.1:{port}/session"
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.root += "/" + self.ask("", capabilities={})["sessionId"]
                return
            except OSError:  # it doesn't listen yet
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def ask(self, method: str, **params) -> object:
        request = urllib.request.Request(f"{self.root}{method}", json.dumps(params).encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as said:
                return json.load(said)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from None

    def goto(self, address: str) -> None:
        self.ask("/url", url=address)

    def js(self, script: str) -> object:
        return self.ask("/execute/sync", script=f"return (async () => ({script}))()", args=[])

    def size(self, width: int, height: int) -> None:
        self.ask("/window/rect", width=width, height=height)
        inner = self.js("[outerWidth - innerWidth, outerHeight - innerHeight]")
        self.ask("/window/rect", width=width + inner[0], height=height + inner[1])

    def act(self, actions: dict) -> None:
        self.ask("/actions", actions=[actions])

    def close(self) -> None:
        request = urllib.request.Request(self.root, method="DELETE")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request, timeout=20)
        for process in (self.driver, self.screen):
            process.terminate()
            process.wait()
        self.home.cleanup()


def installed() -> list[type[Browser]]:
    """Return Chromium, without which no test here runs, and which others this machine has."""
    others = [each for each in (Firefox, WebKit) if any(map(shutil.which, each.program))]
    return [Chromium, *(each for each in others if each is not WebKit or shutil.which("Xvfb"))]
