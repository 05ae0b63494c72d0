"""Digits of 28 x 28 pixels, drawn from a seed, so that the lab needs no download.

They have the shapes and types of MNIST, and a small network learns them: printed digits, moved,
faded and with noise on top.
"""

import h5py
import numpy as np

SIDE, SCALE = 28, 3
NAMES = ("x_train", "y_train", "x_test", "y_test")
# Of each digit seven rows of five pixels.
SHAPES = """
01110 10001 10011 10101 11001 10001 01110
00100 01100 00100 00100 00100 00100 01110
01110 10001 00001 00110 01000 10000 11111
11111 00010 00100 00010 00001 10001 01110
00010 00110 01010 10010 11111 00010 00010
11111 10000 11110 00001 00001 10001 01110
00110 01000 10000 11110 10001 10001 01110
11111 00001 00010 00100 01000 01000 01000
01110 10001 10001 01110 10001 10001 01110
01110 10001 10001 01111 00001 00010 01100
"""
PIXELS = [[list(map(int, row)) for row in line.split()] for line in SHAPES.strip().splitlines()]
DIGITS = np.kron(PIXELS, np.ones((1, SCALE, SCALE)))


def draw_digits(labels, rng):
    """Return an image for each label (N,): float32 (N, 784), 0 for paper and 1 for ink."""
    images, (height, width) = rng.normal(0, 0.1, (len(labels), SIDE, SIDE)), DIGITS[0].shape
    for image, label in zip(images, labels, strict=True):
        top, left = ((SIDE - size) // 2 + rng.integers(-2, 3) for size in (height, width))
        image[top : top + height, left : left + width] += rng.uniform(0.5, 1) * DIGITS[label]
    return np.clip(images, 0, 1).reshape(len(labels), -1).astype(np.float32)


def make_digits(train=6000, test=1000, seed=0):
    """Return x_train (train, 784) and x_test float32; y_train (train,) and y_test int64."""
    rng, found = np.random.default_rng(seed), {}
    for name, count in (("train", train), ("test", test)):
        labels = rng.integers(0, 10, count)
        found |= {f"x_{name}": draw_digits(labels, rng), f"y_{name}": labels}
    return found


def read_digits(path):
    """Return an HDF5 file's images as float32 from 0 to 1, (N, 784), and labels as int64, (N,)."""
    try:
        with h5py.File(path, "r") as file:
            data = {name: file[name][()] for name in NAMES}
    except (OSError, KeyError) as error:
        told = f"{path} is no HDF5 file with {', '.join(NAMES)}: give one that is ({error})"
        raise ValueError(told) from None
    for name in ("train", "test"):
        images, labels = data[f"x_{name}"], data[f"y_{name}"]
        scale = 255 if images.dtype == np.uint8 else 1
        data[f"x_{name}"] = images.reshape(len(images), -1).astype(np.float32) / scale
        data[f"y_{name}"] = labels.reshape(len(labels)).astype(np.int64)
    return data
