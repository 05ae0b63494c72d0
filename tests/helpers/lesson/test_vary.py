"""`vary`: sliders with a kernel, and without one what the function returns where they start."""

import pytest

from helpers.draw import curves
from helpers.lesson import vary
from helpers.lesson.vary import shown, sliders


def tell(temperature, seed):
    return f"story {seed} at {temperature}\n<end>"


def test_without_a_kernel_it_shows_the_first_of_all_values_or_names_the_button(capsys):
    vary(tell, temperature=(0.6, 0, 1.5), seed=range(3))
    assert capsys.readouterr().out == "story 0 at 0.6\n<end>\n"
    vary(tell, press="kill", temperature=(1, 2))
    assert capsys.readouterr().out == "Press 'kill' to see what happens.\n"


def moved(press):
    """Move the sliders of a function; return the box and what the function was asked."""
    asked = []

    def draw(**chosen):
        asked.append(chosen)
        return tell(**chosen)

    box = sliders(draw, press, {"temperature": [0.6, 0, 1.5], "seed": [0, 1]})
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


def test_text_stays_text_a_picture_keeps_its_words_and_a_list_is_refused():
    assert "&lt;end&gt;" in shown(tell(0, 0)).html
    assert "<img alt=" in shown(curves({"one": [2, 1]}))._repr_html_()
    with pytest.raises(TypeError, match="cannot show a list"):
        shown([1, 2])
