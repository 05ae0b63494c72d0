"""Where one token looks: the weights that heads of attention give to the tokens before it."""

from collections.abc import Mapping, Sequence

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause
from helpers.draw.text import width_of
from helpers.words import percent

HIGH, ABOVE = 26.0, 46.0  # pixels: a token, and the room for the arrows above it
LEAST = 0.05  # a smaller weight has no arrow and no number


def looks(tokens: Sequence[str], heads: Mapping[str, Sequence[float]], title: str) -> Picture:
    """Draw for each head the weights with which one token looks back, as arrows and shades.

    Args:
        tokens: a text. heads: by name, the weights of its first tokens, as many as the head may
            see: the last of them is the token that looks.
    """
    canvas = Canvas()
    y = canvas.heading(title) + 8
    for name, weights in heads.items():
        canvas.text(PAD, y + 8, name, 12, canvas.theme.muted)
        y = _draw(canvas, tokens, weights, y + 16 + ABOVE) + 34
    canvas.height = y - 8
    spoken = "; ".join(f"{name}: {_in_text(tokens, weights)}" for name, weights in heads.items())
    text = " ".join(token.strip() for token in tokens)
    return Picture(canvas, title, f"{title}. The text: {text} {spoken}.")


def _draw(canvas: Canvas, tokens: Sequence[str], weights: Sequence[float], y: float) -> float:
    wide = [width_of(token.strip(), 13) + 12 for token in tokens]
    gap = min(8.0, (WIDE - 2 * PAD - sum(wide)) / max(1, len(tokens) - 1))
    lefts = [PAD + sum(wide[:n]) + n * gap for n in range(len(tokens))]
    middles = [left + width / 2 for left, width in zip(lefts, wide, strict=True)]
    here, color = len(weights) - 1, cause("attention")
    for n, token in enumerate(tokens):
        if n > here:  # not yet read
            canvas.text(middles[n], y + HIGH / 2, token.strip(), 13, canvas.theme.muted, "middle")
            continue
        fill = canvas.theme.faded(color, weights[n]) if weights[n] >= LEAST else canvas.theme.band
        canvas.box(lefts[n], y, wide[n], HIGH, fill, token.strip(), 13, bold=n == here)
        if weights[n] >= LEAST:
            canvas.text(middles[n], y + HIGH + 11, percent(weights[n]), 11, None, "middle")
    seen = [n for n in range(here) if weights[n] >= LEAST]
    for rank, n in enumerate(sorted(seen, reverse=True)):  # the nearer, the lower
        level = y - 10 - (ABOVE - 16) * (rank + 1) / max(1, len(seen))
        thick = 1 + 3 * weights[n]
        turn = [(middles[here], y), (middles[here], level), (middles[n], level)]
        canvas.line(turn, color, thick)
        canvas.arrow((middles[n], level), (middles[n], y - 1), color, thick, 8)
    return y + HIGH


def _in_text(tokens: Sequence[str], weights: Sequence[float]) -> str:
    most = sorted(zip(weights, tokens, strict=False), reverse=True)
    shown = [f"{token.strip()!r} {percent(w)}" for w, token in most if w >= LEAST]
    return f"{tokens[len(weights) - 1].strip()!r} looks at {', '.join(shown)}"
