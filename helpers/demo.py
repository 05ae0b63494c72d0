"""What `demo.py` shows: a progress bar that only appends, and the page that the demo leaves."""

import re
import sys
import time
from dataclasses import dataclass
from html import escape

from helpers.draw import curves
from helpers.draw.style import painted

WIDTH = 10  # of a bar: with its name and its loss it fits into 40 columns
STEP = re.compile(r"rank \d+  step (\d+)  loss ")  # `say_as_rank` of helpers.ranks.script
ABOUT = "[ranks] "  # what connects them: the same in every phase

STYLE = painted("""
.demo { max-width: 900px; margin: 0 auto; font: 16px/1.55 "Helvetica Neue", "Segoe UI", Arial,
  "Liberation Sans", "DejaVu Sans", sans-serif; }
.demo img { max-width: 100%; }
.demo pre { overflow-x: auto; padding: 10px 14px; border-radius: 8px; font-size: 13px;
  background: light-dark(var(--palette-light-band), var(--palette-dark-band)); }
.demo blockquote { margin: 4px 0 20px; padding-left: 14px;
  border-left: 3px solid var(--palette-blue); }
""")


@dataclass(frozen=True)
class Phase:
    """A training that has ended. losses: nats per token, one a step. speed: tokens a second."""

    name: str
    losses: list[float]
    speed: float = 0.0


class Bar:
    """A progress bar that only appends, so it stays on one line in a file and in a pipe too.

    bar(step, loss) after each step; or use it as the standard output of a launch of ranks.
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
        print(text, end="", file=self._out, flush=True)


def as_page(phases: list[Phase], floor: float, facts, plan: str, steps, stories, share) -> str:
    """Return the page as one HTML file that needs no other.

    phases: the first on one device, the last on ranks; their curves are drawn, above `floor`.
    facts: sentences for its top. plan: the schedule of a step. steps: the timeline of that step.
    stories: of each (after how many steps, the loss there, text). share: how much of it is right.
    """
    runs = {phase.name: phase.losses for phase in phases}
    above = f"""<style>{STYLE}</style><div class="demo">
<h1>One device and {escape(phases[-1].name)} learn the same stories</h1>
<p>{escape(" ".join(facts))}</p>
{curves(runs, floor=floor)._repr_html_()}
<h2>A step is a plan that can be read three ways</h2>
<p>The model can also be cut into two stages, each on a rank of its own. This is what each rank
computes, and in which order (F3 is the forward of micro-batch 3, B3 its backward):</p>
<pre>{escape(plan)}</pre>
<p>Below is the same plan twice: simulated, from what each action took here, and measured, as two
processes ran it. Point at a box or at a wait.</p>
</div>"""
    told = "".join(
        f"<small>after {step:,} {'steps' if step > 1 else 'step'}, loss {loss:.2f}</small>"
        f"<blockquote>{escape(text.strip()) or '…'}</blockquote>\n"
        for step, loss, text in stories
    )
    below = f"""<div class="demo"><h2>What the model writes, from its first step to its last</h2>
{told}<p>{escape(share)}</p></div>"""
    return steps.html(above, below)
