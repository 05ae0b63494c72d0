"""A machine from a system file of Calculon (Isaev et al., SC 2023), in JSON."""

import json
from pathlib import Path

from helpers.cluster.machine import Interconnect, Machine, Steps
from helpers.cluster.presets import A100


def read_system(path: str | Path) -> Machine:
    """The machine that a Calculon system file describes.

    Of its fields are read: matrix (peak and efficiency in float16), mem1 (the device's memory),
    networks (the smallest joins a node, the largest joins nodes). It says nothing about the host:
    nothing is added for it.
    Raises ValueError, one sentence, for a file that is not one or lacks a field.
    """
    path = Path(path)
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror}): check the path") from None
    except ValueError:
        raise ValueError(f"{path} is not JSON: give a Calculon system file") from None
    try:
        return _machine(path.stem, table)
    except KeyError as error:
        raise ValueError(
            f"{path} lacks the field {error}: a Calculon system file has matrix, mem1 and networks"
        ) from None
    except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError):
        raise ValueError(f"{path} is not in the form of a Calculon system file") from None


def _machine(name: str, table: dict) -> Machine:
    matrix, memory = table["matrix"], table["mem1"]
    if "float16" in matrix:  # newer files keep all of it by type
        matrix = matrix["float16"]
    networks = sorted(table["networks"], key=lambda network: network["size"])
    return Machine(
        name=name,
        peak=_positive(matrix["tflops"]) * 1e12,
        memory=_positive(memory["GiB"]) * 2**30,
        memory_bandwidth=_positive(memory["GBps"]) * 1e9,
        node=int(networks[0]["size"]),
        inside=_link(networks[0]),
        between=_link(networks[-1]),
        matmul=1.0,
        matmul_half=0.0,
        memory_share=1.0,
        launch=0.0,
        straggle=A100.straggle,
        step=0.0,
        matmul_steps=_steps(matrix["gflops_efficiency"], 1e9),
        memory_steps=_steps(memory["MB_efficiency"], 1e6),
    )


def _link(network: dict) -> Interconnect:
    return Interconnect(
        _positive(network["bandwidth"]) * 1e9,
        _positive(network["efficiency"]),
        float(network["latency"]),
    )


def _steps(rows: dict | list, unit: float) -> Steps:
    """[[from, share] ...], or a mapping of types to such, or of sizes to shares."""
    if isinstance(rows, dict):
        rows = rows["float16"] if "float16" in rows else rows.items()
    pairs = ((float(least) * unit, _positive(float(share))) for least, share in rows)
    return tuple(sorted(pairs, reverse=True))


def _positive(number: float) -> float:
    if not number > 0:
        raise ValueError(number)
    return number
