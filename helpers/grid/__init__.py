"""The process grid, DP x PP x CP x TP: one array of ranks, and a group is a slice of it.

grid = Grid(dp=2, pp=3).require(world_size)
print(grid)                       one line per replica, stages side by side
grid.group(rank, "dp")            the ranks that average gradients with this one
grid.group(rank, "pp")            the stages of its pipeline, first to last
groups = make_groups(grid)        the same as torch process groups: groups.dp
"""

from helpers.grid.grid import DIMENSIONS, Coordinates, Grid, make_groups
