"""`vary`: a function of the lesson under sliders; without a kernel, its result where they start."""

from collections.abc import Callable, Iterable
from functools import cache
from html import escape

from helpers.draw.themed import hint, static
from helpers.lesson.pictures import picture
from helpers.lesson.shown import Shown, put
from helpers.ranks.pool import in_notebook


def vary(draw: Callable[..., object], press: str = "", **choices: Iterable) -> None:
    """Show what `draw` returns, with a slider for each of its arguments where a kernel runs.

    ``vary(tell, temperature=(0.6, 0, 0.3, 1, 1.5), seed=range(8))``

    Args:
        draw: takes the arguments by name; returns text, or a picture as `show` takes it. It's
            called once for each combination of values that the reader chooses.
        press: what a button says; then `draw` is called each time the button is pressed, and at
            no other time.
        choices: the values of each slider; it starts at the first of them.
    """
    values = {name: list(each) for name, each in choices.items()}
    if in_notebook() and not static():
        put(sliders(draw, press, values))
    elif press:
        put(shown(f"Press '{press}' to see what happens."))
    else:
        put(shown(draw(**{name: each[0] for name, each in values.items()})))


def sliders(draw: Callable[..., object], press: str, values: dict[str, list]) -> object:
    """Return the widget that `vary` shows where a kernel runs."""
    import ipywidgets

    draw = draw if press else cache(draw)
    controls = {
        name: ipywidgets.SelectionSlider(
            options=each if isinstance(each[0], str) else sorted(each),
            value=each[0],
            description=name.replace("_", " "),
            continuous_update=False,
            layout={"width": "420px"},
            style={"description_width": "120px"},
        )
        for name, each in values.items()
    }
    options = {"manual": bool(press), "manual_name": press} if press else {}
    box = ipywidgets.interactive(lambda **chosen: put(shown(draw(**chosen))), options, **controls)
    says = "Choose, then press the button." if press else "Let go of a slider: the page follows."
    box.children += (ipywidgets.HTML(hint(says)),)
    return box


def shown(thing: object) -> object:
    """Return text as a paragraph, and anything else as its picture."""
    if not isinstance(thing, str):
        return picture(thing)
    rows = "".join(f"<p>{escape(line)}</p>" for line in thing.splitlines())
    return Shown(f'<div style="max-width: 46em">{rows}</div>', thing)
