"""How things look and what they are called, as data for the browser.

The tables are those of `helpers.draw.style`: the static picture and the widget share one look.
"""

from dataclasses import asdict

from helpers.draw.style import FONTS, LOOKS, THEMES, YELLOW, ink_on, look
from helpers.trace import COLLECTIVES

# Where a box has no room for its letter, lines or dots take the letter's place.
TEXTURES = {"B": "falling", "I": "upright", "W": "dots", "update": "crossed", "wait": "rising"}
# Why a rank is idle: {for} is the action it waits to compute, {until} the rank it waits for.
CAUSES = {
    "dependency": "{for} needs a result of rank {until} that is not computed yet.",
    "imbalance": "{for} needs a result of rank {until} that is late: with equal stages on equal "
    "ranks it would be there.",
    "message": "The result of rank {until} is computed and on its way: {for} waits for the "
    "network.",
    "memory": "The next forward has its input, but there is no room for its activations: first "
    "{for} must free some.",
    "all-reduce": "Gradients are averaged with the other replicas.",
    "finished": "Nothing is left to do here; other ranks still work.",
}
# Which colour lies below which in a column of summed events, the same in every row.
ORDER = [*dict.fromkeys(each.colour for each in LOOKS.values()), YELLOW]


def look_of(kind: str) -> dict:
    """The look of a kind of event: colour, letter, word, texture, ink (of the letter)."""
    shown = look(kind)
    return {
        "kind": kind,
        "colour": shown.colour,
        "letter": shown.letter,
        "word": shown.word,
        "ink": ink_on(shown.colour),
        "texture": TEXTURES.get(kind, ""),
        "collective": kind in COLLECTIVES,
        "known": kind in LOOKS or kind in COLLECTIVES,
    }


def look_table() -> dict:
    """What is the same for every trace: themes, fonts, the words for idle time."""
    themes = {name: asdict(theme) for name, theme in THEMES.items()}
    return {"themes": themes, "fonts": FONTS, "causes": CAUSES, "order": ORDER}
