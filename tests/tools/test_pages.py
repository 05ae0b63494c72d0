"""The site's pages, without a browser: what a lesson becomes, and what the engine refuses."""

import base64
import io
import re
import zipfile
from pathlib import Path

import nbformat
import pytest

from helpers.lesson.shown import PREDICT, REVEAL, TIMELINE
from pages.engine import EngineError, archive, pyodide
from pages.in_browser import puzzle
from pages.lesson import lesson_page
from pages.links import DOCUMENTS
from pages.markdown import html_of
from pages.write import document, index, linker, puzzles, reading, service_worker, write_site

ROOT = Path(__file__).resolve().parents[2]
# The header of a PNG of 600 by 401 pixels, which is shown with half of them.
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x58\0\0\1\x91").decode()
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def written(text: str) -> str:
    return html_of(text, lambda address, words: f"<a to={address}>{words}</a>")


def test_formulas_become_mathml_and_code_and_prices_stay():
    html = written("The mean $\\frac1n$ of `$x$` costs \\$5 and $$\\sum_k n_k$$")
    assert html.count("<math") == 2 and "<mfrac>" in html and 'display="block"' in html
    assert "<code>$x$</code>" in html and "costs $5 and" in html
    assert written("It's $3 or $4.").count("<math") == 0


@pytest.fixture
def notebook(tmp_path):
    """A lesson with one of each thing that a page shows."""
    new, code, out = (
        nbformat.v4.new_markdown_cell,
        nbformat.v4.new_code_cell,
        nbformat.v4.new_output,
    )
    asks = {"id": "L06-1", "question": "1 < 2?", "choices": [["A", "yes"], ["B", "no"]]}
    told = {"id": "L06-1", "right": "A", "because": "it is", "wrong": {"B": "it isn't"}}
    picture = {"image/png": PNG, TIMELINE: {"head": {}, "body": ""}}
    shown = {"image/png": {"width": 300, "alt": "a picture"}}
    cells = [
        new("# Micro-batches\n\nSee [03](03_data_parallel_gradients.ipynb) and [it](../DP/x.py)."),
        code(
            'predict("L06-1", "1 < 2?", "yes", "no")',
            outputs=[out("display_data", {PREDICT: asks})],
        ),
        code("show(trace)", outputs=[out("display_data", picture, metadata=shown)]),
        code('reveal("L06-1")', outputs=[out("display_data", {REVEAL: told})]),
        code('mine = None\nanswer("L06-2", mine)', outputs=[out("stream", text="? Not answered")]),
        code('check("PP-2")', outputs=[out("stream", text="PP-2  PASS")]),
        code("print(1)", outputs=[out("stream", text="\x1b[31m1 < 2\x1b[0m")]),
    ]
    path = tmp_path / "06_micro_batches.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_lesson_becomes_an_article(notebook):
    lesson = lesson_page(notebook, lambda name: None)
    html = lesson.article
    assert lesson.title == "Micro-batches" and lesson.files.keys() == {
        "img/06-1.png",
        "img/06-1.json",
    }
    assert (
        'href="03_data_parallel_gradients.html"' in html and 'title="DP/x.py, in the lab"' in html
    )
    assert '<img loading="lazy" src="img/06-1.png" width="300" height="200" alt="a pic' in html
    assert html.count("<button") == 3 and "predict(" not in html and "1 &lt; 2?" in html
    assert 'data-timeline="img/06-1.json"' in html and "It's A: it is" in html
    assert 'data-id="L06-2"' in html and "answer(" not in html
    assert "PASS" not in html and "this cell checks what you wrote" in html
    assert '<pre class="said">1 &lt; 2</pre>' in html


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_link_of_a_lesson_leads_somewhere(path):
    lesson = lesson_page(path, lambda name: None)
    pages = {each.with_suffix(".html").name for each in LESSONS} | {
        *(f"../{name}" for name in ("puzzles.html", *DOCUMENTS.values())),
        *lesson.files,
    }
    ids = set(re.findall(r'\bid="([^"]+)"', lesson.article))
    assert (links := re.findall(r'(?:href|src|data-timeline)="([^"]+)"', lesson.article))
    for link in links:
        assert "://" in link or link in pages or link.removeprefix("#") in ids, link
    assert "\ue000" not in lesson.article and lesson.article.count("<h1") == 1


def test_the_glossary_and_what_was_measured_are_pages_whose_links_lead_to_pages():
    for name, page in DOCUMENTS.items():
        html = document(ROOT / name, name, lambda file: None)
        links = re.findall(r'href="([^":#]+)"', html.partition("<article")[2])
        assert html.count("<h1") == 1 and not any(link.startswith("../") for link in links)
        for link in links:
            file = link.replace("lessons/", "notebooks/").replace(".html", ".ipynb")
            assert (ROOT / file).is_file() or link in ("glossary.html", "measured.html")
        assert f'<a href="{page}">' in index([])
        assert page == "measured.html" or "lessons/06_micro_batches.html" in links
    first = lesson_page(LESSONS[0], lambda name: None).article
    assert 'href="../glossary.html"' in first and "docs/glossary.md, in the lab" not in first


def test_the_names_of_files_are_links_once_the_repository_has_an_address(tmp_path):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    known = re.sub(
        '^repository = ".*"', 'repository = "https://git.example/lab/"', text, flags=re.M
    )
    (tmp_path / "pyproject.toml").write_text(known, encoding="utf-8")
    link = linker(tmp_path)
    assert link("DP/x.py") == "https://git.example/lab/blob/main/DP/x.py"
    for path in LESSONS:
        assert 'class="file"' not in lesson_page(path, link).article


def test_the_puzzles_come_without_their_solutions():
    eight = puzzles(ROOT)
    assert len(eight) == 8 and all("your step" in each["text"] for each in eight)
    assert not any(
        "set_final_weight" in each["text"] or "SOLUTION" in each["text"] for each in eight
    )
    with zipfile.ZipFile(io.BytesIO(archive(ROOT))) as packed:
        assert b"set_final_weight(layer" not in packed.read("puzzles/eight.py")
        assert not any(b"BEGIN SOLUTION" in packed.read(name) for name in packed.namelist())


@pytest.mark.parametrize(
    "body, problem, where, printed",
    [
        ("print('x' * 10_000_000)", "no rank has handed in", "", 20_040),
        ("raise SystemExit(3)", "SystemExit: 3", "line 2: raise SystemExit(3)", 0),
        ("raise MemoryError", "MemoryError", "line 2: raise MemoryError", 0),
        ("model.load_weights(7)", "layer 7", "line 2: model.load_weights(7)", 0),
    ],
)
def test_a_wrong_step_is_told_its_own_line(body, problem, where, printed, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "puzzles")
    said = puzzle(
        {"name": "basic", "text": f"async def basic(model):\n    {body}\n    return model"}
    )
    assert problem in said["problem"] and said["where"] == where
    assert len(said["printed"]) <= printed


def test_the_worker_of_another_site_is_another(notebook):
    lesson = lesson_page(notebook, lambda name: None)
    page = reading(lesson, [], [lesson])
    assert 'rel="next" href="06_micro_batches.html"' in page and "../lesson.js" in page
    assert "lessons/06_micro_batches.html" in index([lesson])
    assert service_worker({"a": b"1"}, {}) != service_worker({"a": b"2"}, {})


def test_pyodide_must_have_its_hash(tmp_path, monkeypatch):
    (tmp_path / "other.tgz").write_bytes(b"something else")
    monkeypatch.setenv("PYODIDE", str(tmp_path / "other.tgz"))
    with pytest.raises(EngineError, match="its hash differs"):
        pyodide(ROOT)


def test_another_folder_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("pages.write.everything", lambda root: {"index.html": b"1"})
    assert write_site(ROOT, tmp_path / "site") == ["index.html"]
    assert write_site(ROOT, tmp_path / "site") == ["index.html"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(FileExistsError, match="something else"):
        write_site(ROOT, tmp_path / "mine")
