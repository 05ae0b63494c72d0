"""`show`: the static twin with its words, and the one switch between it and a live widget."""

import base64
import re
from html import unescape

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from helpers.draw import curves, lanes
from helpers.draw.themed import PICTURE, TIMELINE
from helpers.lesson import show, static
from helpers.lesson.pictures import picture
from helpers.timeline import timeline
from helpers.trace import Event, Trace

ALT = 'The loss falls from 7 to 4 & stays "there".'


def attribute(html, name):
    return unescape(re.search(rf'{name}="([^"]*)"', html).group(1))


def data(html):
    return base64.b64decode(attribute(html, "src").split("base64,")[1])


def test_a_matplotlib_figure_becomes_an_image_that_says_what_it_shows():
    figure = pyplot.figure(figsize=(3, 2))
    figure.add_subplot().plot([7, 4])
    shown = picture(figure, ALT)
    assert attribute(shown.html, "alt") == ALT
    assert repr(shown) == ALT
    assert attribute(shown.html, "width") == "288"
    assert not pyplot.fignum_exists(figure.number), "the notebook would show it twice"
    assert data(shown.html).startswith(b"\x89PNG")
    assert int.from_bytes(data(shown.html)[16:20]) == 2 * 288, "twice the pixels, for sharp screens"


def test_a_file_is_found_from_the_top_of_the_project_and_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.svg").write_text("<svg/>", encoding="utf-8")
    shown = picture("step.svg", ALT)
    assert data(shown.html) == b"<svg/>"
    assert attribute(shown.html, "src").startswith("data:image/svg+xml;base64,")


def test_what_shows_itself_is_shown_and_its_picture_where_nothing_runs(monkeypatch):
    put = []
    monkeypatch.setattr("helpers.lesson.pictures.put", put.append)
    widget, drawn = timeline(Trace([Event(0, "F", 0.0, 1.0)])), curves({"a": [3, 2]})
    show(widget)
    show(drawn)
    assert put == [widget, drawn]
    monkeypatch.setenv("LAB_STATIC", "1")
    assert static()
    data, facts = widget._repr_mimebundle_()  # GitHub shows no picture inside of HTML
    assert [*data] == ["image/png", PICTURE, "text/plain", TIMELINE] and facts["image/png"]["alt"]


def test_a_trace_is_drawn_and_its_title_stands_above_it():
    trace = Trace([Event(0, "F", 0.0, 1.0), Event(1, "B", 1.0, 2.0)])
    assert picture(trace).svg() == lanes(trace).svg()
    assert picture(trace, title="B waits for F").svg() == lanes(trace, "B waits for F").svg()


@pytest.mark.parametrize(
    "thing, alt, error, said",
    [
        (Figure(), "", ValueError, "This picture has no alternative text: say in one sentence"),
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
