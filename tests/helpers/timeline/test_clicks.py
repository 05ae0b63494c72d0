"""A picture that answers a click."""

import pytest

from helpers.draw import process_grid
from helpers.timeline import Clickable


def test_every_picture_has_a_shape_for_every_other_one():
    names = {"all": None} | {f"rank {rank}": rank for rank in range(4)}
    shown = Clickable({name: process_grid(2, 2, rank) for name, rank in names.items()})
    assert list(shown.pictures) == list(names)
    for svg in shown.pictures.values():
        assert all(f"<title>{name}</title>" in svg for name in list(names)[1:])
    assert shown.alt.startswith("2 x 2") and "2 x 2" in repr(shown)


def test_without_pictures():
    with pytest.raises(ValueError, match="at least one"):
        Clickable({})
