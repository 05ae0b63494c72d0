"""A laptop on which everything is right, for tests to take things away from."""

from dataclasses import replace

import pytest

from helpers.doctor.facts import Facts, Torch
from helpers.doctor.lessons import Package

GOOD = Facts(
    system="Linux 6.1 (x86_64)",
    python="3.12.4",
    environment="the lab's environment (.venv)",
    cores=2,
    cores_in_all=2,
    memory=8 * 10**9,
    memory_free=6 * 10**9,
    disk_free=50 * 10**9,
    torch=Torch(version="2.13.0+cpu", gloo=True),
    packages=(
        Package("torch", "==2.13.0", "2.13.0+cpu"),
        Package("numpy", ">=2.4,<3", "2.4.6"),
        Package("jupyterlab", ">=4.6,<5", "4.6.6"),
        Package("pytest", ">=9.2,<10", "9.2.0", "test"),
        Package("datasets", ">=5.2,<6", "5.2.0", "hub"),
    ),
    mpirun="mpirun 5",
    compiler="g++ 13",
)


@pytest.fixture
def machine():
    """`machine(cores=1)`: the good laptop with one thing changed."""
    return lambda **changes: replace(GOOD, **changes)
