"""Handwriting that nobody wrote: digits of 28 x 28 pixels, drawn from a seed.

They have the shapes and types of MNIST, and a small network learns them, so that the lab needs no
download. Each digit is a line of strokes, turned, sheared, moved and stretched a little, drawn with
a pen of some width, with noise on top.
"""

import os
from pathlib import Path

import numpy as np

SIDE, CHUNK = 28, 50
NAMES = ("x_train", "y_train", "x_test", "y_test")


def _arc(cx, cy, rx, ry, begin, end, points=9):
    """Points on a piece of an ellipse; angles in degrees, 0 to the right, 90 down."""
    angles = np.radians(np.linspace(begin, end, points))
    return [(cx + rx * np.cos(a), cy + ry * np.sin(a)) for a in angles]


# Of each digit its strokes, as corners in a square from (-1, -1), upper left, to (1, 1).
STROKES = (
    [_arc(0, 0, 0.6, 0.95, 0, 360, 17)],
    [[(-0.35, -0.6), (0.1, -0.95), (0.1, 0.95)]],
    [[*_arc(0, -0.45, 0.55, 0.5, 190, 390), (-0.6, 0.95), (0.65, 0.95)]],
    [[*_arc(-0.05, -0.48, 0.55, 0.47, 210, 450), *_arc(-0.05, 0.48, 0.62, 0.49, -90, 150)]],
    [[(0.35, 0.95), (0.35, -0.95), (-0.65, 0.35), (0.7, 0.35)]],
    [[(0.55, -0.95), (-0.45, -0.95), (-0.5, -0.1), *_arc(-0.05, 0.35, 0.6, 0.6, 230, 500)]],
    [[(0.4, -0.95), (-0.35, -0.2), *_arc(0, 0.4, 0.55, 0.55, 180, 540, 15)]],
    [[(-0.6, -0.95), (0.6, -0.95), (-0.15, 0.95)]],
    [_arc(0, -0.48, 0.45, 0.46, 0, 360, 13), _arc(0, 0.47, 0.58, 0.49, 0, 360, 13)],
    [[*_arc(0, -0.4, 0.52, 0.54, 0, 360, 15), (0.52, -0.4), (0.3, 0.95)]],
)


def draw_digits(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An image for each label (N,) of 0 to 9: float32 (N, 784), 0 for paper and 1 for ink."""
    images = np.empty((len(labels), SIDE * SIDE), np.float32)
    for begin in range(0, len(labels), CHUNK):  # a few at a time stay in the cache
        some = labels[begin : begin + CHUNK]
        images[begin : begin + CHUNK] = _draw(some, rng)
    return images


def make_digits(train: int = 6000, test: int = 1000, seed: int = 0) -> dict[str, np.ndarray]:
    """x_train (train, 784) and x_test float32; y_train (train, 1) and y_test int64.

    The labels are as MNIST's files have them, in no order. One seed gives one set.
    """
    rng = np.random.default_rng(seed)
    found = {}
    for name, count in (("train", train), ("test", test)):
        labels = rng.integers(0, 10, count)
        found[f"x_{name}"], found[f"y_{name}"] = draw_digits(labels, rng), labels[:, None]
    return found


def write_digits(path: Path, data: dict[str, np.ndarray]) -> None:
    """Write an HDF5 file with the names of MNIST's; whole, or not at all."""
    import h5py

    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".new{os.getpid()}")
    with h5py.File(beside, "w") as file:
        for name in NAMES:
            file[name] = data[name]
    beside.replace(path)


def read_digits(path: Path) -> dict[str, np.ndarray]:
    """The four arrays of an HDF5 file: images float32 from 0 to 1, (N, 784); labels int64 (N,).

    Raises ValueError for a file that is none, or that misses one of them.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            missing = [name for name in NAMES if name not in file]
            data = {name: file[name][()] for name in NAMES if name in file}
    except OSError:
        raise ValueError(f"{path} is no HDF5 file: give one with {', '.join(NAMES)}") from None
    if missing:
        raise ValueError(f"{path} has no {missing[0]}: it must hold {', '.join(NAMES)}")
    for name in ("train", "test"):
        images, labels = data[f"x_{name}"], data[f"y_{name}"]
        scale = 255 if images.dtype == np.uint8 else 1
        data[f"x_{name}"] = images.reshape(len(images), -1).astype(np.float32) / scale
        data[f"y_{name}"] = labels.reshape(len(labels)).astype(np.int64)
    return data


def _draw(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The ink of each pixel, from its distance to the nearest stroke."""
    count, shape = len(labels), (len(labels), 1)
    begins, ends = (np.stack([LINES[label][side] for label in labels]) for side in (0, 1))
    turn, shear = rng.normal(0, 0.12, shape), rng.normal(0, 0.15, shape)
    size = rng.uniform(8.2, 9.8, (count, 1, 2)) * (0.85, 1)
    move = 13.5 + rng.normal(0, 0.9, (count, 1, 2))

    def place(points):
        x, y = points[..., 0] + shear * points[..., 1], points[..., 1]
        turned = (x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn))
        wobble = rng.normal(0, 0.02, points.shape)
        return (np.stack(turned, axis=-1) + wobble) * size + move

    begins, along = place(begins), place(ends)
    along -= begins  # both (count, lines, 2)
    begins, along = begins.astype(np.float32), along.astype(np.float32)
    square = np.maximum((along**2).sum(-1), 1e-9)[:, None]
    # With p a pixel, b the begin of a line and a its vector: (p - b) . a, and |p - b|^2.
    inner = PIXELS @ along.swapaxes(1, 2) - (begins * along).sum(-1)[:, None]
    apart = PIXELS @ (-2 * begins.swapaxes(1, 2)) + (begins**2).sum(-1)[:, None]
    part = np.clip(inner / square, 0, 1)  # where on the line the pixel's nearest point lies
    nearest = (apart + part * (part * square - 2 * inner)).min(-1) + (PIXELS**2).sum(-1)
    distance = np.sqrt(np.maximum(nearest, 0))
    ink = np.clip(rng.uniform(1.2, 2.1, shape) - distance, 0, 1)
    return np.clip(ink + rng.normal(0, 0.04, ink.shape) * (ink > 0), 0, 1)


def _lines() -> list[np.ndarray]:
    """Of each digit the begins and ends of its lines, (2, lines, 2): all with as many lines."""
    found = []
    for strokes in STROKES:
        pairs = [pair for stroke in strokes for pair in zip(stroke, stroke[1:], strict=False)]
        found.append(np.array(pairs, dtype=float).swapaxes(0, 1))
    most = max(lines.shape[1] for lines in found)
    return [np.pad(x, ((0, 0), (0, most - x.shape[1]), (0, 0)), mode="edge") for x in found]


LINES = _lines()
PIXELS = np.stack(np.meshgrid(range(SIDE), range(SIDE)), axis=-1).reshape(-1, 2).astype(np.float32)
