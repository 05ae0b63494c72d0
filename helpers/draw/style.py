"""The palette: a color for each cause, the same in every picture, light and dark.

Colors are Okabe and Ito's set ("Color Universal Design", 2008), which people with any common kind
of color vision can tell apart. Color is never the only sign: boxes carry letters, waiting is
hatched, and curves differ by dashes and markers too.

No other file writes a color of this one: Python imports it, and CSS and JavaScript say
var(--palette-blue), which `painted` replaces as a page or a widget is made.
"""

import re
from typing import NamedTuple

from helpers.trace import COLLECTIVES

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
GRAY, LIGHT_GRAY, DARK_GRAY = "#7F858D", "#B4B9C0", "#6B6B6B"
NAVY, BROWN = "#00466E", "#8A5A00"  # for bars with more parts than hues
FONTS = "Helvetica Neue, Segoe UI, Arial, Liberation Sans, DejaVu Sans, sans-serif"
WHITE, BLACK = "#FFFFFF", "#14171B"  # letters on a dark color, and on a light one

# What lies around the data, on a light page and on a dark one: matplotlib draws the first, and an
# SVG knows both. So no other color may be one of these.
CARD, INK, MUTED = "#FFFFFE", "#1B1F24", "#59616B"  # the background, letters, side notes
GRID, BAND, WAIT = "#D9DDE2", "#F1F3F5", "#8D949C"  # lines at ticks, an empty lane, its hatching
LIGHT = {"background": CARD, "text": INK, "muted": MUTED, "grid": GRID, "band": BAND, "wait": WAIT}
DARK = dict(zip(LIGHT, "#15181D #ECEEF1 #A6AEB8 #363C45 #21262D #7C858F".split(), strict=True))
THEMES = {LIGHT[part].lower(): DARK[part].lower() for part in LIGHT}  # as matplotlib writes them

RANKS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GRAY)  # whose: a rank's, an expert's
CURVES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
UNKNOWN = YELLOW  # a kind or a part that this file doesn't know
HATCHED = ""  # no color


class Look(NamedTuple):
    """How one kind of event is drawn: its color, the letter in its box, its word in the legend."""

    color: str
    letter: str
    word: str


LOOKS = {
    "F": Look(BLUE, "F", "forward"),
    "B": Look(ORANGE, "B", "backward"),
    "I": Look(VERMILLION, "I", "backward: gradient of the input"),
    "W": Look(GREEN, "W", "backward: gradient of the weights"),
    "update": Look(PURPLE, "U", "update"),
    "input": Look(SKY, "in", "input"),
    "send": Look(LIGHT_GRAY, "send", "message"),
    "recv": Look(LIGHT_GRAY, "recv", "message"),
    "wait": Look(GRAY, "", "waiting"),
    "finished": Look(GRAY, "", "finished"),  # a wait of the cause "finished": a flat line
}
CAUSES = {  # of a part of a bar
    **{"forward": BLUE, "backward": ORANGE, "update": PURPLE, "input": SKY},
    **{"gradient of the input": VERMILLION, "gradient of the weights": GREEN},
    **{"weights": GREEN, "gradients": ORANGE, "optimizer": PURPLE, "optimizer states": PURPLE},
    **{"activations": SKY, "working": BROWN},
    **{"matrix products": BLUE, "other kernels": NAVY},
    **{"message": LIGHT_GRAY, "tensor-parallel messages": LIGHT_GRAY, "pipeline messages": GRAY},
    **{"averaging gradients": DARK_GRAY, "exposed": DARK_GRAY},
    **{"bubble": HATCHED, "waiting": HATCHED, "waiting for the host": YELLOW, "rest": GRID},
    **{"MFU": BLUE, "slow kernels": NAVY, "other operators": BROWN, "launch": YELLOW},
    **{"between kernels": GRID, "tail": PURPLE, "fault": VERMILLION},
}


def look(kind: str) -> Look:
    """Return the look of a kind; collectives are gray, an unknown kind is yellow with its name."""
    if kind in COLLECTIVES:
        return Look(LIGHT_GRAY, kind, kind)
    return LOOKS.get(kind, Look(UNKNOWN, kind, kind))


def part_color(part: str) -> str:
    return CAUSES.get(part, UNKNOWN)


def ink_on(color: str, strength: float = 1.0) -> str:
    """Return the ink that reads on a color (WCAG 2.1, relative luminance).

    strength: of the color over the page; on a pale one it's the ink of the page. A color may say so
    itself, as "#0072B273" does.
    """
    strength *= int(color[7:] or "ff", 16) / 255
    if strength < 0.7 or not color or color in LIGHT.values():
        return INK
    shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (s / 12.92 if s <= 0.04 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return WHITE if 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18 else BLACK


def see_through(color: str, share: float) -> str:
    """Return a color as CSS that lets what lies behind it through; share=0 is nothing but that."""
    channels = (str(int(color[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({', '.join(channels)}, {share:.2f})"


def painted(css: str) -> str:
    """Return CSS, or HTML with CSS in it, with each var(--palette-NAME) replaced by its color: of
    `PALETTE`, as "light-gray", "dark-text" (around the data), "F", or "on-F" (the letter on it)."""
    return re.sub(r"var\(--palette-([\w-]+)\)", lambda found: PALETTE[found[1]], css)


PALETTE = {  # every color above by its name: LIGHT_GRAY is "light-gray"
    **{
        name.lower().replace("_", "-"): each
        for name, each in globals().items()
        if isinstance(each, str) and each.startswith("#")
    },
    **{f"light-{part}": each for part, each in LIGHT.items()},
    **{f"dark-{part}": each for part, each in DARK.items()},
    **{kind: each.color for kind, each in LOOKS.items()},
    **{f"on-{kind}": ink_on(each.color) for kind, each in LOOKS.items()},
}
