"""The site's pages, without a browser: what a lesson becomes, and what the engine refuses."""

import base64
import functools
import io
import json
import re
import zipfile
import zlib
from pathlib import Path

import nbformat
import pytest

from helpers.draw import curves
from helpers.draw.code import fold_html
from helpers.draw.themed import PICTURE
from helpers.lesson.shown import PREDICT, REVEAL
from helpers.schedules import BadSchedule, check, parse
from helpers.simulate import Costs, simulate
from pages import shell, vendored, write
from pages.engine import archive
from pages.front import front
from pages.hero import KEPT, plans
from pages.in_browser import puzzle
from pages.lesson import TOUCHED, lesson_page, touched
from pages.links import DOCUMENTS
from pages.markdown import html_of
from pages.vendored import NotHad
from pages.write import document, found, linker, puzzles, reading, write_site

ROOT = Path(__file__).resolve().parents[2]
# The header of a PNG of 600 by 401 pixels, which is shown with half of them.
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x58\0\0\1\x91").decode()
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@functools.cache
def lesson_of(path: Path):
    """A lesson's page, where no name of a file is a link."""
    return lesson_page(path, lambda name: None)


def written(text: str) -> str:
    return html_of(text, lambda address, words: f"<a to={address}>{words}</a>")


def test_formulas_become_mathml_and_code_and_prices_stay():
    html = written("The mean $\\frac1n$ of `$x$` costs \\$5 and $$\\sum_k n_k$$")
    assert html.count("<math") == 2 and "<mfrac>" in html and 'display="block"' in html
    assert "<code>$x$</code>" in html and "costs $5 and" in html
    assert "</math>.</span> So" in written("every $t$. So") and "<span" not in html
    assert written("It's $3 or $4.").count("<math") == 0


def test_a_mentioned_lesson_is_a_link():
    files = {"05": "05.ipynb", "12": "12.ipynb"}

    def seen(text):
        return html_of(text, lambda address, words: f"<a {address}>{words}</a>", files.get)

    assert "as <a 12.ipynb>lesson 12</a>'s <code>lesson 05<" in seen("as lesson\n12's `lesson 05`")
    several = "Lessons <a 05.ipynb>05</a>, 07 and <a 12.ipynb>12</a>"
    assert several in seen("Lessons 05, 07 and 12")
    assert "<p><a x>see lesson 12</a></p>" in seen("[see lesson 12](x)")


@pytest.fixture
def notebook(tmp_path):
    """A lesson with one of each thing that a page shows."""
    new, code, out = (
        nbformat.v4.new_markdown_cell,
        nbformat.v4.new_code_cell,
        nbformat.v4.new_output,
    )
    asks = {"id": "micro_batches-1", "question": "1 < 2?", "choices": [["A", "yes"], ["B", "no"]]}
    told = {"id": "micro_batches-1", "right": "A", "because": "it is", "wrong": {"B": "it isn't"}}
    picture = {"image/png": PNG}
    shown = {"image/png": {"width": 300, "alt": "a picture"}}
    passed = {
        "text/html": f"<div>PASS {fold_html('One way to write it', '<pre>x = 1</pre>')}</div>"
    }
    cells = [
        new(
            "# Micro-batches\n\n*Reading 5 minutes · tasks 7 · machine 1*\n\n"
            "See [03](03_data_parallel_gradients.ipynb) and [it](../DP/x.py)."
        ),
        code(
            'predict("micro_batches-1", "1 < 2?", "yes", "no")',
            outputs=[out("display_data", {PREDICT: asks})],
        ),
        code("show(trace)", outputs=[out("display_data", picture, metadata=shown)]),
        code('reveal("micro_batches-1")', outputs=[out("display_data", {REVEAL: told})]),
        code(
            'mine = None\nanswer("micro_batches-2", mine)',
            outputs=[out("stream", text="? Not answered")],
        ),
        code('check("PP-2")', outputs=[out("execute_result", passed)]),
        code('check("PZ-1")', outputs=[out("execute_result", passed)]),
        code("import torch", metadata={"jupyter": {"source_hidden": True}}),
        code("print(1)", outputs=[out("stream", text="\x1b[31m1 < 2\x1b[0m")]),
    ]
    path = tmp_path / "06_micro_batches.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_picture_that_is_kept_for_both_themes_is_shown_as_that(tmp_path):
    svg = curves({"a": [3, 2]}).svg()
    kept = {"svg": base64.b64encode(zlib.compress(svg.encode())).decode()}
    data, facts = (
        {"image/png": PNG, PICTURE: kept},
        {"image/png": {"width": 300, "alt": "it falls"}},
    )
    output = nbformat.v4.new_output("display_data", data, metadata=facts)
    cells = [
        nbformat.v4.new_markdown_cell("# One"),
        nbformat.v4.new_code_cell("", outputs=[output]),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "01_one.ipynb")
    lesson = lesson_page(tmp_path / "01_one.ipynb", lambda name: None)
    assert lesson.files == {"img/01-1.svg": svg.encode()}
    assert 'src="img/01-1.svg"' in lesson.article and 'alt="it falls"' in lesson.article


def test_a_lesson_becomes_an_article(notebook):
    lesson = lesson_page(notebook, lambda name: None)
    html = lesson.article
    assert lesson.times == "5 minutes to read, 7 for its tasks" and "Reading 5" not in html
    assert lesson.title == "Micro-batches" and lesson.files.keys() == {"img/06-1.png"}
    assert (
        'href="03_data_parallel_gradients.html"' in html and 'title="DP/x.py, in the lab"' in html
    )
    assert '<img loading="lazy" src="img/06-1.png" width="300" height="200" alt="a pic' in html
    assert html.count("<button") == 3 and "predict(" not in html and "1 &lt; 2?" in html
    assert "It's A: it is" in html
    assert 'data-id="micro_batches-2"' in html and "answer(" not in html
    assert "PASS" not in html and "this cell checks what you wrote" in html
    # Not of the puzzles, which are solved on the site.
    assert html.count("One way to write it") == html.count("<pre>x = 1</pre></details>") == 1
    assert '<pre class="said">1 &lt; 2</pre>' in html
    folded = html.partition('<details class="folded"><summary>Set-up</summary>')[2]
    assert re.sub("<.*?>", "", folded.partition("</details>")[0]) == "import torch"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_link_of_a_lesson_leads_somewhere(path):
    lesson = lesson_of(path)
    pages = {each.with_suffix(".html").name for each in LESSONS} | {
        *(f"../{name}" for name in ("puzzles.html", *DOCUMENTS.values())),
        *(f"../{name}.html" for name in TOUCHED),
        *(f"../imgs/{path.name}" for path in (ROOT / "imgs").glob("*.svg")),
        *lesson.files,
    }
    ids = set(re.findall(r'\bid="([^"]+)"', lesson.article))
    assert (links := re.findall(r'(?:href|src)="([^"]+)"', lesson.article))
    for link in links:
        assert "://" in link or link.partition("#")[0] in pages or link.removeprefix("#") in ids
    page = reading(lesson, [], [])
    assert "\ue000" not in page and page.count("<h1") == 1 and lesson.question and lesson.times
    for level, name, words in lesson.contents:
        assert f'<h{level} id="{name}">' in page and f'<a href="#{name}">{words}</a>' in page
    assert {row["where"].partition("#")[2] for row in found([lesson])} <= {"", *ids}


def test_the_glossary_and_what_was_measured_are_pages_whose_links_lead_to_pages():
    for name, page in DOCUMENTS.items():
        html = document(ROOT / name, name, lambda file: None)
        links = re.findall(r'href="([^":#]+)"', html.partition("<article")[2])
        assert html.count("<h1") == 1 and not any(link.startswith("../") for link in links)
        for link in links:
            file = link.replace("lessons/", "notebooks/").replace(".html", ".ipynb")
            assert (ROOT / file).is_file() or link in (
                "glossary.html",
                "measured.html",
                "made_of.html",
            )
        assert f'<a href="{page}">' in front([])
        assert page == "measured.html" or "lessons/06_micro_batches.html" in links
    first = lesson_of(LESSONS[0]).article
    assert 'href="../glossary.html"' in first and "docs/glossary.md, in the lab" not in first


@pytest.mark.slow
def test_the_names_of_files_are_links_once_the_repository_has_an_address(monkeypatch):
    monkeypatch.setattr(write, "HOME", "https://git.example/lab")
    link = linker()
    assert link("DP/x.py") == "https://git.example/lab/blob/main/DP/x.py"
    for path in LESSONS:
        assert 'class="file"' not in lesson_page(path, link).article


def test_a_cell_that_is_played_in_the_lab_leads_to_the_page_on_which_it_is_played():
    assert touched('start = {"dp": 8, "flash": True}') == touched("%%ranks 3") == ""
    link = touched('x = explore(schedule="ZB-H1", ranks=4)')
    assert 'href="../explore.html#schedule=ZB-H1&amp;ranks=4"' in link
    assert 'href="../play.html#level=cap">Play this level<' in touched('game = play("cap")')
    lessons = [lesson_of(path).article for path in LESSONS]
    assert sum("../play.html#" in article for article in lessons) == 1


def test_each_plan_of_the_first_page_was_run_or_is_refused():
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert list(kept["measured"]) == list(plans()) and kept["start"] == list(plans())[0].split("|")
    for name, one in kept["measured"].items():
        schedule = parse("\n".join(f"{n}: {row}" for n, row in enumerate(name.split("|"))))
        if "hangs" in one:
            with pytest.raises(BadSchedule, match=re.escape(one["hangs"])):
                check(schedule)
            continue
        predicted = simulate(schedule, Costs(*3 * [kept["unit"]])).step_time
        assert predicted <= one["ms"] < 1.1 * predicted
        assert [len(row) for row in one["rows"]] == [8, 8, 8]
        assert max(end for row in one["rows"] for _, end in row) == pytest.approx(one["ms"], abs=3)


def test_a_site_with_an_address_has_cards_and_a_map(monkeypatch):
    assert "canonical" not in front([]) and 'property="og:title"' in front([])
    assert write.addresses({}).keys() == {"robots.txt"}
    for module in (shell, write):
        monkeypatch.setattr(module, "SITE", "https://pages.example/lab")
    page = front([])
    assert '<link rel="canonical" href="https://pages.example/lab/">' in page
    made = write.addresses({"index.html": page.encode(), "404.html": b""})
    assert b"<loc>https://pages.example/lab/</loc>" in made["sitemap.xml"]
    assert b"404" not in made["sitemap.xml"] and made["card.png"].startswith(b"\x89PNG")


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


def test_a_lesson_has_its_neighbors_and_its_place_on_the_first_page(notebook):
    lesson = lesson_page(notebook, lambda name: None)
    page = reading(lesson, [], [lesson])
    assert 'rel="next" href="06_micro_batches.html"' in page and "../lesson.js" in page
    assert "lessons/06_micro_batches.html" in front([lesson])


def test_pyodide_must_have_its_hash(tmp_path, monkeypatch):
    (tmp_path / "other.tgz").write_bytes(b"something else")
    monkeypatch.setenv("PYODIDE", str(tmp_path / "other.tgz"))
    with pytest.raises(NotHad, match="its hash differs"):
        vendored.vendored(ROOT)


def test_without_a_network_the_site_has_the_type_of_the_browser_and_no_search(
    tmp_path, monkeypatch, capsys
):
    def offline(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr("urllib.request.urlopen", offline)
    others = {k: v for k, v in vendored.PACKAGES.items() if not k.startswith("pyodide")}
    monkeypatch.setattr(vendored, "PACKAGES", others)  # without Pyodide there is no site
    assert vendored.vendored(tmp_path) == {}
    assert capsys.readouterr().err.count("left out: https://registry.npmjs.org/") == 4
    page = front([]).encode()
    assert b'role="search"' in page and b'role="search"' not in (bare := write.without(page, {}))
    assert b"fonts/" in page and b"fonts/" not in bare and write.without(b"x", {}) == b"x"


@pytest.mark.slow
def test_without_a_repository_a_visitor_takes_the_lab_from_the_site(monkeypatch):
    ((name, data),) = write.lab_to_take(ROOT).items()
    files = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert f"{write.COPY}/Makefile" in files and not any("tests/tasks/" in file for file in files)
    assert f'href="{name}"' in front([], {name: len(data)}) and ".zip" not in front([])
    monkeypatch.setattr(write, "HOME", "https://github.com/OWNER/NAME")
    assert write.lab_to_take(ROOT) == {}


def test_another_folder_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr("pages.write.everything", lambda root: {"index.html": b"1"})
    assert write_site(ROOT, tmp_path / "site") == ["index.html"]
    assert write_site(ROOT, tmp_path / "site") == ["index.html"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(FileExistsError, match="something else"):
        write_site(ROOT, tmp_path / "mine")
