"""The inputs of the profiling lab beside memory; and a worker beside a rank that reads itself.

The files were just written, so they lie in the system's memory: what is measured is the format, and
not the disk.
"""

import sys
import tempfile
import time
from functools import cache, partial
from pathlib import Path

from torch.utils.data import DataLoader

from bench.race import Race

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "DP/ddp"))
from inputs import KINDS, Shapes, in_memory, open_input, write_vectors  # noqa: E402

SHAPE = (256, 20, 512)  # items, vectors, numbers: 10.5 MB of targets
BATCH, COMPUTING = 32, 0.02  # seconds that a batch is computed on, as a GPU would


def races() -> list[Race]:
    """Each file beside memory; then HDF5 with a worker beside HDF5 without."""
    memory = epoch_of("memory")
    rows = [Race("input", kind, "memory", epoch_of(kind), memory, "ms") for kind in KINDS]
    computing = partial(epoch_of, "hdf5", seconds=COMPUTING)
    what = f"hdf5, {1e3 * COMPUTING:.0f} ms of computing a batch"
    return [*rows, Race(what, "1 worker", "no worker", computing(workers=1), computing(), "ms")]


@cache
def made(kind: str):
    """The data set, and its file, once for all races."""
    shapes = Shapes((SHAPE[0], 1, SHAPE[2]), SHAPE)
    if kind == "memory":
        return in_memory(shapes)
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / kind
    write_vectors(path, kind, shapes)
    data = open_input(kind, path, shapes)
    data.folder = folder  # it goes when the data set goes
    return data


def epoch_of(kind: str, workers: int = 0, seconds: float = 0.0):
    """What a race calls: gives the milliseconds of an epoch. A worker is started only once."""
    loader = DataLoader(
        made(kind), BATCH, True, num_workers=workers, persistent_workers=workers > 0
    )

    def run() -> float:
        begun = time.perf_counter()
        for _ in loader:
            time.sleep(seconds)
        return 1e3 * (time.perf_counter() - begun)

    return run
