"""What `demo.py` shows: a progress bar that only appends, and the page that the demo leaves."""

import os
import re
import sys
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from helpers.draw import curves
from helpers.draw.style import painted
from helpers.trace import Event, Trace

WIDTH = 10  # of a bar: with its name and its loss it fits into 40 columns
STEP = re.compile(r"rank \d+  step (\d+)  loss ")  # `say_as_rank` of helpers.ranks.script
ABOUT = "[ranks] "  # what connects them: the same in every phase

STYLE = painted("""
.demo { max-width: 900px; margin: 0 auto; color: var(--palette-light-text);
  font: 16px/1.55 "Helvetica Neue", "Segoe UI", Arial, "Liberation Sans", "DejaVu Sans",
  sans-serif; }
.demo h1 { font-size: 26px; line-height: 1.25; } .demo h2 { margin: 36px 0 8px; font-size: 19px; }
.demo img { max-width: 100%; }
.demo pre { overflow-x: auto; padding: 10px 14px; background: var(--palette-light-band);
  border-radius: 8px; font: 13px/1.5 ui-monospace, Consolas, "DejaVu Sans Mono", monospace; }
.demo blockquote { margin: 4px 0 20px; padding-left: 14px;
  border-left: 3px solid var(--palette-blue); }
.demo small { color: var(--palette-light-muted); font-size: 13px; }
@media (prefers-color-scheme: dark) {
  .demo { color: var(--palette-dark-text); } .demo pre { background: var(--palette-dark-band); }
  .demo small { color: var(--palette-dark-muted); }
  .demo blockquote { border-color: var(--palette-sky); }
}
""")


@dataclass(frozen=True)
class Phase:
    """A training that has ended. losses: nats per token, one a step. speed: tokens a second."""

    name: str
    losses: list[float]
    speed: float = 0.0


class Bar:
    """A progress bar that only appends, so it stays on one line in a file and in a pipe too.

    bar(step, loss) after each step; or use it as the standard output of a launch, one of whose
    ranks prints "rank 0  step 3  loss 6.5": other lines appear as they are.
    paused: seconds that don't count. seconds: of the training, if they are known better.
    """

    def __init__(self, name: str, steps: int):
        self.name, self.steps, self.paused = name, steps, 0.0
        self.seconds: float | None = None
        self._out, self._drawn, self._open = sys.stdout, 0, ""
        self._print(f"{name:11}")
        self._begun = time.perf_counter()

    def __call__(self, step: int, loss: float = 0.0) -> None:
        done = WIDTH * (step + 1) // self.steps
        self._print("#" * (done - self._drawn))
        self._drawn = max(done, self._drawn)

    def write(self, text: str) -> None:
        """Take what ranks print."""
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            if found := STEP.search(line):
                self(int(found[1]))
            elif line and ABOUT not in line:
                self._print(f"{line}\n")

    def flush(self) -> None:
        self._out.flush()

    def end(self, losses: list[float], tokens: int = 0) -> Phase:
        """Write the last loss, and return what was trained; tokens: of one step."""
        seconds = self.seconds or time.perf_counter() - self._begun - self.paused
        self._print(f" step {len(losses):3} loss {losses[-1]:.2f}\n")
        return Phase(self.name, losses, len(losses) * tokens / seconds)

    def _print(self, text: str) -> None:
        if text:
            self._out.write(text)
            self._out.flush()


def step_of(trace: Trace) -> Trace:
    """Return one step of a trace of several: of the later half, the one of median duration.

    A step of a rank ends with its update.
    """
    steps: list[list[Event]] = []
    for row in trace.by_rank().values():
        number = 0
        for event in row:
            if number == len(steps):
                steps.append([])
            steps[number].append(event)
            number += event.kind == "update"
    traces = [Trace(events, dict(trace.meta)) for events in steps]
    later = sorted(traces[len(traces) // 2 :], key=lambda one: one.duration)
    return later[len(later) // 2].from_zero()


def as_page(
    phases: Sequence[Phase],
    floor: float,
    facts: Sequence[str],
    plan: str,
    steps,
    stories: Sequence[tuple[int, float, str]],
    share: str,
) -> str:
    """Return the page as one HTML file that needs no other.

    Args:
        phases: the first on one device, the last on ranks; their curves are drawn.
        floor: a line below the curves.
        facts: sentences for the top of the page.
        plan: the schedule of the step that is shown, as text.
        steps: its timeline, as `helpers.timeline.timeline` returns it.
        stories: after how many steps, the loss there, and what the model wrote.
        share: the sentence that follows the stories.
    """
    ranks = phases[-1].name
    runs = {phase.name: phase.losses for phase in phases}
    above = f"""<style>{STYLE}</style><div class="demo">
<h1>One device and {escape(ranks)} learn the same stories</h1>
<p>{escape(" ".join(facts))}</p>
{curves(runs, floor=floor)._repr_html_()}
<h2>A step is a plan that can be read three ways</h2>
<p>The model can also be cut into two stages, each on a rank of its own. This is what each rank
computes, and in which order (F3 is the forward of micro-batch 3, B3 its backward):</p>
<pre>{escape(plan)}</pre>
<p>Below is the same plan twice: simulated, from what each action took here, and measured, as two
processes ran it. Point at a box or at a wait.</p>
</div>"""
    sentences = "".join(
        f"<small>after {step:,} {'steps' if step > 1 else 'step'}, loss {loss:.2f}</small>"
        f"<blockquote>{escape(text.strip()) or '…'}</blockquote>\n"
        for step, loss, text in stories
    )
    below = f"""<div class="demo">
<h2>What the model writes, from its first step to its last</h2>
{sentences}<p>{escape(share)}</p>
</div>"""
    return steps.html(above, below)


def offer_to_open(file: Path) -> None:
    """Ask whether to open a page, where a person can answer and a browser can open it."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and has_display()):
        return
    try:
        answer = input("Open it now? [y/N] ")
    except EOFError:
        return
    if answer.strip().lower() in ("y", "yes") and not webbrowser.open(file.resolve().as_uri()):
        print("No browser opened: open the file by hand.")


def has_display() -> bool:
    """Return whether a browser window can appear here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
