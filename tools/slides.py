"""Slides from the lessons themselves: `make slides`, or python tools/slides.py [LESSON …].

A slide is the lesson's question, a prediction, its measured result, a picture, a formula or what to
remember; all of it is read from the built notebook, so a lesson that changes changes its slides.
Writes build/slides/06.html (arrow keys turn pages) and, where there is a Chromium, 06.pdf.
"""

import argparse
import re
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path

import nbformat

from helpers.draw.style import painted
from pages.markdown import formula, html_of

ROOT = Path(__file__).resolve().parent.parent
PATTERN = ("02", "06", "11")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
STYLE = painted("""
@page { size: 1280px 720px; margin: 0 }
* { box-sizing: border-box } html { scroll-snap-type: y mandatory }
body { margin: 0; font: 27px/1.4 system-ui, sans-serif; color: #1a1a1a; background: #888 }
section { width: 1280px; height: 720px; margin: 0 auto; padding: 54px 72px 60px; background: #fff;
  position: relative; overflow: hidden; page-break-after: always; scroll-snap-align: start;
  display: flex; flex-direction: column; gap: 22px }
h1 { font-size: 56px; line-height: 1.15; margin: 150px 0 0 } h2 { font-size: 36px; margin: 0;
  line-height: 1.25 } p, ul, ol { margin: 0 } li { margin-bottom: 14px }
.small h2 { font-size: 30px } .choices { list-style: upper-alpha; padding-left: 1.4em }
.picture { flex: 1; min-height: 0; text-align: center }
.picture img { width: 100%; height: 100%; object-fit: contain }
.formula { margin: auto; font-size: 40px }
.answer { border-left: 8px solid var(--palette-blue); padding: 4px 0 4px 20px }
pre { font-size: 19px; line-height: 1.35; margin: 0; background: #f3f3f3; padding: 14px 18px;
  white-space: pre-wrap } .code { font-size: 16px; line-height: 1.25 }
code { font-size: .88em } a { color: inherit }
footer { position: absolute; left: 72px; right: 72px; bottom: 20px; font-size: 15px; color: #666;
  display: flex; justify-content: space-between }
""")
KEYS = """
addEventListener("keydown", e => {
  const step = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1,
    PageUp: -1}[e.key];
  if (!step) return;
  e.preventDefault();
  const here = Math.round(scrollY / 720) + step;
  scrollTo(0, here * 720);
});
"""
LINES = 14  # of printed text, at most
SHORT = 40  # letters: such a question, as "What is wrong with it?", is about the code before it


def html(markdown: str) -> str:
    """Markdown with formulas as HTML; what leads to another lesson is text."""
    return html_of(
        markdown,
        lambda to, words: words if to.endswith(".ipynb") else f'<a href="{escape(to)}">{words}</a>',
    )


def slides_of(notebook: nbformat.NotebookNode) -> list[str]:
    """The inside of each slide, in order."""
    first = notebook.cells[0].source
    title = re.search(r"^# (.+)$", first, re.M)[1]
    question = re.search(r"\*\*Question\.\*\*(.+?)(\n\n|$)", first, re.S)
    found = [f"<h1>{html(title)}</h1><div>{html(question[1]) if question else ''}</div>"]
    heading, asked, before = title, {}, ""
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown":
            for piece in re.split(r"^(?=## )", cell.source, flags=re.M):
                heading = piece[3:].partition("\n")[0] if piece.startswith("## ") else heading
                for tex in re.findall(r"\$\$(.+?)\$\$", piece, re.S):
                    body = f'<div class="formula">{formula(tex, block=True)}</div>'
                    found.append(f"<h2>{html(heading)}</h2>{body}")
            remember = re.search(r"## What to remember\n(.+?)(?=\n## |\Z)", cell.source, re.S)
            if remember:
                found.append(f"<h2>What to remember</h2>{html(remember[1])}")
            continue
        found += _of_code(cell, heading, asked, before)
        before = cell.source
    return found


def _of_code(
    cell: nbformat.NotebookNode, heading: str, asked: dict[str, str], before: str
) -> list[str]:
    """The slides of a code cell: a prediction, or what it measured and drew.

    asked: the predictions so far. before: the last code cell, which a question may be about.
    """
    if match := re.search(r'^predict\(\s*"(L\d\d-\d+)"', cell.source, re.M):
        plain = next(o.data["text/plain"] for o in cell.outputs if "data" in o)
        question, *choices = plain.removeprefix("Predict: ").split("\n  ")
        asked[match[1]] = question
        items = "".join(f"<li>{html(choice[3:])}</li>" for choice in choices)
        name = re.match(r"def (\w+)", before)
        about = name and (name[1] in question or len(question) < SHORT)
        code = f'<pre class="code">{escape(before)}</pre>' if about else ""
        return [f'<h2>{html(question)}</h2>{code}<ol class="choices">{items}</ol>']
    images = [o for o in cell.outputs if "image/png" in o.get("data", {})]
    said = "".join(o.text for o in cell.outputs if o.output_type == "stream").strip()
    match = re.search(r'^reveal\("(L\d\d-\d+)"', cell.source, re.M)
    if not match:
        return [f"<h2>{html(heading)}</h2>{_picture(image)}" for image in images]
    plain = [o.data["text/plain"] for o in cell.outputs if "text/plain" in o.get("data", {})][-1]
    answer = plain.removeprefix("The answer: ")
    parts = f'<h2>{html(asked.get(match[1], heading))}</h2><div class="answer">{html(answer)}</div>'
    short = "\n".join(said.splitlines()[:LINES])
    if images:
        return [f'<div class="small">{parts}</div>{_picture(images[-1])}']
    return [f"{parts}<pre>{escape(short)}</pre>" if short else parts]


def _picture(output: nbformat.NotebookNode) -> str:
    data = "".join(output.data["image/png"].split())
    alt = output.get("metadata", {}).get("image/png", {}).get("alt", "")
    return (
        f'<div class="picture"><img alt="{escape(alt)}" src="data:image/png;base64,{data}"></div>'
    )


def page(number: str, slides: list[str]) -> str:
    """One HTML file, with nothing from elsewhere."""
    sections = "".join(
        f"<section>{inside}<footer><span>Distributed ML Lab, lesson {number} · CC BY 4.0</span>"
        f"<span>{place} / {len(slides)}</span></footer></section>\n"
        for place, inside in enumerate(slides, start=1)
    )
    head = f"<meta charset=utf-8><title>Lesson {number}</title><style>{STYLE}</style>"
    body = f"{sections}<script>{KEYS}</script>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>\n"


def pdf(source: Path, browser: str) -> bool:
    """Print the page; return whether that worked."""
    target = source.with_suffix(".pdf")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command += [f"--print-to-pdf={target}", source.as_uri()]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return done.returncode == 0 and target.exists()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make slides of lessons.")
    parser.add_argument("lessons", nargs="*", default=PATTERN, help=f"default: {' '.join(PATTERN)}")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "slides")
    options = parser.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    options.out.mkdir(parents=True, exist_ok=True)
    for number in options.lessons:
        paths = sorted((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
        if not paths:
            print(f"there is no lesson {number} in notebooks/", file=sys.stderr)
            return 2
        notebook = nbformat.read(paths[0], as_version=4)
        if not any(cell.get("outputs") for cell in notebook.cells):
            print(f"{paths[0].name} has no saved outputs: run `make notebooks`", file=sys.stderr)
            return 2
        slides = slides_of(notebook)
        target = (options.out / f"{number}.html").absolute()
        target.write_text(page(number, slides), encoding="utf-8")
        printed = browser is not None and pdf(target, browser)
        print(f"{len(slides):3d} slides: {target}{' and .pdf' if printed else ''}")
    if browser is None:
        print("No Chromium here, so no PDF: print the page from any browser, without margins.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
