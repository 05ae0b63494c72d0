"""`show`: the static twin with its words, and the one switch between it and a live widget."""

import base64
import re
import zlib
from html import unescape

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from helpers.draw import timeline
from helpers.draw.themed import PICTURE, themed_file
from helpers.lesson import show, static
from helpers.lesson.pictures import picture

ALT = 'The loss falls from 7 to 4 & stays "there".'


def attribute(html, name):
    return unescape(re.search(rf'{name}="([^"]*)"', html).group(1))


def data(html):
    return base64.b64decode(attribute(html, "src").split("base64,")[1])


def test_a_matplotlib_figure_becomes_an_image_that_says_what_it_shows():
    figure = Figure(figsize=(3, 2))
    figure.add_subplot().plot([7, 4])
    shown = picture(figure, ALT)
    assert attribute(shown.html, "alt") == ALT
    assert repr(shown) == ALT
    assert attribute(shown.html, "width") == "288"
    assert data(shown.html).startswith(b"\x89PNG")
    assert int.from_bytes(data(shown.html)[16:20]) == 2 * 288, "twice the pixels, for sharp screens"


def test_a_shown_figure_is_closed_so_that_the_notebook_does_not_show_it_twice():
    figure = pyplot.figure()
    picture(figure, ALT)
    assert not pyplot.fignum_exists(figure.number)


def test_a_file_is_found_from_the_top_of_the_project_and_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.svg").write_text("<svg/>", encoding="utf-8")
    shown = picture("step.svg", ALT)
    assert data(shown.html) == b"<svg/>"
    assert attribute(shown.html, "src").startswith("data:image/svg+xml;base64,")


def test_a_picture_with_html_of_its_own_keeps_it_and_its_words():
    class Drawn:
        alt = "three ranks"

        def _repr_html_(self):
            return '<img alt="three ranks">'

    assert picture(Drawn()).html == '<img alt="three ranks">'
    assert repr(picture(Drawn())) == "three ranks"
    assert repr(picture(Drawn(), "other words")) == "other words"


def test_a_trace_is_drawn_as_a_timeline(monkeypatch):
    trace_room = pytest.importorskip("helpers.trace")
    pytest.importorskip("helpers.draw")
    events = [trace_room.Event(0, "F", 0.0, 1.0), trace_room.Event(1, "B", 1.0, 2.0)]
    shown = picture(trace_room.Trace(events, {}))
    assert "<img" in shown.html and "<svg" in shown.html
    assert attribute(shown.html, "alt").strip() == attribute(shown.html, "aria-label")
    named = picture(trace_room.Trace(events, {}), title="B waits for F")
    assert "B waits for F" in named.html and "B waits for F" not in shown.html
    monkeypatch.setenv("LAB_STATIC", "1")
    shown = picture(trace_room.Trace(events, {}))
    assert "<img" in shown.html and "<svg" not in shown.html
    svg = zlib.decompress(base64.b64decode(shown.kept[PICTURE]["svg"])).decode()
    assert svg == themed_file(timeline(trace_room.Trace(events, {})))
    assert repr(shown) == attribute(shown.html, "alt")
    data, facts = shown._repr_mimebundle_()  # GitHub shows no picture inside of HTML
    assert shown._repr_html_() is None and base64.b64decode(data["image/png"])[:4] == b"\x89PNG"
    assert facts == {"image/png": {"alt": shown.plain, "width": shown.width}} and shown.width > 600


def test_the_live_widget_is_shown_only_where_it_can_be(monkeypatch):
    put = []
    monkeypatch.setattr("helpers.lesson.pictures.put", put.append)

    class Widget:
        kept_as, recorded = "kept", staticmethod(lambda: {"head": 1})

    monkeypatch.setenv("LAB_STATIC", "1")
    assert static()
    show(Figure(), ALT, live=Widget)
    data, _ = put[0]._repr_mimebundle_()
    assert repr(put[0]) == ALT and data["kept"] == {"head": 1} and "image/png" in data
    show(Figure(), ALT, live=lambda: "another")
    assert [*put.pop()._repr_mimebundle_()[0]] == ["image/png"]

    monkeypatch.delenv("LAB_STATIC")
    assert not static()
    show(Figure(), ALT, live=Widget)
    assert isinstance(put[1], Widget) and put[0]._repr_mimebundle_() == {}
    show(Figure(), ALT)
    assert repr(put[2]) == ALT


@pytest.mark.parametrize(
    "thing, alt, error, said",
    [
        (Figure(), "", ValueError, "This picture has no alternative text: say in one sentence"),
        (Figure(), "  ", ValueError, "This picture has no alternative text"),
        ("README.md", ALT, ValueError, "show() takes .png and .svg files, and 'README.md'"),
        ("no.png", ALT, FileNotFoundError, "There is no file 'no.png', neither in this folder nor"),
        (3.5, ALT, TypeError, "show() cannot show a float: give it a trace, a picture"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(
    tmp_path, monkeypatch, thing, alt, error, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    with pytest.raises(error, match=re.escape(said)):
        show(thing, alt)
