import base64
import json
import re
import zlib
from html.parser import HTMLParser

from helpers.timeline import compare, timeline
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
