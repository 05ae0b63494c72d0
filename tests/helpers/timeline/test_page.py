"""The saved page, the module of JavaScript in it, the program, and a picture that is clicked."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser

import pytest

from helpers.draw import process_grid
from helpers.timeline import Clickable, compare, timeline
from helpers.timeline.__main__ import main
from helpers.timeline.page import ASSETS, FILES, asset, module_text
from helpers.trace import Event, Trace
from helpers.trace.examples import pipeline


def tags(html):
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(html)
    return found


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


def test_the_page_asks_for_nothing():
    html = compare(pipeline(), pipeline(2, 2)).html()
    for tag, attributes in tags(html):
        assert not {"src", "href", "action", "data-src"} & set(attributes), tag
        assert tag not in ("link", "iframe", "object", "embed", "base"), tag
    assert not re.search(r"^\s*import\b|\bimport\(", html, re.M)
    assert "http://www.w3.org/2000/svg" in html  # the name of a format, which nobody fetches
    assert not re.search(r"https?://", html.replace("http://www.w3.org/2000/svg", ""))


def test_the_page_holds_the_same_data_as_the_widget():
    widget = timeline(pipeline())
    data = data_of(widget.html())
    assert data["head"] == json.loads(json.dumps(widget.data["head"]))
    assert zlib.decompress(base64.b64decode(data["body"])) == widget.data["body"]
    assert data["look"] == json.loads(json.dumps(widget.look))


def test_no_text_of_a_trace_gets_out_of_its_place():
    bad = "</script><script>alert(1)</script><!--@@MODULE@@"
    trace = Trace([Event(0, bad, 0, 1, name=bad, info={bad: bad})], {"title": bad})
    html = timeline(trace).html()
    assert [tag for tag, _ in tags(html)].count("script") == 2
    assert data_of(html)["head"]["parts"][0]["kinds"][0]["kind"] == bad
    assert "<title>&lt;/script&gt;" in html


NAMES = re.compile(
    r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+|\{[^}]*\}|\[[^\]]*\])", re.M
)


IMPORTS = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";$', re.M)


ALONE = ("standalone.js", "steps.js")  # for the saved page, and for pictures without a timeline


def test_every_script_is_joined_or_stands_alone():
    assert {path.name for path in ASSETS.glob("*.js")} == {*FILES, *ALONE}


def test_no_name_is_given_twice():
    names = [name for file in (*FILES, *ALONE) for name in NAMES.findall(asset(file))]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice and len(names) > 60


def test_a_file_imports_only_what_a_file_before_it_exports():
    for place, file in enumerate((*FILES, "steps.js")):
        found = IMPORTS.findall(asset(file))
        assert asset(file).count("\nimport ") + asset(file).startswith("import ") == len(found), (
            file
        )
        for names, source in found:
            assert source in FILES[:place], f"{file} imports {source}, which stands after it"
            for name in re.findall(r"\w+", names):
                assert re.search(
                    rf"^export (?:function|const|class) {name}\b", asset(source), re.M
                ), name


def test_the_module_has_one_export_and_no_import():
    text = module_text()
    assert re.findall(r"^export .*", text, re.M) == ["export default { render };"]
    assert not re.search(r"^\s*import\b", text, re.M)


def test_nothing_is_fetched():
    for path in ASSETS.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//cdn|@import|url\(|fetch\(|XMLHttpRequest", text), (
            path.name
        )


def test_the_program_makes_a_page(tmp_path, capsys):
    path = pipeline().save(tmp_path / "step.json")
    page = tmp_path / "step.html"
    assert main([str(path), "-o", str(page)]) == 0
    out = capsys.readouterr().out
    assert "GPipe, 4 stages, 6 micro-batches, 291 ms" in out and str(page) in out
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_of_a_profile_it_draws_three_lanes_where_asked(tmp_path, capsys):
    rows = [("ProfilerStep#1", 0, 100), ("input", 0, 20), ("forward", 20, 95), ("aten::mm", 20, 90)]
    events = [
        {"ph": "X", "name": name, "cat": "user_annotation", "ts": a, "dur": b - a, "pid": 1}
        for name, a, b in rows
    ]
    events[3]["cat"] = "cpu_op"
    profile = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}
    path, page = tmp_path / "profile.json", tmp_path / "profile.html"
    path.write_text(json.dumps(profile))
    assert main([str(path), "--lanes", "-o", str(page)]) == 0
    assert "aten::mm" not in page.read_text(encoding="utf-8")
    assert page.stat().st_size > 10_000


def test_every_picture_has_a_shape_for_every_other_one():
    names = {"all": None} | {f"rank {rank}": rank for rank in range(4)}
    shown = Clickable({name: process_grid(2, 2, rank) for name, rank in names.items()})
    assert list(shown.pages) == list(names)
    for (svg,) in shown.pages.values():
        assert all(f"<title>{name}</title>" in svg for name in list(names)[1:])
    assert shown.alt.startswith("2 x 2") and "2 x 2" in repr(shown)
    assert [(name, len(kept)) for name, kept in shown.recorded()["series"]] == [
        (name, 1) for name in names
    ]


def test_without_pictures():
    with pytest.raises(ValueError, match="at least one"):
        Clickable({})
