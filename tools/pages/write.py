"""All pages, and what they load, in one folder."""

import ast
import json
import re
import shutil
import tempfile
from collections.abc import Callable
from hashlib import sha256
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlsplit

from helpers.check.student import fill
from helpers.draw.style import painted
from helpers.play.widget import HERE as PLAY
from helpers.play.widget import state
from helpers.schedules import one_f_one_b
from helpers.simulate import simulate
from helpers.timeline.packed import HERE as TIMELINE
from helpers.timeline.packed import module, style
from pages.engine import archive, unsolved, zip_of
from pages.first import first_answers
from pages.front import front
from pages.lesson import HEADING, Lesson, lesson_page
from pages.links import DOCUMENTS, links_of, page_of
from pages.markdown import FORMATTER, html_of
from pages.shell import HOME, SITE, framed
from pages.vendored import MATH, only_used, vendored

ASSETS = Path(__file__).parent / "assets"
SCRIPTS = "site front lesson search engine explore puzzles kept".split()
NOT_HERE = """<h1>There's no page here</h1><p>Perhaps it has moved: the
<a href="index.html">first page</a> has all lessons, and the field above searches them.</p>"""
SEARCH = """<h1>Search</h1><p role="status">Write a word into the field at the top.</p>
<ol class="found"></ol><noscript><p class="problem">A search needs JavaScript.</p></noscript>"""
COPY = "distributed-ml-lab"  # the lab itself, where no repository has an address
MARKER = ".distributed-ml-lab-site"
NO_SCRIPT = """<noscript><p class="problem">This page needs JavaScript. The lessons can be read
without it.</p></noscript>
"""


def write_site(root: Path, out: Path) -> list[str]:
    """Write the site into `out`, which is replaced if a site stands there; return its files.

    Raises:
        NotHad: if Pyodide can't be had.
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
    link = linker()
    lessons = [lesson_page(p, link) for p in sorted((root / "notebooks").glob("*.ipynb"))]
    for number, lesson in enumerate(lessons):
        around = lessons[max(0, number - 1) : number], lessons[number + 1 : number + 2]
        files[f"lessons/{lesson.name}.html"] = reading(lesson, *around).encode()
        files |= {f"lessons/{name}": data for name, data in lesson.files.items()}
    copy = lab_to_take(root)
    files["index.html"] = front(lessons, {n: len(data) for n, data in copy.items()}).encode()
    files |= {page: document(root / n, n, link).encode() for n, page in DOCUMENTS.items()}
    top = f"{urlsplit(SITE).path}/" if SITE else ""  # shown at any address
    files["404.html"] = framed("Not here", NOT_HERE, up=top).encode()
    for name, title in (
        ("play", "The schedule you can touch"),
        ("explore", "A schedule under sliders"),
        ("puzzles", "Training puzzles"),
    ):
        body = (ASSETS / f"{name}.html").read_text(encoding="utf-8") + first_answers(name)
        body = body.replace("@@CALLS@@", calls(root)) + NO_SCRIPT
        page = f"{name}.html"
        files[page] = framed(title, body, page, scripts=(f"{name}.js",)).encode()
    files |= {f"imgs/{path.name}": path.read_bytes() for path in (root / "imgs").glob("*.svg")}
    others = vendored(root)
    if MATH in others:
        others[MATH] = only_used(others[MATH], [files[n] for n in files if n.endswith(".html")])
    words = html_of(
        (ASSETS / "made_of.md").read_text("utf-8"), lambda to, t: f'<a href="{to}">{t}</a>'
    )
    made_of = framed(
        "What this site is made of", f'<div class="page">{words}</div>', "made_of.html"
    )
    files["made_of.html"] = made_of.encode()
    files["search.html"] = framed("Search", SEARCH, "search.html", scripts=("search.js",)).encode()
    files["search.json"] = json.dumps(found(lessons), ensure_ascii=False).encode()
    files |= scripts(root) | addresses(files)
    engine = {name: data for name, data in others.items() if name.startswith("engine/")}
    files |= {name: data for name, data in others.items() if name not in engine}
    engine["engine/lab.zip"] = archive(root)
    files["worker.js"] = worker(engine).encode()
    files = {name: without(data, others) for name, data in files.items()} | engine
    return files | copy


def lab_to_take(root: Path) -> dict[str, bytes]:
    """Return a student's copy, packed, for visitors who can't be told where to clone the lab."""
    if HOME:
        return {}
    with tempfile.TemporaryDirectory() as place:
        fill(copy := Path(place, COPY))
        paths = sorted(path for path in copy.rglob("*") if path.is_file())
        files = {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}
    return {f"{COPY}.zip": zip_of(files)}


def without(page: bytes, others: dict[str, bytes]) -> bytes:
    """Return a page that asks for nothing that couldn't be had."""
    if "minisearch.js" not in others:
        page = re.sub(rb'<form role="search".*?</form>', b"", page, flags=re.S)
    if MATH not in others:
        page = re.sub(rb'<link rel="preload".*?>\n', b"", page)
    return page


def found(lessons: list[Lesson]) -> list[dict]:
    """Return what a search looks through: each part of each lesson, its heading and its words."""
    rows = []
    for lesson in lessons:
        text = re.sub(r"<(pre|math|style|fieldset).*?</\1>", " ", lesson.article, flags=re.S)
        for part in re.split(r"(?=<h[23] id=)", text):
            heading = HEADING.match(part)
            words = unescape(" ".join(re.sub("<[^>]+>", " ", part).split()))
            facts = {"where": f"lessons/{lesson.name}.html{f'#{heading[2]}' if heading else ''}"}
            facts["title"] = unescape(re.sub("<.*?>", "", heading[3])) if heading else lesson.title
            rows.append({**facts, "lesson": f"{lesson.number} {lesson.title}", "text": words})
    return [{"id": number, **row} for number, row in enumerate(rows)]


def addresses(pages: dict[str, bytes]) -> dict[str, bytes]:
    """Return what those ask for who come by no link: machines that search, and cards of links."""
    robots = "User-agent: *\nAllow: /\n"
    if not SITE:
        return {"robots.txt": robots.encode()}
    from helpers.draw import lanes  # draws with matplotlib

    card = lanes(simulate(one_f_one_b(4, 8)).trace, "A plan: read it, simulate it, run it")
    found = [re.search(b'<link rel="canonical" href="(.*?)"', data) for data in pages.values()]
    urls = "".join(f"<url><loc>{each[1].decode()}</loc></url>\n" for each in found if each)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return {
        "robots.txt": f"{robots}Sitemap: {SITE}/sitemap.xml\n".encode(),
        "sitemap.xml": f'<urlset xmlns="{space}">\n{urls}</urlset>\n'.encode(),
        "card.png": card.png(),
    }


def linker() -> Callable[[str], str | None]:
    """Return what gives the address of a repository's file, where the repository's is known."""
    return lambda name: f"{HOME}/blob/main/{name}" if HOME else None


def document(path: Path, name: str, file_link: Callable[[str], str | None]) -> str:
    """Return the page of a document of the repository, such as docs/glossary.md."""
    html = html_of(path.read_text(encoding="utf-8"), links_of(name, file_link))
    title = html.partition("<h1")[2].partition(">")[2].partition("<")[0]
    return framed(title, f'<article class="lesson page">{html}</article>', page_of(name) or "")


def scripts(root: Path) -> dict[str, bytes]:
    """Return the style sheets and the modules of the pages."""
    tokens, *own = (
        painted((ASSETS / f"{name}.css").read_text(encoding="utf-8"))
        for name in ("tokens", "site", "tools")
    )
    styles = [tokens, FORMATTER.get_style_defs("pre"), *own]
    styles += [style(TIMELINE / "timeline.css", ".lab-timeline")]
    styles += [style(PLAY / "play.css", ".lab-play")]
    play = f"const STATE = {json.dumps(state())};\n" + module(PLAY / "play.js")
    play += (ASSETS / "play_page.js").read_text(encoding="utf-8")
    made = {
        "timeline.js": module(TIMELINE / "timeline.js"),
        "site.css": "\n".join(styles),
        "play.js": 'import { kept } from "./kept.js";\n' + play,
        "puzzles.json": json.dumps(puzzles(root)),
        "favicon.svg": painted((ASSETS / "favicon.svg").read_text(encoding="utf-8")),
    }
    names = [f"{name}.js" for name in SCRIPTS]
    made |= {name: (ASSETS / name).read_text(encoding="utf-8") for name in names}
    return {name: text.encode() for name, text in made.items()}


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
    """Return the page of a lesson, with its contents and its neighbors."""
    links = [f'<a rel="prev" href="{each.name}.html">← {each.title}</a>' for each in before]
    links += [f'<a rel="next" href="{each.name}.html">{each.title} →</a>' for each in after]
    rows = "".join(
        f'<li{" class=deep" if level == "3" else ""}><a href="#{name}">{words}</a></li>'
        for level, name, words in lesson.contents
    )
    body = f"""<div class="reading">
<nav class="around" aria-label="next lessons">{"".join(links)}</nav>
<header class="about"><p class="crumb">Lesson {lesson.number}</p>
<h1>{lesson.title}</h1><p class="question">{escape(lesson.question)}</p>
<p class="times">{lesson.times}</p></header>
<details class="toc"><summary>In this lesson</summary>
<nav aria-label="contents"><ol>{rows}</ol></nav>
<button type="button" data-code>Show all code</button></details>
<article class="lesson">{lesson.article}
<nav class="around ends" aria-label="other lessons">{"".join(links)}</nav></article></div>"""
    where = f"lessons/{lesson.name}.html"
    return framed(lesson.title, body, where, "../", ("lesson.js",), lesson.question or lesson.title)


def worker(engine: dict[str, bytes]) -> str:
    """Return the thread in which Python runs. It fetches what no script imports."""
    size = sum(len(data) for name, data in engine.items() if not name.endswith(".mjs"))
    lab = sha256(engine["engine/lab.zip"]).hexdigest()[:16]
    return f'const SIZE = {size}, LAB = "{lab}";\n' + (ASSETS / "worker.js").read_text(
        encoding="utf-8"
    )
