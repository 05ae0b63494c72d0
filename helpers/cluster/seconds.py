"""Time on one device, by cause."""

from dataclasses import dataclass

STARVE = 4  # how sharply the slower of device and host decides: 1 would add them up


@dataclass(frozen=True)
class Seconds:
    """Of one piece of work on one device.

    matmul, memory: of the device. network: collectives in which the device waits.
    host: until the host has started everything. The host runs ahead of the device, but not
    always far enough: where both take about as long, the device is starved now and then.
    """

    matmul: float = 0.0
    memory: float = 0.0
    network: float = 0.0
    host: float = 0.0

    @property
    def device(self) -> float:
        return self.matmul + self.memory + self.network

    @property
    def total(self) -> float:
        """About the larger of device and host, and more where they are alike."""
        return (self.device**STARVE + self.host**STARVE) ** (1 / STARVE)

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(
            self.matmul + other.matmul,
            self.memory + other.memory,
            self.network + other.network,
            self.host + other.host,
        )

    def __mul__(self, times: float) -> "Seconds":
        return Seconds(
            self.matmul * times, self.memory * times, self.network * times, self.host * times
        )
