import json

import pytest

from helpers.draw import found
from helpers.draw.style import THEMES, look
from helpers.lesson import show
from helpers.simulate import simulate
from helpers.timeline import Timeline, compare, timeline
from helpers.timeline.page import CAUSES, ORDER, look_of
from helpers.trace import KINDS, Event, Trace
from helpers.trace.examples import data_parallel, pipeline


def test_a_timeline_says_what_it_shows(capsys):
    widget = timeline(data_parallel())
    assert widget.title == found(data_parallel())
    assert repr(widget) == f"<Timeline: {widget.title}>"
    assert widget.alt.startswith(f"Timeline. {widget.title}. Of 106 ms, rank 0 computes 62 %")
    assert timeline(data_parallel(), "Rank 2 is slow").title == "Rank 2 is slow"


def test_a_simulated_step_and_a_file_are_traces_too(tmp_path):
    from helpers.schedules import gpipe

    done = simulate(gpipe(2, 2))
    path = done.trace.save(tmp_path / "step.json")
    assert timeline(done).data == timeline(path).data == timeline(str(path)).data


# --- wrong input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("thing, word", [([1], "a list"), (None, "a NoneType"), (7, "an int")])
def test_what_is_no_trace_gets_one_sentence(thing, word):
    with pytest.raises(TypeError, match=rf"timeline\(\) needs a trace and got {word}: give it"):
        timeline(thing)
    with pytest.raises(TypeError, match=rf"compare\(\) needs a trace and got {word}"):
        compare(pipeline(), thing)


def test_saving_under_another_ending_or_two_traces_as_one_gets_one_sentence(tmp_path):
    with pytest.raises(ValueError, match="must end in .html, .svg, .png, .json or .json.gz"):
        timeline(pipeline()).save(tmp_path / "x.gif")
    with pytest.raises(ValueError, match="a Chrome trace holds one run, so save each trace"):
        compare(pipeline(), pipeline()).save(tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


# --- files ---------------------------------------------------------------------------------------


def test_a_timeline_is_saved_in_each_form(tmp_path):
    widget = timeline(pipeline())
    starts = {"html": b"<!doctype html>", "svg": b"<svg", "png": b"\x89PNG", "json": b"{"}
    for ending, start in starts.items():
        path = widget.save(tmp_path / "folder" / f"step.{ending}")
        assert path.read_bytes().startswith(start)
    assert Trace.load(tmp_path / "folder/step.json") == pipeline()
    assert compare(pipeline(), pipeline()).save(tmp_path / "two.svg").exists()


def test_a_button_gets_its_file_and_a_failure_its_sentence(monkeypatch):
    sent = []
    widget = compare(pipeline(), pipeline())
    monkeypatch.setattr(
        Timeline, "send", lambda self, content, buffers=(): sent.append((content, *buffers))
    )
    widget._heard(widget, {"save": "svg"}, [])
    widget._heard(widget, {"save": "json"}, [])
    (saved, data), (failed,) = sent
    assert saved == {"saved": "svg"} and data.startswith(b"<svg")
    assert failed["failed"] == "json" and "a Chrome trace holds one run" in failed["why"]


# --- one look, and the static twin ---------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, "something else"])
def test_the_widget_has_the_look_of_the_static_pictures(kind):
    seen, drawn = look_of(kind), look(kind)
    assert (seen["color"], seen["letter"], seen["word"]) == (
        drawn.color,
        drawn.letter,
        drawn.word,
    )
    assert drawn.color in ORDER
    if kind in ("B", "I", "W", "update", "wait"):
        assert seen["texture"], f"{kind} without its letter differs from F by color alone"


def test_the_page_gets_the_themes_and_a_sentence_for_every_cause():
    from helpers.simulate import CAUSES as SIMULATED

    look = json.loads(json.dumps(timeline(Trace([])).look))
    assert look["themes"]["dark"]["background"] == THEMES["dark"].background
    assert set(CAUSES) == set(SIMULATED) == set(look["causes"])


def test_a_saved_notebook_shows_the_static_twin(monkeypatch):
    shown = []
    monkeypatch.setattr("helpers.lesson.pictures.put", shown.append)
    trace = Trace([Event(0, "F", 0, 1)])
    monkeypatch.setenv("LAB_STATIC", "1")
    show(trace, live=lambda: timeline(trace))
    monkeypatch.delenv("LAB_STATIC")
    show(trace, live=lambda: timeline(trace))
    static, live = shown
    assert "<img alt=" in static._repr_html_() and isinstance(live, Timeline)
