"""A model cut into pipeline stages: what goes right, and what comes back.

A model is a row of pieces: the embedding, its layers, and the head with the loss. A cut says how
many layers each stage holds; the embedding is always in the first stage, the head in the last.
"""

from collections.abc import Sequence

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause
from helpers.draw.text import width_of
from helpers.words import listed

PIECE, HIGH = 44.0, 74.0  # pixels of a piece of the model
PIECES = {"emb": cause("embedding"), "head": cause("head")}
LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
GAP = 150.0  # between two stages: room for what travels


def stages(counts: Sequence[int] = (2, 2, 2), message: str = "") -> Picture:
    """Draw a model cut into stages, y going right and its gradient coming back.

    counts: the layers of each stage. message: the shape of what travels, "3 × 128 × 64".
    """
    canvas = Canvas()
    title = "One tensor goes right, one of the same shape comes back"
    canvas.heading(title)
    pieces = pieces_of(counts)
    widths = [len(names) * PIECE + 16 for names in pieces]
    gap = min(GAP, (WIDE - 2 * PAD - 112 - sum(widths)) / max(1, len(counts) - 1))
    top, x = PAD + 74, PAD + 46.0
    canvas.arrow((PAD, top + 26), (x - 4, top + 26), cause("input"), 2.4, head=9)
    canvas.text(PAD, top + 11, "ids", 12)
    for stage, (names, wide) in enumerate(zip(pieces, widths, strict=True)):
        _draw_stage(canvas, f"rank {stage}", names, x, top, wide)
        x += wide
        if stage < len(pieces) - 1:
            _draw_messages(canvas, message, stage, x, x + gap, top)
            x += gap
    _draw_loss(canvas, x, top)
    canvas.height = top + HIGH + 44
    return Picture(canvas, title, _in_text(counts, message))


def pieces_of(counts: Sequence[int]) -> list[list[str]]:
    """Return the names of the pieces of each stage: ["emb", "0", "1"], ["2", "3"], …"""
    first, found = 0, []
    for count in counts:
        found.append([str(layer) for layer in range(first, first + count)])
        first += count
    found[0].insert(0, "emb")
    found[-1].append("head")
    return found


def _draw_stage(canvas: Canvas, name: str, names: list[str], x, top, wide) -> None:
    canvas.rect(x, top - 14, wide, HIGH + 28, canvas.theme.band)
    canvas.text(x + wide / 2, top - 25, name, 13, anchor="middle", bold=True)
    for n, piece in enumerate(names):
        color = PIECES.get(piece, cause("model"))
        left = x + 8 + n * PIECE
        canvas.box(left + 2, top, PIECE - 4, HIGH, color, piece, bold=True)


def _draw_messages(canvas: Canvas, message: str, stage: int, left, right, top: float) -> None:
    """Draw what travels behind a stage: its y above, the gradient of that below."""
    y = "y" + str(stage).translate(LOW)
    middle, low = (left + right) / 2, top + HIGH - 18
    canvas.text(middle, top + 4, y, 14, None, "middle", bold=True)
    canvas.arrow((left + 4, top + 18), (right - 4, top + 18), cause("activations"), 2.4, head=9)
    canvas.arrow((right - 4, low), (left + 4, low), cause("gradients"), 2.4, head=9)
    canvas.text(middle, low + 15, f"∂L/∂{y}", 14, None, "middle", bold=True)
    if message and width_of(message, 11) <= right - left:
        canvas.text(middle, (top + 18 + low) / 2, message, 11, canvas.theme.muted, "middle")


def _draw_loss(canvas: Canvas, x: float, top: float) -> None:
    """Draw the turning point: the scores leave the head, and the loss sends its gradient back."""
    theme, low, right = canvas.theme, top + HIGH - 18, x + 30
    canvas.line([(x + 4, top + 18), (right, top + 18), (right, low)], theme.muted, 2.0)
    canvas.arrow((right, low), (x + 4, low), theme.muted, 2.0, head=9)
    canvas.text(right + 6, (top + 18 + low) / 2, "loss L", 12)


def _in_text(counts: Sequence[int], message: str) -> str:
    held = [f"rank {r} holds {listed(_said(names))}" for r, names in enumerate(pieces_of(counts))]
    shape = f" of shape {message}" if message else ""
    return (
        f"A model cut into {len(counts)} stages: {'; '.join(held)}. The token ids enter rank 0. "
        f"Each rank sends one tensor y{shape} to the next, and each next rank sends the gradient "
        "of the loss with respect to that y back. The last rank computes the loss."
    )


def _said(names: list[str]) -> list[str]:
    layers = [name for name in names if name.isdigit()]
    words = ["the embedding"] if "emb" in names else []
    if layers:
        words.append(f"layer{'s' * (len(layers) > 1)} {listed(layers)}")
    return words + (["the head"] if "head" in names else []) or ["nothing"]
