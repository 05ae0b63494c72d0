"""The look of every picture: one palette, one set of letters, light and dark.

Colors are Okabe and Ito's set ("Color Universal Design", 2008), which people with any common kind
of color vision can tell apart. Color is never the only sign: boxes carry letters, waiting is
hatched, and curves differ by dashes and markers too.

A drawing asks for a color by what it stands for: `cause("activations")`. So the same cause has the
same color in a timeline, a bar and a drawing; no drawing and no lesson names a hue. What has no
cause, such as "the second of three ranks", takes its color from `RANKS`, and a curve from `CURVES`.

No other file writes a color of this one: Python imports it, JavaScript is given `look_table`, and
CSS says var(--palette-blue), which `painted` replaces as a page or a widget is made.
"""

import re
from dataclasses import asdict, astuple, dataclass

from helpers.trace import COLLECTIVES

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GRAY, LIGHT_GRAY, DARK_GRAY = "#7F858D", "#B4B9C0", "#6b6b6b"
NAVY, BROWN, PALE = "#00466E", "#8A5A00", "#DDE1E6"  # for bars with more parts than hues
WHITE, INK = "#FFFFFF", "#14171B"  # letters on a dark color, and on a light one

# Narrower fonts than DejaVu come first: text is measured with DejaVu's widths, so it always fits.
FONTS = "'Helvetica Neue', 'Segoe UI', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


def pair(light: str, dark: str) -> str:
    """Return a color as CSS: the first on a light page, the second on a dark one."""
    return light if light == dark else f"light-dark({light}, {dark})"


def sides(color: str) -> tuple[str, str]:
    """Return what a color is on a light page and on a dark one."""
    found = re.fullmatch(r"light-dark\((.+), (.+)\)", color)
    return (found[1], found[2]) if found else (color, color)


@dataclass(frozen=True, slots=True)
class Theme:
    """The colors around the data. Every picture paints its own background.

    Those of a canvas are pairs, for light and dark pages at once; see `pair`.
    """

    name: str
    background: str
    text: str
    muted: str  # axis labels, side notes
    grid: str
    band: str  # an empty lane
    wait: str  # the lines of the hatching

    def faded(self, color: str, share: float = 0.45, dark: float | None = None) -> str:
        """Return `color` mixed with the background; share=1 is the color, 0 the background.

        dark: the share on a dark page, if that's another one.
        """
        shares = share, share if dark is None else dark
        return pair(*map(_mixed, sides(color), sides(self.background), shares))


def _mixed(color: str, background: str, share: float) -> str:
    pairs = zip(_channels(color), _channels(background), strict=True)
    return "#" + "".join(f"{round(share * c + (1 - share) * b):02X}" for c, b in pairs)


LIGHT = Theme("light", WHITE, "#1B1F24", "#59616B", "#D9DDE2", "#F1F3F5", "#8D949C")
DARK = Theme("dark", "#15181D", "#ECEEF1", "#A6AEB8", "#363C45", "#21262D", "#7C858F")
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


@dataclass(frozen=True, slots=True)
class Look:
    """How one kind of event is drawn."""

    color: str
    letter: str  # in the box
    word: str  # in the legend

    @property
    def colour(self) -> str:
        """The older name of `color`, for one release."""
        return self.color


WAITING = ""  # no color: hatched
CAUSES = {
    # what a rank computes
    "forward": BLUE,
    "backward": ORANGE,
    "gradient of the input": VERMILLION,
    "gradient of the weights": GREEN,
    "update": PURPLE,
    "input": SKY,
    "matrix products": BLUE,
    "other kernels": NAVY,
    # what it sends
    "message": LIGHT_GRAY,
    "tensor-parallel messages": LIGHT_GRAY,
    "pipeline messages": GRAY,
    "averaging gradients": DARK_GRAY,
    # why it doesn't compute
    "waiting": WAITING,
    "bubble": WAITING,
    "waiting for the host": YELLOW,
    "rest": PALE,
    # what a share of the peak goes to
    "MFU": BLUE,
    "slow kernels": NAVY,
    "other operators": BROWN,
    "launch": YELLOW,
    "between kernels": PALE,
    "exposed": DARK_GRAY,
    "tail": PURPLE,
    # what its memory is for
    "weights": GREEN,
    "gradients": ORANGE,
    "optimizer": PURPLE,
    "optimizer states": PURPLE,
    "activations": SKY,
    "working": BROWN,
    # the bits of a number
    "exponent": ORANGE,
    "mantissa": BLUE,
    "range": SKY,
    "computing": BLUE,
    # what drawings point at
    "model": LIGHT_GRAY,
    "embedding": YELLOW,
    "head": YELLOW,
    "norm": PALE,
    "attention": SKY,
    "MLP": PURPLE,
    "sum": PURPLE,
    "partial sum": SKY,
    "count": BLUE,
    "fault": VERMILLION,
}
RANKS = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW, GRAY)  # whose: a rank's, an expert's
CURVES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
UNKNOWN = YELLOW  # a kind or a part that this file doesn't know


def cause(name: str) -> str:
    """Return the color of what something is for; `WAITING` is no color but the hatching.

    Raises:
        ValueError: if the table has no such cause.
    """
    if name not in CAUSES:
        raise ValueError(f"no cause {name!r} has a color: choose from {', '.join(CAUSES)}")
    return CAUSES[name]


LOOKS = {
    "F": Look(cause("forward"), "F", "forward"),
    "B": Look(cause("backward"), "B", "backward"),
    "I": Look(cause("gradient of the input"), "I", "backward: gradient of the input"),
    "W": Look(cause("gradient of the weights"), "W", "backward: gradient of the weights"),
    "update": Look(cause("update"), "U", "update"),
    "input": Look(cause("input"), "in", "input"),
    "send": Look(cause("message"), "send", "message"),
    "recv": Look(cause("message"), "recv", "message"),
    "wait": Look(GRAY, "", "waiting"),
    "finished": Look(GRAY, "", "finished"),  # a wait of the cause "finished": a flat line
}


def look(kind: str) -> Look:
    """Return the look of a kind; collectives are gray, an unknown kind is yellow with its name."""
    if kind in COLLECTIVES:
        return LOOKS.get(kind, Look(cause("message"), kind, kind))
    return LOOKS.get(kind, Look(UNKNOWN, kind, kind))


def theme(name: str) -> Theme:
    """Return the colors of both themes, for a canvas whose files are "light" or "dark".

    Raises:
        ValueError: if there is no theme of that name.
    """
    if name not in THEMES:
        raise ValueError(f"no theme {name!r}: choose 'light' or 'dark'")
    _, *both = zip(astuple(LIGHT), astuple(DARK), strict=True)
    return Theme(name, *(pair(*each) for each in both))


def ink_on(color: str) -> str:
    """Return black or white, whichever reads better on `color` (WCAG 2.1, relative luminance)."""
    return pair(*map(_ink_on, sides(color)))


def _ink_on(color: str) -> str:
    shares = [c / 255 for c in _channels(color)]
    r, g, b = (s / 12.92 if s <= 0.04 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return WHITE if 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.18 else INK


def see_through(color: str, share: float) -> str:
    """Return a color as CSS that lets what lies behind it through; share=0 is nothing but that."""
    return f"rgba({', '.join(map(str, _channels(color)))}, {share:.2f})"


def painted(css: str) -> str:
    """Return CSS, or HTML with CSS in it, with each var(--palette-NAME) replaced by its color.

    NAME: a color as above ("light-gray"), a part of a theme ("dark-text"), a kind of event ("F"),
    or the letter on it ("on-F").

    Raises:
        ValueError: if there is no such color.
    """
    return re.sub(r"var\(--palette-([\w-]+)\)", lambda found: _color(found[1]), css)


def _color(name: str) -> str:
    if name in PALETTE:
        return PALETTE[name]
    known = ", ".join(PALETTE)
    raise ValueError(f"the palette has no color for var(--palette-{name}): choose from {known}")


def _channels(color: str) -> list[int]:
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


PALETTE = {  # every color above by its name: LIGHT_GRAY is "light-gray"
    **{
        name.lower().replace("_", "-"): each
        for name, each in globals().items()
        if isinstance(each, str) and each.startswith("#")
    },
    **{f"{t.name}-{part}": each for t in THEMES.values() for part, each in asdict(t).items()},
    **{kind: each.color for kind, each in LOOKS.items()},
    **{f"on-{kind}": ink_on(each.color) for kind, each in LOOKS.items()},
}
