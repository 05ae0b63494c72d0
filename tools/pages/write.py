"""All pages, and what they load, in one folder."""

import ast
import json
import re
import shutil
from collections.abc import Callable
from hashlib import sha256
from html import escape
from pathlib import Path

from address import address
from helpers.draw.style import painted
from helpers.play.page import asset as play_asset
from helpers.play.page import module_text as play_module
from helpers.timeline.page import FILES, asset, joinable, look_table
from pages.engine import archive, pyodide, unsolved
from pages.first import first_answers
from pages.lesson import Lesson, lesson_page
from pages.links import DOCUMENTS, links_of
from pages.markdown import FORMATTER, html_of
from pages.shell import LAB, framed

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = ("site.js", "lesson.js", "engine.js", "explore.js", "design.js", "puzzles.js")
MARKER = ".distributed-ml-lab-site"
NO_SCRIPT = """<noscript><style>.wait { display: none; }</style><p class="problem">This page needs
JavaScript. The lessons can be read without it.</p></noscript>
"""


def write_site(root: Path, out: Path) -> list[str]:
    """Write the site into `out`, which is replaced if a site stands there; return its files.

    Raises:
        EngineError: if Pyodide can't be had.
        FileExistsError: if something else stands in `out`.
    """
    files = everything(root)
    if out.exists() and any(out.iterdir()) and not (out / MARKER).exists():
        raise FileExistsError(f"{out} holds something else than a site: name another --out")
    shutil.rmtree(out, ignore_errors=True)
    for name, data in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (out / MARKER).touch()
    return list(files)


def everything(root: Path) -> dict[str, bytes]:
    """Return all files of the site by name."""
    files: dict[str, bytes] = {}
    link = linker(root)
    lessons = [lesson_page(p, link) for p in sorted((root / "notebooks").glob("*.ipynb"))]
    for number, lesson in enumerate(lessons):
        around = lessons[max(0, number - 1) : number], lessons[number + 1 : number + 2]
        files[f"lessons/{lesson.name}.html"] = reading(lesson, *around).encode()
        files |= {f"lessons/{name}": data for name, data in lesson.files.items()}
    files["index.html"] = index(lessons).encode()
    files |= {page: document(root / n, n, link).encode() for n, page in DOCUMENTS.items()}
    for name, title in (
        ("play", "The schedule you can touch"),
        ("explore", "A schedule under sliders"),
        ("design", "Design your cluster"),
        ("puzzles", "Training puzzles"),
    ):
        body = (ASSETS / f"{name}.html").read_text(encoding="utf-8") + first_answers(name)
        body = body.replace("@@CALLS@@", calls(root)) + NO_SCRIPT
        files[f"{name}.html"] = framed(
            title, body, f"{name}.html", scripts=(f"{name}.js",)
        ).encode()
    files |= scripts(root)
    engine = {f"engine/{name}": data for name, data in pyodide(root).items()}
    engine["engine/lab.zip"] = archive(root)
    files["worker.js"] = worker(engine).encode()
    files["sw.js"] = service_worker(files, engine).encode()
    return files | engine


def linker(root: Path) -> Callable[[str], str | None]:
    """Return what gives the address of a repository's file, where the repository's is known."""
    home = address(root)
    return lambda name: f"{home}/blob/main/{name}" if home else None


def document(path: Path, name: str, file_link: Callable[[str], str | None]) -> str:
    """Return the page of a document of the repository, such as docs/glossary.md."""
    html = html_of(path.read_text(encoding="utf-8"), links_of(name, file_link))
    title = html.partition("<h1")[2].partition(">")[2].partition("<")[0]
    return framed(title, f'<article class="lesson">{html}</article>')


def scripts(root: Path) -> dict[str, bytes]:
    """Return the style sheets and the modules of the pages."""
    parts = [joinable(asset(name)) for name in FILES if name != "widget.js"]
    exports = "export { TimelineView, readModel, buildPanel, oneAtATime };"
    look = f"export const LOOK = {json.dumps(look_table())};"
    own = painted((ASSETS / "site.css").read_text(encoding="utf-8"))
    styles = [FORMATTER.get_style_defs("pre"), own, asset("timeline.css"), play_asset("play.css")]
    play = play_module((ASSETS / "play_host.js").read_text(encoding="utf-8"))
    found = {
        "timeline.js": "\n".join([*parts, look, exports]),
        "site.css": "\n".join(styles),
        "play.js": 'import { engine } from "./engine.js";\n' + play,
        "kept.js": play_asset("kept.js"),
        "puzzles.json": json.dumps(puzzles(root)),
    }
    found |= {name: (ASSETS / name).read_text(encoding="utf-8") for name in SCRIPTS}
    return {name: text.encode() for name, text in found.items()}


def puzzles(root: Path) -> list[dict]:
    """Return the eight puzzles: name, goal, numbers, and the step to begin with."""
    text = unsolved(root / "puzzles/eight.py").decode()
    found, cases = [], {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "CASES":
            cases = ast.literal_eval(node.value)
        if isinstance(node, ast.AsyncFunctionDef) and node.name in cases:
            ranks, layers, samples, steps, memory = cases[node.name]
            facts = {"ranks": ranks, "layers": layers, "samples": samples}
            found.append(
                {"name": node.name, "goal": ast.get_docstring(node), "steps": steps}
                | {"memory": memory, "text": ast.get_source_segment(text, node), **facts}
            )
    return found


def calls(root: Path) -> str:
    """Return what a step may call, as rows: the methods of a puzzle's model, with their facts."""
    tree = ast.parse((root / "puzzles/cluster/model.py").read_text(encoding="utf-8"))
    model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
    rows = []
    for each in model.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            takes = ast.unparse(each.args).removeprefix("self").removeprefix(", ")
            does = escape(" ".join(ast.get_docstring(each).split()))
            does = re.sub("`(.*?)`", r"<code>\1</code>", does)
            rows.append(f"<dt><code>{each.name}({escape(takes)})</code></dt><dd>{does}</dd>")
    return "".join(rows)


def reading(lesson: Lesson, before: list[Lesson], after: list[Lesson]) -> str:
    """Return the page of a lesson, with its neighbors."""
    links = [f'<a rel="prev" href="{each.name}.html">← {each.title}</a>' for each in before]
    links += [f'<a rel="next" href="{each.name}.html">{each.title} →</a>' for each in after]
    ends = f'<nav class="ends" aria-label="other lessons">{"".join(links)}</nav>'
    body = f'<article class="lesson">{lesson.article}</article>{ends}'
    return framed(lesson.title, body, up="../", scripts=("lesson.js",))


def index(lessons: list[Lesson]) -> str:
    """Return the first page."""
    rows = "".join(
        f'<li><a href="lessons/{each.name}.html"><b>{each.number}</b> {escape(each.title)}</a></li>'
        for each in lessons
    )
    words = (ASSETS / "welcome.md").read_text(encoding="utf-8")
    text = html_of(words, lambda address, said: f'<a href="{escape(address)}">{said}</a>')
    return framed(LAB, f'{text}<ol class="lessons">{rows}</ol>', "index.html")


def worker(engine: dict[str, bytes]) -> str:
    """Return the thread in which Python runs. It fetches what no script imports."""
    size = sum(len(data) for name, data in engine.items() if not name.endswith(".mjs"))
    lab = sha256(engine["engine/lab.zip"]).hexdigest()[:16]
    return f'const SIZE = {size}, LAB = "{lab}";\n' + (ASSETS / "worker.js").read_text(
        encoding="utf-8"
    )


def service_worker(pages: dict[str, bytes], engine: dict[str, bytes]) -> str:
    """Return the worker that keeps the site for a visit without a network."""
    digest = sha256()
    for name, data in sorted((pages | engine).items()):
        digest.update(name.encode() + data)
    text = (ASSETS / "sw.js").read_text(encoding="utf-8")
    lists = {"pages": ["./", *sorted(pages)], "engine": sorted(engine)}
    version = json.dumps(digest.hexdigest()[:16])
    return f"const VERSION = {version};\nconst FILES = {json.dumps(lists)};\n{text}"
