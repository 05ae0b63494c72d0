"""The model and how devices share it: a LLaMA with its shapes, the four layouts, each token's cost.

Conceptual drawings: nothing in them is measured, but for the nats of `surprise`.
"""

from dataclasses import dataclass

from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.style import cause, ink_on
from helpers.draw.text import width_of

BLOCK, ATTENTION = cause("model"), cause("attention")
FORTH, BACK = cause("activations"), cause("gradients")


@dataclass(frozen=True)
class Sizes:
    """The sizes of a LLaMA, and of the batch that it reads; the defaults are this lab's model."""

    vocabulary: int = 1200
    width: int = 64
    heads: int = 4
    layers: int = 6
    batch: int = 3
    sequence: int = 128

    @property
    def hidden(self) -> int:
        return 4 * self.width

    @property
    def table(self) -> int:
        """Return the parameters of the embedding, and of the head."""
        return self.vocabulary * self.width

    @property
    def block(self) -> int:
        """Return the parameters of a block: four matrices of attention, three of SwiGLU, norms."""
        return 4 * self.width**2 + 3 * self.width * self.hidden + 2 * self.width

    @property
    def total(self) -> int:
        return 2 * self.table + self.layers * self.block + self.width


# --- a LLaMA -------------------------------------------------------------------------------------


def llama(sizes: Sizes | None = None) -> Picture:
    """Draw a LLaMA from ids to loss with the shapes between its parts, and one block in detail."""
    s = sizes or Sizes()
    canvas = Canvas(height=352)
    first = _draw_chain(canvas, s)
    _draw_block(canvas, s, first)
    return Picture(canvas, "A LLaMA and its shapes", _llama_in_words(s))


def _draw_chain(canvas: Canvas, s: Sizes) -> tuple[float, float]:
    """Draw the parts of the model in a row; return the left and right edge of the first block."""
    theme, y, high = canvas.theme, 56.0, 58.0
    blocks = [(f"block {n}", 60, BLOCK, "") for n in range(s.layers)]
    if s.layers > 6:
        blocks = [*blocks[:4], ("…", 60, BLOCK, ""), blocks[-1]]
    parts = [
        ("embedding", 88, cause("embedding"), f"{s.table:,}"),
        *blocks,
        ("norm", 48, cause("norm"), f"{s.width:,}"),
        ("head", 62, cause("head"), f"{s.table:,}"),
    ]
    hidden = f"({s.batch}, {s.sequence}, {s.width})"
    gap, x = 12.0, 84.0
    canvas.text(PAD, y + high / 2 - 8, "token ids", 12)
    canvas.text(PAD, y + high / 2 + 8, f"({s.batch}, {s.sequence})", 11, theme.muted)
    edges = []
    for name, wide, color, count in parts:
        canvas.arrow((x - gap + 1, y + high / 2), (x - 1, y + high / 2), theme.muted, 1.4)
        _box(canvas, x, y, wide, high, name, color)
        canvas.text(x + wide / 2, y + high + 12, count, 11, theme.muted, "middle")
        edges.append((x, x + wide))
        x += wide + gap
    inside, outside = edges[1][0], edges[-3][1]
    _brace(canvas, inside, outside, y - 12)
    said = f"{s.layers} blocks of {s.block:,} parameters; between them, hidden states {hidden}"
    middle = max((inside + outside) / 2, PAD + width_of(said, 12) / 2)
    canvas.text(middle, y - 26, said, 12, None, "middle")
    canvas.arrow((x - gap + 1, y + high / 2), (x - 1, y + high / 2), theme.muted, 1.4)
    canvas.text(x + 2, y + high / 2 - 8, "logits", 12)
    shape = f"({s.batch}, {s.sequence}, {s.vocabulary:,})"
    canvas.text(x + 2, y + high / 2 + 8, shape, 11, theme.muted)
    return edges[1]


def _draw_block(canvas: Canvas, s: Sizes, above: tuple[float, float]) -> None:
    """Draw the inside of a block below it: two branches, each added to what goes past it."""
    theme, top, y, high = canvas.theme, 176.0, 246.0, 46.0
    left, right = 76.0, canvas.width - 76
    for edge, corner in zip(above, (left, right), strict=True):
        canvas.line([(edge, 116), (corner, top)], theme.muted, 1, (3, 3))
    canvas.rect(left, top, right - left, 166, theme.faded(BLOCK, 0.25))
    canvas.text(left + 12, top + 16, "inside a block", 12, bold=True)
    d, h, line = s.width, s.hidden, y + high / 2
    names = (
        ("norm", 48, cause("norm"), "", ""),
        ("attention", 150, ATTENTION, f"Q, K, V, O: four of {d} × {d}", f"{s.heads} heads"),
        ("+", 26, None, "", ""),
        ("norm", 48, cause("norm"), "", ""),
        ("SwiGLU", 150, cause("MLP"), f"gate, up, down: three of {d} × {h}", ""),
        ("+", 26, None, "", ""),
    )
    free = right - left - 80 - sum(wide for _, wide, *_ in names)
    gap, x = free / (len(names) - 1), left + 40
    canvas.arrow((left + 4, line), (x - 1, line), theme.text, 1.6)
    begun = left + 18
    for name, wide, color, weights, inner in names:
        if color is None:
            past = top + 42
            canvas.line([(begun, line), (begun, past), (x + wide / 2, past)], theme.text, 1.6)
            canvas.arrow((x + wide / 2, past), (x + wide / 2, y + 9), theme.text, 1.6)
            _box(canvas, x, y + 10, wide, wide, "+", theme.grid)
            begun = x + wide + 12
        else:
            _box(canvas, x, y, wide, high, name, color, inner)
        if weights:
            canvas.text(x + wide / 2, y + high + 14, weights, 11, theme.muted, "middle")
        x += wide
        if x < right - 60:
            canvas.arrow((x + 1, line), (x + gap - 1, line), theme.text, 1.6)
        x += gap
    canvas.arrow((x - gap + 1, line), (right - 4, line), theme.text, 1.6)
    said = f"({s.batch}, {s.sequence}, {d})"
    canvas.text((left + right) / 2, y + high + 38, f"in and out: {said}", 11, theme.muted, "middle")


def _box(canvas, x, y, wide, high, name, color, inner="") -> None:
    fill = color if name == "+" else canvas.theme.faded(color, 0.4)
    canvas.rect(x, y, wide, high, fill)
    ink = ink_on(fill)
    middle = y + high / 2 - (7 if inner else 0)
    canvas.text(x + wide / 2, middle, name, 12, ink, "middle", bold=True)
    if inner:
        canvas.text(x + wide / 2, middle + 15, inner, 11, ink, "middle")


def _brace(canvas: Canvas, left: float, right: float, y: float) -> None:
    canvas.line([(left, y + 6), (left, y), (right, y), (right, y + 6)], canvas.theme.muted)


def _llama_in_words(s: Sizes) -> str:
    return (
        f"A LLaMA of {s.total:,} parameters. Token ids of shape ({s.batch}, {s.sequence}) go "
        f"through an embedding ({s.table:,} parameters), {s.layers} blocks ({s.block:,} each), a "
        f"norm ({s.width}) and a head ({s.table:,}), and come out as logits of shape ({s.batch}, "
        f"{s.sequence}, {s.vocabulary:,}). Between blocks the shape is ({s.batch}, {s.sequence}, "
        f"{s.width}). A block adds two branches to what goes past them: a norm and attention with "
        f"{s.heads} heads and four matrices of {s.width} by {s.width}; then a norm and SwiGLU with "
        f"three matrices of {s.width} by {s.hidden}."
    )


# --- four layouts --------------------------------------------------------------------------------

LAYER, SIDE = 17.0, 44.0  # pixels: the width of a layer, the height of a device
LAYOUTS = (
    ("one device", "lessons 01 and 09", 1, 1),
    ("replicas", "lessons 03, 04, 10, 12", 3, 1),
    ("a pipeline", "lessons 05, 06, 07", 1, 3),
    ("a grid", "lessons 08, 19, 23", 2, 3),
)


def layouts(layers: int = 6) -> Picture:
    """Draw one model on one device, on replicas, in a pipeline, and on a grid of both."""
    canvas = Canvas(height=322)
    each = (WIDE - 2 * PAD) / len(LAYOUTS)
    for number, layout in enumerate(LAYOUTS):
        _draw_layout(canvas, PAD + (number + 0.5) * each, layers, *layout)
    for number in range(1, len(LAYOUTS)):
        x = PAD + number * each
        canvas.line([(x, PAD + 4), (x, 286)], canvas.theme.grid)
    _draw_arrows_legend(canvas, 304)
    said = (
        f"Four ways to place a model of {layers} layers. One device holds them all. Three replicas "
        "hold all of them each, read a third of the batch each, and exchange gradients. A pipeline "
        "of three devices holds two layers on each; activations go right, and gradients come back. "
        "A grid of two rows, each a pipeline of three stages, does both."
    )
    return Picture(canvas, "One model on one device, and three ways to use more", said)


def _draw_layout(canvas: Canvas, middle: float, layers, name, lessons, rows: int, stages: int):
    theme = canvas.theme
    canvas.text(middle, PAD + 12, name, 15, None, "middle", bold=True)
    canvas.text(middle, PAD + 31, lessons, 12, theme.muted, "middle")
    gap, part = 20.0, layers // stages
    wide = part * LAYER + 8
    left = middle - (stages * wide + (stages - 1) * gap) / 2
    top = 84 + (190 - rows * SIDE - (rows - 1) * gap) / 2
    read = "reads the batch" if rows == 1 else f"each row reads 1/{rows} of it"
    canvas.text(middle, PAD + 52, read, 11, theme.muted, "middle")
    for row in range(rows):
        y = top + row * (SIDE + gap)
        for stage in range(stages):
            x = left + stage * (wide + gap)
            if row + 1 < rows:
                _both(canvas, (x + wide / 2, y + SIDE), (x + wide / 2, y + SIDE + gap), BACK)
            _draw_device(canvas, x, y, range(stage * part, (stage + 1) * part))
            if stage + 1 < stages:
                a, b, line = x + wide, x + wide + gap, y + SIDE / 2
                canvas.arrow((a + 1, line - 7), (b - 1, line - 7), FORTH, 2.2, 7)
                canvas.arrow((b - 1, line + 7), (a + 1, line + 7), BACK, 2.2, 7)


def _draw_device(canvas: Canvas, x: float, y: float, layers: range) -> None:
    canvas.rect(x, y, len(layers) * LAYER + 8, SIDE, canvas.theme.grid)
    for place, layer in enumerate(layers):
        fill = canvas.theme.faded(BLOCK, 0.4 + 0.1 * layer)
        left = x + 4 + place * LAYER
        canvas.box(left + 1, y + 4, LAYER - 2, SIDE - 8, fill, str(layer), 11)


def _both(canvas: Canvas, start, end, color: str) -> None:
    """Draw an arrow down, with a head at each end."""
    (x, y0), (_, y1) = start, end
    canvas.arrow((x, (y0 + y1) / 2), (x, y1 - 1), color, 2.2, 7)
    canvas.arrow((x, (y0 + y1) / 2), (x, y0 + 1), color, 2.2, 7)


def _draw_arrows_legend(canvas: Canvas, y: float) -> None:
    x = PAD + 8
    for color, words in (
        (FORTH, "activations, forward"),
        (BACK, "gradients: back to the stage before, or averaged among replicas"),
    ):
        canvas.arrow((x, y), (x + 26, y), color, 2.2, 7)
        canvas.text(x + 34, y, words, 12)
        x += 34 + width_of(words, 12) + 26
    canvas.rect(x, y - 8, 22, 16, canvas.theme.grid)
    canvas.text(x + 30, y, "a device", 12)
