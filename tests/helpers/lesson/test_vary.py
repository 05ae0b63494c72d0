"""vary(): sliders with a kernel, and without one what the function returns where they start."""

import pytest

from helpers.draw import curves
from helpers.lesson import vary
from helpers.lesson.sliders import Sliders
from helpers.lesson.vary import shown


def tell(temperature, seed):
    return f"story {seed} at {temperature}\n<end>"


def test_without_a_kernel_it_shows_the_first_of_all_values(capsys):
    vary(tell, temperature=(0.6, 0, 1.5), seed=range(3))
    assert capsys.readouterr().out == "story 0 at 0.6\n<end>\n"


def test_sliders_ask_once_for_each_choice_and_show_text_as_text():
    asked = []

    def draw(**chosen):
        asked.append(chosen)
        return shown(tell(**chosen))

    values = {"temperature": [0.6, 0, 1.5], "seed": [0, 1]}
    sliders = Sliders(draw, values, shown(tell(0.6, 0)))
    assert sliders.controls["temperature"].options == (0, 0.6, 1.5)
    assert "story 0 at 0.6" in sliders.page.value and "&lt;end&gt;" in sliders.page.value
    sliders.controls["seed"].value = 1
    sliders.controls["seed"].value = 0
    sliders.controls["seed"].value = 1
    assert asked == [{"temperature": 0.6, "seed": 1}]
    assert "story 1 at 0.6" in sliders.page.value


def test_with_a_button_it_is_asked_when_that_is_pressed_and_each_time(capsys):
    vary(tell, press="kill", temperature=(1, 2))
    assert capsys.readouterr().out == "Press 'kill' to see what happens.\n"
    asked = []

    def draw(step):
        asked.append(step)
        return shown(f"killed in step {step}, time {len(asked)}")

    sliders = Sliders(draw, {"step": [8, 2]}, shown(""), "kill")
    assert sliders.button in sliders.children and sliders.button.description == "kill"
    sliders.controls["step"].value = 2
    assert asked == [] and "killed" not in sliders.page.value
    sliders.button.click()
    sliders.button.click()
    assert asked == [2, 2] and "killed in step 2, time 2" in sliders.page.value
    assert not sliders.button.disabled


def test_numbers_are_sorted_and_words_stay_in_their_order():
    values = {"model": ["late", "early"], "seed": [3, 1]}
    sliders = Sliders(lambda **chosen: shown("a story"), values, shown("a story"))
    found = {name: control.options for name, control in sliders.controls.items()}
    assert found == {"model": ("late", "early"), "seed": (1, 3)}


def test_a_picture_keeps_its_alternative_text_and_a_list_is_refused():
    assert "<img alt=" in shown(curves({"one": [2, 1]}))._repr_html_()
    with pytest.raises(TypeError, match="cannot show a list"):
        shown([1, 2])
