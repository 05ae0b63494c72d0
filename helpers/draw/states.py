"""What each rank keeps of a model's weights, gradients and optimizer states, stage by stage."""

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause

# Bytes a parameter in mixed precision, and the first stage of ZeRO that cuts them.
MIXED = {"weights": (2, 3), "gradients": (2, 2), "optimizer states": (12, 1)}
COLORS = tuple(map(cause, MIXED))
HIGH, ACROSS, GAP = 13.0, 34.0, 6.0  # of a byte, of a rank, between two


def zero_stages(ranks: int = 4) -> Picture:
    """Draw ZeRO's stages 0 to 3: of each byte a parameter takes, the part that each rank keeps."""
    canvas = Canvas()
    total = sum(size for size, _ in MIXED.values())
    names = ("plain data parallelism", "ZeRO-1", "ZeRO-2", "ZeRO-3")
    top, panel = PAD + 30, (WIDE - 2 * PAD) / 4
    said = []
    for stage, name in enumerate(names):
        x = PAD + stage * panel
        bytes_each = sum(size / (ranks if stage >= first else 1) for size, first in MIXED.values())
        canvas.text(x, PAD + 6, name, 13, bold=True)
        for rank in range(ranks):
            _draw_rank(canvas, stage, rank, ranks, x + rank * (ACROSS + GAP), top)
            at = x + rank * (ACROSS + GAP) + ACROSS / 2
            canvas.text(at, top + total * HIGH + 12, str(rank), 11, canvas.theme.muted, "middle")
        words = f"{bytes_each:.3g} bytes a parameter"
        canvas.text(x, top + total * HIGH + 32, words, 12)
        said.append(f"{name}: {words} on each of {ranks} ranks.")
    key = [
        (str(size), color, f"{what}, {size} bytes")
        for (what, (size, _)), color in zip(MIXED.items(), COLORS, strict=True)
    ]
    key.append(("", canvas.theme.band, "kept by another rank"))
    canvas.height = canvas.legend(key, PAD, top + total * HIGH + 53) + 11
    return Picture(canvas, "", " ".join(said))


def _draw_rank(canvas, stage, rank, ranks, x, y) -> None:
    for (size, first), color in zip(MIXED.values(), COLORS, strict=True):
        high = size * HIGH - 2
        canvas.rect(x, y, ACROSS, high, canvas.theme.band)
        if stage >= first:
            canvas.rect(x, y + rank * high / ranks, ACROSS, high / ranks, color)
        else:
            canvas.rect(x, y, ACROSS, high, color)
        y += size * HIGH
