"""Run one step of set-up: one line for the person, everything it says into a log."""

import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path


class StepFailed(Exception):
    """A step ended with an error. `log`: all that it wrote."""

    def __init__(self, words: str, log: str):
        super().__init__(f"{words} failed")
        self.log = log

    @property
    def venv_is_missing(self) -> bool:
        """Whether Python came without what makes a virtual environment (Debian splits it off)."""
        signs = r"ensurepip is not\s+available|No module named '?(venv|ensurepip)"
        return re.search(signs, self.log) is not None


def run_step(words: str, command: list[str], log: Path | None) -> None:
    """Run `command`; show `words`, the seconds and, on a terminal, the last line that it wrote.

    log: the file that its output is added to. StepFailed where it ends with an error; the last
    lines of its output are shown then.
    """
    terminal = sys.stdout.isatty()
    print(f"  {words} ... ", end="", flush=True)
    begin = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(process.stdout), daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            time.sleep(0.1)
            if terminal:
                last = lines[-1].strip() if lines else ""
                show(f"  {words} ... {time.monotonic() - begin:.0f} s  {last}")
    except KeyboardInterrupt:
        process.wait()  # the terminal has interrupted it as well: let it clean up
        raise
    reader.join(5)
    written = "".join(lines)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"$ {' '.join(command)}\n{written}\n")
    seconds = time.monotonic() - begin
    if terminal:
        show(f"  {words} ... ")
        print("\r" + f"  {words} ... ", end="")
    if process.returncode != 0:
        print(f"failed after {seconds:.0f} s")
        print("".join(f"    {line}" for line in written.splitlines(keepends=True)[-25:]))
        raise StepFailed(words, written)
    print(f"{seconds:.1f} s", flush=True)


def show(text: str) -> None:
    """Write `text` over the current line of the terminal, cut to its width."""
    width = shutil.get_terminal_size().columns - 1
    print("\r" + text[:width].ljust(width), end="", flush=True)
