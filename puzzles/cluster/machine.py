"""The machine: how fast it computes, reads and sends. Read from a Calculon system file (JSON).

Calculon (Isaev et al., SC 2023, https://github.com/calculon-ai/calculon) describes a GPU and its
networks by peak rates and by tables "from this size on, this share of the peak". Of its fields we
read: matrix, mem1 (the card), mem2 (the host), networks.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from cluster.errors import PuzzleError

FOLDER = Path(__file__).resolve().parents[1] / "machines"
OPS = ("p2p", "all_reduce", "all_gather", "reduce_scatter")


@dataclass(frozen=True)
class Rate:
    """peak: units a second. steps: (from how many units on, share of the peak), largest first."""

    peak: float
    steps: tuple[tuple[float, float], ...]

    def seconds(self, units: float) -> float:
        """The time for so many units at once."""
        share = next((share for least, share in self.steps if units >= least), self.steps[-1][1])
        return units / (self.peak * share)


@dataclass(frozen=True)
class Network:
    """size: ranks that it joins. rate: bytes a second, efficiency included. latency: seconds.
    ops: for each operation a factor on its bytes, and what to add to n in (n + offset) / n."""

    size: int
    rate: float
    latency: float
    ops: dict[str, tuple[float, int | None]]

    def seconds(self, op: str, size: float, ranks: int) -> float:
        """The time of one operation on `size` bytes over `ranks` ranks."""
        factor, offset = self.ops.get(op, (1.0, None))
        share = 1.0 if offset is None else (ranks + offset) / ranks
        return self.latency + size * factor * share / self.rate


@dataclass(frozen=True)
class Machine:
    """flops: operations a second. memory, host: bytes a second. card: bytes of the card."""

    name: str
    flops: Rate
    memory: Rate
    host: Rate
    card: int
    networks: tuple[Network, ...]

    def network(self, ranks: int) -> Network:
        """The smallest network that joins so many ranks."""
        for network in self.networks:
            if network.size >= ranks:
                return network
        largest = self.networks[-1].size
        raise PuzzleError(f"machine {self.name} joins at most {largest} ranks, not {ranks}")


def read_machine(name: str | Path | dict) -> Machine:
    """The machine of this name, of a JSON file, or of what stands in one. Raises PuzzleError."""
    if isinstance(name, dict):
        return _machine(name, "machine", "the table of the machine")
    table, path = read_table(name)
    return _machine(table, path.stem, path)


def read_table(name: str | Path) -> tuple[dict, Path]:
    """What stands in the JSON file of a machine, and its path. Raises PuzzleError."""
    path = Path(name) if str(name).endswith(".json") else FOLDER / f"{name}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8")), path
    except OSError:
        known = " or ".join(sorted(each.stem for each in FOLDER.glob("*.json")))
        raise PuzzleError(
            f"there is no machine {str(name)!r}: choose {known}, or give the path of a Calculon "
            "system file (.json)"
        ) from None
    except ValueError as error:
        raise PuzzleError(f"{path} is no JSON file: {error}") from None


def _machine(table: dict, name: str, place: Path | str) -> Machine:
    try:
        return Machine(
            name,
            _rate(table["matrix"], "tflops", 1e12, "gflops_efficiency", 1e9),
            _rate(table["mem1"], "GBps", 1e9, "MB_efficiency", 1e6),
            _rate(table["mem2"], "GBps", 1e9, "MB_efficiency", 1e6),
            int(table["mem1"]["GiB"] * 2**30),
            tuple(sorted((_network(n) for n in table["networks"]), key=lambda n: n.size)),
        )
    except KeyError as error:
        raise PuzzleError(
            f"{place} has no field {error}: a Calculon system file has matrix, mem1, mem2, networks"
        ) from None
    except (TypeError, ValueError, AttributeError, IndexError):
        raise PuzzleError(f"{place} is not in the form of a Calculon system file") from None


def _rate(table: dict, peak: str, unit: float, steps: str, size: float) -> Rate:
    rows = table[steps]
    if isinstance(rows, dict):  # by data type
        rows = rows["float16"]
    ordered = sorted(((least * size, share) for least, share in rows), reverse=True)
    if not all(share > 0 for _, share in ordered) or table[peak] <= 0:
        raise ValueError
    return Rate(table[peak] * unit, tuple(ordered))


def _network(table: dict) -> Network:
    minus = -1 if table.get("collective_minus1_scalar") else None
    ops = {}
    for op, value in table["ops"].items():  # older files: a factor; newer: a factor and an offset
        offset = minus if op != "p2p" else None
        ops[op] = (float(value), offset) if isinstance(value, int | float) else tuple(value)
    rate = table["bandwidth"] * 1e9 * table["efficiency"]
    return Network(int(table["size"]), rate, float(table["latency"]), ops)
