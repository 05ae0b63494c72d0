"""The two ways to split a training over devices: the data, or the layers."""

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import cause

BLOCK, GAP = 30, 6
LAYERS, SENTENCES = 4, 16  # of the model, of a batch


def two_splits() -> Picture:
    """Draw two devices twice: each with all layers and half of the data, or the other way round."""
    canvas = Canvas()
    height = LAYERS * (BLOCK + GAP)
    top = 84
    title = "Split the data, or split the layers"
    canvas.heading(title)
    for left, words in ((PAD, "a part of the data each"), (470, "a part of the layers each")):
        canvas.text(left, 48, words, 13, bold=True)
    for device, left in enumerate((PAD, PAD + 230)):
        _device(canvas, left, top, height, device)
        for layer in range(LAYERS):
            _block(canvas, left + 12, top + 8 + layer * (BLOCK + GAP), layer)
        canvas.text(
            left + 91, top + height + 22, f"{SENTENCES // 2} sentences", 12, anchor="middle"
        )
    middle = top + height / 2
    canvas.arrow((PAD + 212, middle), (PAD + 184, middle), canvas.theme.muted, 1.5, 8)
    canvas.arrow((PAD + 200, middle), (PAD + 228, middle), canvas.theme.muted, 1.5, 8)
    canvas.text(PAD + 206, top + height + 46, "mean of the gradients", 12, anchor="middle")
    for device, left in enumerate((470, 700)):
        _device(canvas, left, top, height, device)
        for layer in range(device * LAYERS // 2, (device + 1) * LAYERS // 2):
            _block(canvas, left + 12, top + 8 + layer * (BLOCK + GAP), layer)
        canvas.text(left + 91, top + height + 22, f"{SENTENCES} sentences", 12, anchor="middle")
    canvas.arrow((654, middle - 8), (698, middle - 8), canvas.theme.muted, 1.5, 8)
    canvas.arrow((698, middle + 8), (654, middle + 8), canvas.theme.muted, 1.5, 8)
    words = "activations there, their gradients back"
    canvas.text(676, top + height + 46, words, 12, anchor="middle")
    canvas.height = top + height + 64
    alt = (
        f"Two devices, split in two ways. Left: each has all {LAYERS} blocks and "
        f"{SENTENCES // 2} of {SENTENCES} sentences, and they exchange the mean of their "
        f"gradients. Right: each has {LAYERS // 2} of the blocks and sees all {SENTENCES} "
        "sentences; activations go to the second device, and their gradients come back."
    )
    return Picture(canvas, title, alt)


def _device(canvas: Canvas, left: float, top: float, height: float, number: int) -> None:
    canvas.text(left, top - 12, f"device {number}", 12, canvas.theme.muted)
    canvas.rect(left, top, 182, height + 10, canvas.theme.band)


def _block(canvas: Canvas, left: float, top: float, layer: int) -> None:
    color = cause("weights") if layer < LAYERS // 2 else canvas.theme.faded(cause("weights"), 0.45)
    canvas.box(left, top, 158, BLOCK, color, f"block {layer}", bold=True)
