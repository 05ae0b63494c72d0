"""The look of every picture: one palette, one set of letters, light and dark.

Colors are Okabe and Ito's set ("Color Universal Design", 2008), which people with any common kind
of color vision can tell apart. Color is never the only sign: boxes carry letters, waiting is
hatched, and curves differ by dashes and markers too. No other file writes a color of this one:
Python imports it, JavaScript is given `look_table`, and CSS says var(--palette-blue), which
`painted` replaces as a page or a widget is made.
"""

import re
from dataclasses import asdict, dataclass

from helpers.trace import COLLECTIVES

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT_GREY, DARK_GREY = "#7F858D", "#B4B9C0", "#6b6b6b"
WHITE, INK = "#FFFFFF", "#14171B"  # letters on a dark color, and on a light one

# Narrower fonts than DejaVu come first: text is measured with DejaVu's widths, so it always fits.
FONTS = "'Helvetica Neue', 'Segoe UI', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colors around the data. Every picture paints its own background."""

    name: str
    background: str
    text: str
    muted: str  # axis labels, side notes
    grid: str
    band: str  # an empty lane
    wait: str  # the lines of the hatching

    def faded(self, colour: str, share: float = 0.45) -> str:
        """Return `colour` mixed with the background; share=1 is the color, 0 the background."""
        pairs = zip(_channels(colour), _channels(self.background), strict=True)
        return "#" + "".join(f"{round(share * c + (1 - share) * b):02X}" for c, b in pairs)


LIGHT = Theme("light", WHITE, "#1B1F24", "#59616B", "#D9DDE2", "#F1F3F5", "#8D949C")
DARK = Theme("dark", "#15181D", "#ECEEF1", "#A6AEB8", "#363C45", "#21262D", "#7C858F")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


@dataclass(frozen=True, slots=True)
class Look:
    """How one kind of event is drawn."""

    colour: str
    letter: str  # in the box
    word: str  # in the legend


LOOKS = {
    "F": Look(BLUE, "F", "forward"),
    "B": Look(ORANGE, "B", "backward"),
    "I": Look(VERMILLION, "I", "backward: gradient of the input"),
    "W": Look(GREEN, "W", "backward: gradient of the weights"),
    "update": Look(PURPLE, "U", "update"),
    "input": Look(SKY, "in", "input"),
    "send": Look(LIGHT_GREY, "send", "message"),
    "recv": Look(LIGHT_GREY, "recv", "message"),
    "wait": Look(GREY, "", "waiting"),
}


def look(kind: str) -> Look:
    """Return the look of a kind; collectives are gray, an unknown kind is yellow with its name."""
    if kind in COLLECTIVES:
        return LOOKS.get(kind, Look(LIGHT_GREY, kind, kind))
    return LOOKS.get(kind, Look(YELLOW, kind, kind))


def theme(name: str) -> Theme:
    """Return the theme called "light" or "dark".

    Raises:
        ValueError: if there is no theme of that name.
    """
    if name not in THEMES:
        raise ValueError(f"no theme {name!r}: choose 'light' or 'dark'")
    return THEMES[name]


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on `colour` (WCAG 2.1, relative luminance)."""
    shares = [c / 255 for c in _channels(colour)]
    r, g, b = (s / 12.92 if s <= 0.04 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return WHITE if 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18 else INK


def see_through(colour: str, share: float) -> str:
    """Return a color as CSS that lets what lies behind it through; share=0 is nothing but that."""
    return f"rgba({', '.join(map(str, _channels(colour)))}, {share:.2f})"


def painted(css: str) -> str:
    """Return CSS, or HTML with CSS in it, with each var(--palette-NAME) replaced by its color.

    NAME: a color as above ("light-grey"), a part of a theme ("dark-text"), a kind of event ("F"),
    or the letter on it ("on-F").

    Raises:
        ValueError: if there is no such color.
    """
    return re.sub(r"var\(--palette-([\w-]+)\)", lambda found: _colour(found[1]), css)


def _colour(name: str) -> str:
    if name in PALETTE:
        return PALETTE[name]
    known = ", ".join(PALETTE)
    raise ValueError(f"the palette has no color for var(--palette-{name}): choose from {known}")


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


PALETTE = {
    "black": BLACK,
    "white": WHITE,
    "ink": INK,
    "orange": ORANGE,
    "sky": SKY,
    "green": GREEN,
    "yellow": YELLOW,
    "blue": BLUE,
    "vermillion": VERMILLION,
    "purple": PURPLE,
    "grey": GREY,
    "light-grey": LIGHT_GREY,
    "dark-grey": DARK_GREY,
    **{f"{t.name}-{part}": each for t in THEMES.values() for part, each in asdict(t).items()},
    **{kind: each.colour for kind, each in LOOKS.items()},
    **{f"on-{kind}": ink_on(each.colour) for kind, each in LOOKS.items()},
}
