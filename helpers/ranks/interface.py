"""Through which network interface this machine reaches another one."""

import socket
import struct
import sys


def loopback() -> dict[str, str]:
    """The variables that keep gloo, NCCL and torch's RPC on the loopback of this system.

    Without them they listen where the machine's own name leads to: in the network of a lecture
    room, or nowhere, as on a Mac that can't look up its name.
    """
    if sys.platform == "win32":
        return {"USE_LIBUV": "0"}
    name = "lo0" if sys.platform == "darwin" else "lo"
    libraries = ("GLOO", "TP") if sys.platform == "darwin" else ("GLOO", "TP", "NCCL")
    return {f"{library}_SOCKET_IFNAME": name for library in libraries}


def interface_to(address: str) -> str | None:
    """The name of the interface, as "eth0"; None where this system does not tell it (not Linux).

    gloo would take the one to which the machine's own name leads. On many laptops this is the
    loopback, which no other machine can reach.
    """
    own = address_towards(address)
    if own is None or not sys.platform.startswith("linux"):
        return None
    for _, name in socket.if_nameindex():
        if _address_of(name) == own:
            return name
    return None


def address_towards(address: str) -> str | None:
    """The address that this machine has in the network of another one; None where it has none."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # sends nothing: it only chooses the way
            return probe.getsockname()[0]
    except OSError:
        return None


def _address_of(interface: str) -> str | None:
    import fcntl

    request = struct.pack("256s", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            answer = fcntl.ioctl(probe.fileno(), 0x8915, request)  # SIOCGIFADDR
        except OSError:
            return None
    return socket.inet_ntoa(answer[20:24])
