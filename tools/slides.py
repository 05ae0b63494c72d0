"""Slides from the lessons themselves: `make slides`, or python tools/slides.py [LESSON …].

A slide is the lesson's question, a prediction, its measured result, a picture, a formula with its
symbols, or what to remember, and its title is what it says; all of it is read from the built
notebook, so a lesson that changes changes its slides. Writes build/slides/06.html (arrow keys turn
pages, n shows the notes: the lesson's own words) and, where there is a Chromium, 06.pdf.
"""

import argparse
import re
import sys
from collections import Counter
from functools import cache
from html import escape
from pathlib import Path

import nbformat

from helpers.draw.style import painted
from helpers.files import print_pdf
from lessons.sight import FOLDED
from pages.markdown import formula, html_of

ROOT = Path(__file__).resolve().parent.parent
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
.formula { margin: auto; font-size: 40px } .formula.long { font-size: 27px }
.answer { border-left: 8px solid var(--palette-blue); padding: 4px 0 4px 20px }
pre { font-size: 19px; line-height: 1.35; margin: 0; background: #f3f3f3; padding: 14px 18px;
  white-space: pre-wrap } .code { font-size: 16px; line-height: 1.25 }
code { font-size: .88em } a { color: inherit }
.kicker { font-size: 18px; color: #666; margin-bottom: -14px } .small .kicker { margin: 0 0 6px }
dl { font-size: 21px; margin: 0; display: grid; grid-template-columns: max-content 1fr;
  gap: 6px 22px } dd { margin: 0 }
aside { display: none } .notes aside { display: block; position: absolute; inset: auto 40px 50px;
  max-height: 55%; overflow: auto; padding: 14px 20px; font-size: 18px; background: #fffbe6;
  border: 1px solid #999 } @media print { .notes aside { display: none } }
footer { position: absolute; left: 72px; right: 72px; bottom: 20px; font-size: 15px; color: #666;
  display: flex; justify-content: space-between }
""")
KEYS = """
addEventListener("keydown", e => {
  if (e.key === "n") document.body.classList.toggle("notes");
  const step = {ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1,
    PageUp: -1}[e.key];
  if (!step) return;
  e.preventDefault();
  const here = Math.round(scrollY / 720) + step;
  scrollTo(0, here * 720);
});
"""
LINES = 14  # of printed text, at most
WIDE = 120  # letters of a formula in TeX that is drawn smaller
LONG, MOST = 150, 5  # letters of a sentence that explains a symbol, and such sentences
SHORT = 40  # letters: such a question ("What is wrong with it?") is about the code before it


def html(markdown: str) -> str:
    """Markdown with formulas as HTML; what leads to another lesson is text."""
    return html_of(
        markdown,
        lambda to, words: words if to.endswith(".ipynb") else f'<a href="{escape(to)}">{words}</a>',
    )


def slides_of(notebook: nbformat.NotebookNode) -> list[str]:
    """The inside of each slide, in order. Notes are what the lesson says before it."""
    first = notebook.cells[0].source
    title = re.search(r"^# (.+)$", first, re.M)[1]
    question = re.search(r"\*\*Question\.\*\*(.+?)(\n\n|$)", first, re.S)
    found = [f"<h1>{html(title)}</h1><div>{html(question[1]) if question else ''}</div>"]
    heading, asked, before, said = title, {}, "", []
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown":
            for piece in re.split(r"^(?=## )", cell.source, flags=re.M):
                if piece.startswith("## "):
                    heading, _, piece = piece[3:].partition("\n")
                    said = []
                if heading == "What to remember":
                    found.append(f"<h2>What to remember</h2>{html(piece)}")
                    continue
                for text, tex in re.findall(r"(.*?)(?:\$\$(.+?)\$\$|\Z)", piece, re.S):
                    text = text.partition("### ")[0].strip()
                    said += [text] if text else []
                    if tex:
                        legend = legend_of(tex, "\n\n".join(said))
                        size = "formula long" if len(tex) > WIDE else "formula"
                        body = f'<div class="{size}">{formula(tex, block=True)}</div>{legend}'
                        found.append(_slide(heading, claim_of(said), body, said))
            continue
        slides = _of_code(cell, heading, asked, before, said)
        said = [] if slides else said
        found += slides
        if cell.metadata.get("jupyter") != FOLDED:
            before = cell.source
    return found


def _slide(kicker: str, title: str, body: str, said: list[str] = ()) -> str:
    """A slide: where we are, what it says, what shows it, and what to say."""
    above = f'<div class="kicker">{html(kicker)}</div>' if kicker and title != kicker else ""
    notes = f"<aside>{html(chr(10).join(f'{text}{chr(10)}' for text in said))}</aside>"
    return f"{above}<h2>{html(title or kicker)}</h2>{body}{notes if said else ''}"


def claim_of(said: list[str]) -> str:
    """What a text claims: the bold sentence that opens it, or the last one before a formula."""
    text = re.sub(r"\s+", " ", " ".join(said))
    if bold := re.match(r"\*\*(.+?)\*\*", text):
        return bold[1]
    whole = [sentence for sentence in sentences(text) if len(sentence) >= SHORT]
    return whole[-1].rstrip(":") if whole else ""


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:)]) (?=[A-Z])", re.sub(r"\s+", " ", text).strip())


@cache
def notation() -> dict[str, str]:
    """{symbol: meaning} of those in docs/notation.md that have one meaning."""
    text = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \$([a-z])\$ \| ([^|:;]+)", text, re.M)
    often = Counter(name for name, _ in rows)
    return {name: meaning.strip() for name, meaning in rows if often[name] == 1}


def legend_of(tex: str, said: str) -> str:
    """The symbols of a formula, each with the sentence that brings it in, or with its notation."""
    plain = re.sub(r"\\(text|mathrm|operatorname)\{[^}]*\}|\\[a-zA-Z]+", " ", tex)
    rows = []
    for name in dict.fromkeys(re.findall(r"[a-zA-Z](?:_\{[^}]*\}|_[a-zA-Z0-9])?", plain)):
        meaning = notation().get(name) or next(
            (s for s in sentences(said) if f"${name}$" in s and len(s) < LONG), ""
        )
        if meaning and meaning not in dict(rows).values():
            rows.append((name, meaning))
    found = "".join(f"<dt>{formula(a, block=False)}</dt><dd>{html(b)}</dd>" for a, b in rows[:MOST])
    return f"<dl>{found}</dl>" if rows else ""


def _of_code(
    cell: nbformat.NotebookNode, heading: str, asked: dict[str, str], before: str, notes: list[str]
) -> list[str]:
    """The slides of a code cell: a prediction, or what it measured and drew.

    asked: the predictions so far. before: the last code cell that isn't folded: a question may be
    about it.
    """
    if match := re.search(r'^predict\(\s*"([a-z0-9_]+-\d+)"', cell.source, re.M):
        plain = next(o.data["text/plain"] for o in cell.outputs if "data" in o)
        question, *choices = plain.removeprefix("Predict: ").split("\n  ")
        asked[match[1]] = question
        items = "".join(f"<li>{html(choice[3:])}</li>" for choice in choices)
        name = re.match(r"def (\w+)", before)
        about = name and (name[1] in question or len(question) < SHORT)
        code = f'<pre class="code">{escape(before)}</pre>' if about else ""
        return [_slide(heading, question, f'{code}<ol class="choices">{items}</ol>', notes)]
    images = [o for o in cell.outputs if "image/png" in o.get("data", {})]
    said = "".join(o.text for o in cell.outputs if o.output_type == "stream").strip()
    match = re.search(r'^reveal\("([a-z0-9_]+-\d+)"', cell.source, re.M)
    if not match:
        return [_slide(heading, finding(image), _picture(image), notes) for image in images]
    plain = [o.data["text/plain"] for o in cell.outputs if "text/plain" in o.get("data", {})][-1]
    choice, _, because = plain.removeprefix("The answer: ").partition(": ")
    title, *more = sentences(because[:1].upper() + because[1:]) if because else [choice]
    parts = f'<div class="answer">{html(" ".join([choice + ".", *more]))}</div>'
    question = asked.get(match[1], heading)
    if images:
        return [f'<div class="small">{_slide(question, title, parts)}</div>{_picture(images[-1])}']
    short = "\n".join(said.splitlines()[:LINES])
    short = f"<pre>{escape(short)}</pre>" if short else ""
    return [_slide(question, title, parts + short, notes)]


def finding(image: nbformat.NotebookNode) -> str:
    """What a picture says: its title, without what kind of picture it is."""
    first, *more = image.get("data", {}).get("text/plain", "").split(". ")
    kind = first == "Timeline" or first.startswith(("Curves of ", "Bars of ", "Points of "))
    found = (more or [""])[0] if kind else first
    return (found[:1].upper() + found[1:]).rstrip(".")


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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make slides of lessons.")
    parser.add_argument("lessons", nargs="*", help="such as 06; default: all")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "slides")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    every = [path.name[:2] for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    for number in options.lessons or every:
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
        printed = " and .pdf" if print_pdf(target) else ": print it from a browser for a PDF"
        print(f"{len(slides):3d} slides: {target}{printed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
