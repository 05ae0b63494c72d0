"""Write the lab as a site, static pages that work from any web server: `make site`.

    python site/make.py                         into build/site
    python -m http.server -d build/site         look at it

Sphinx makes the pages, as conf.py tells it. Here stands what comes before: which documents it
reads, and what the live pages load. Nothing comes from another host: Pyodide, the Python of a
browser, and the type are fetched once from npm's registry (vendored.py).
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from helpers.check.marks import replaced  # noqa: E402
from helpers.check.student import fill  # noqa: E402
from helpers.draw.style import painted  # noqa: E402
from helpers.play.widget import HERE as PLAY  # noqa: E402
from helpers.play.widget import state  # noqa: E402
from helpers.syllabus import LESSONS  # noqa: E402
from helpers.timeline.packed import HERE as TIMELINE  # noqa: E402
from helpers.timeline.packed import module, style  # noqa: E402
from in_browser import answered  # noqa: E402
from lessons import HOME, cards, links_of, with_live_outputs  # noqa: E402
from vendored import NotHad, vendored  # noqa: E402

PURE = "trace draw cost schedules grid simulate search cluster timeline".split()
TOP = ("__init__.py", "files.py", "waits.py", "words.py")
COPY = "distributed-ml-lab"


def write_documents(out: Path) -> None:
    """Write what Sphinx reads: the site's own pages, the lessons, and the documents."""
    for path in [*HERE.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "TEACHING.md"]:
        name = path.relative_to(ROOT)
        to = out / (path.name if path.parent in (HERE, ROOT) else name)
        text = links_of(path.read_text(encoding="utf-8"), name.as_posix())
        if "teach" in str(name).lower():
            text = f"---\nnosearch: true\n---\n{text}"
        put(to, text.encode())
    for path in ROOT.glob("imgs/*.svg"):
        put(out / "imgs" / path.name, path.read_bytes())
    files: dict[str, bytes] = {}
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        notebook, more = with_live_outputs(path)
        put(out / "lessons" / path.name, json.dumps(notebook).encode())
        files |= more
    for name, data in files.items():
        put(out / "extra/lessons" / name, data)
    marks = {"LESSONS": cards(files), "COUNT": str(len(LESSONS)), "GET": "", "COPY": ""}
    marks["PLANS"] = (HERE / "plans.json").read_text(encoding="utf-8").replace("<", "\\u003c")
    if HOME:
        marks["GET"] = f"git clone {HOME}\ncd {HOME.rpartition('/')[2]}\n"
    else:  # visitors can't be told where to clone it
        with tempfile.TemporaryDirectory() as place:
            fill(Path(place, COPY))
            made = Path(shutil.make_archive(str(out / "extra" / COPY), "zip", place, COPY))
        marks["COPY"] = (
            f' Here it is: <a href="{made.name}">{made.name}</a> ({made.stat().st_size / 1e6:.0f} '
            "MB), with its tasks to be solved. Unpack it, and type in its folder:"
        )
    front = (out / "index.md").read_text(encoding="utf-8")
    for mark, words in marks.items():
        front = front.replace(f"@@{mark}@@", words)
    put(out / "index.md", front.encode())


def write_static(out: Path) -> None:
    """Write what the live pages load: scripts, styles, the lab's pure packages, Pyodide."""
    css = painted((HERE / "static/lab.css").read_text(encoding="utf-8"))
    css += style(TIMELINE / "timeline.css", ".lab-timeline") + style(PLAY / "play.css", ".lab-play")
    made = {path.name: path.read_bytes() for path in HERE.glob("static/*.js")}
    made |= {
        "lab.css": css.encode(),
        "timeline.js": module(TIMELINE / "timeline.js").encode(),
        "game.js": module(PLAY / "play.js").encode(),
        "levels.json": json.dumps(state()).encode(),
        "first.json": answered('{"hash": ""}').encode(),
        "favicon.svg": painted((HERE / "favicon.svg").read_text(encoding="utf-8")).encode(),
    }
    for name, data in (made | vendored(ROOT)).items():
        put(out / name, data)
    paths = [ROOT / "helpers" / name for name in TOP]
    for folder in PURE:
        paths += sorted((ROOT / "helpers" / folder).glob("*.[pjc]*"))
    with zipfile.ZipFile(out / "lab.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            text = path.read_text(encoding="utf-8")
            unsolved = replaced(text, lambda task, body: "...  # your step")
            archive.writestr(path.relative_to(ROOT).as_posix(), unsolved)
        archive.write(HERE / "in_browser.py", "in_browser.py")


def put(path: Path, data: bytes) -> None:
    """Write a file if it has changed, so that Sphinx reads again only what has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_bytes() != data:
        path.write_bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", metavar="FOLDER")
    out = parser.parse_args().out.resolve()
    read = out.with_name(f"{out.name}-read")  # what Sphinx reads
    if out.exists() and any(out.iterdir()) and not (out / "_static").exists():
        parser.error(f"{out} holds something else than a site: name another --out")
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(read / "extra", ignore_errors=True)
    try:
        write_documents(read)
        write_static(read / "static")
    except NotHad as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    # -n -W: a link that leads nowhere fails.
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-c", HERE]
    for kind in ("static", "extra"):
        sphinx += ["-D", f"html_{kind}_path={read / kind}"]
    code = subprocess.run([*sphinx, "-d", read / "doctrees", read, out]).returncode
    files = [path for path in out.rglob("*") if path.is_file()]
    print(f"{out}: {len(files)} files, {sum(p.stat().st_size for p in files) / 1e6:.1f} MB")
    print(f"look at it: python -m http.server -d {out}")
    return code


if __name__ == "__main__":
    sys.exit(main())
