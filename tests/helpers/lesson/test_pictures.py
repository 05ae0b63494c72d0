"""`show` and `vary`: a live widget where a kernel runs, else a picture with its words."""

import pytest

from helpers.draw import lanes
from helpers.draw.themed import PICTURE, TIMELINE
from helpers.lesson import show, vary
from helpers.lesson.pictures import picture
from helpers.lesson.vary import shown, sliders
from helpers.timeline import timeline
from helpers.trace import Event, Trace


def test_what_shows_itself_is_shown_and_its_picture_where_nothing_runs(monkeypatch):
    widget = timeline(Trace([Event(0, "F", 0.0, 1.0)]))
    assert picture(widget) is widget
    monkeypatch.setenv("LAB_STATIC", "1")
    data, facts = picture(widget)._repr_mimebundle_()  # GitHub shows no picture inside of HTML
    assert [*data] == ["image/png", PICTURE, "text/plain", TIMELINE] and facts["image/png"]["alt"]
    trace = Trace([Event(0, "F", 0.0, 1.0), Event(1, "B", 1.0, 2.0)])
    assert picture(trace).svg() == lanes(trace).svg()
    with pytest.raises(TypeError, match=r"show\(\) cannot show a float: give it a trace, a pictu"):
        show(3.5)


def tell(temperature, seed):
    return f"story {seed} at {temperature}\n<end>"


def moved(press):
    """Move the sliders of a function; return the box and what the function was asked."""
    asked = []
    draw = {"temperature": [0.6, 0, 1.5], "seed": [0, 1]}
    box = sliders(lambda **chosen: asked.append(chosen) or tell(**chosen), press, draw)
    temperature, seed = box.children[:2]
    assert temperature.options == (0, 0.6, 1.5) and temperature.value == 0.6
    for value in (1, 0, 1):
        seed.value = value
    return box, asked


def test_sliders_ask_once_for_each_choice_and_a_button_each_time_it_is_pressed(capsys):
    _, asked = moved(press="")
    assert asked == [{"temperature": 0.6, "seed": 0}, {"temperature": 0.6, "seed": 1}]
    box, asked = moved(press="kill")
    assert asked == [] and box.manual_button.description == "kill"
    for _ in range(2):
        box.manual_button.click()
    assert asked == [{"temperature": 0.6, "seed": 1}] * 2
    capsys.readouterr()
    vary(tell, temperature=(0.6, 0, 1.5), seed=range(3))  # without a kernel, where they start
    vary(tell, press="kill", temperature=(1, 2))
    assert capsys.readouterr().out == ("story 0 at 0.6\n<end>\nPress 'kill' to see what happens.\n")
    assert "&lt;end&gt;" in shown(tell(0, 0)).html
