"""Arrays that do not fit an MPI call, found before MPI reads memory that it should not."""

import numpy as np


class BadBuffer(ValueError):
    """An array that MPI must not get; one sentence says which, why, and what to do."""


def require_same(call: str, src: np.ndarray, dst: np.ndarray) -> None:
    """Raise BadBuffer unless both arrays are of one size and type, and without gaps in memory."""
    _require_arrays(call, src=src, dst=dst)
    if src.size != dst.size:
        raise BadBuffer(
            f"{call}: src has {src.size} numbers and dst has {dst.size}: both need as many, so "
            "make dst with np.empty_like(src)"
        )


def require_parts(
    call: str, whole: np.ndarray, whole_name: str, part: np.ndarray, part_name: str, ranks: int
) -> None:
    """Raise BadBuffer unless `whole` has room for exactly one `part` of each rank."""
    _require_arrays(call, **{whole_name: whole, part_name: part})
    if whole.size != ranks * part.size:
        raise BadBuffer(
            f"{call}: {whole_name} has {whole.size} numbers and {part_name} has {part.size}: on "
            f"{ranks} ranks {whole_name} must be {ranks} times as large"
        )


def require_alltoall(call: str, src: np.ndarray, dst: np.ndarray, ranks: int) -> None:
    """Raise BadBuffer unless both are of one size, which the number of ranks divides."""
    require_same(call, src, dst)
    if src.size % ranks:
        raise BadBuffer(
            f"{call}: {src.size} numbers cannot be divided among {ranks} ranks: give an array "
            f"whose size is a multiple of {ranks}"
        )


def _require_arrays(call: str, **arrays: np.ndarray) -> None:
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise BadBuffer(
                f"{call}: {name} is a {type(array).__name__}: give a NumPy array, for MPI sends "
                "memory and no Python objects"
            )
        if not array.flags.c_contiguous:
            raise BadBuffer(
                f"{call}: {name} of shape {array.shape} is not contiguous, its numbers have gaps "
                f"between them in memory: give np.ascontiguousarray({name})"
            )
    (one, first), (other, second) = arrays.items()
    if first.dtype != second.dtype:
        raise BadBuffer(
            f"{call}: {one} holds {first.dtype} and {other} holds {second.dtype}: both need the "
            "same type"
        )
