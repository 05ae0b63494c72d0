"""The process grid: whose row and column stand out, and what the words say."""

import pytest

from helpers.draw import process_grid
from helpers.draw.picture import Rect
from helpers.grid import Grid


def test_the_title_names_the_row_and_the_column_of_a_rank():
    grid = Grid(dp=3, pp=4)
    title = process_grid(3, 4, rank=6).title
    row = [str(rank) for rank in grid.group(6, "pp") if rank != 6]
    column = [str(rank) for rank in grid.group(6, "dp") if rank != 6]
    assert (
        title
        == f"Rank 6: ranks {', '.join(row)} in its row, ranks {', '.join(column)} in its column"
    )
    assert "nobody in its column" in process_grid(1, 3, rank=0).title


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_rank_is_a_shape_that_can_be_clicked(theme):
    picture = process_grid(2, 3, rank=4, along_row="0.1 GB", theme=theme)
    tips = [shape.tip for shape in picture.canvas.shapes if isinstance(shape, Rect) and shape.tip]
    assert tips == [f"rank {rank}" for rank in range(6)]
    fills = {shape.tip: shape.fill for shape in picture.canvas.shapes if isinstance(shape, Rect)}
    assert len({fills["rank 4"], fills["rank 5"], fills["rank 1"], fills["rank 0"]}) == 4
    assert "0.1 GB" in picture.alt


def test_a_rank_that_is_not_there():
    with pytest.raises(ValueError, match="no rank 6: give 0 to 5"):
        process_grid(2, 3, rank=6)
