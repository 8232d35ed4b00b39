"""Free ports on loopback for the servers of tests.

They are taken from below the range that the system gives to outgoing connections: of these any test
may have one between a look and a server's start.
"""

from __future__ import annotations

import secrets
import socket
from typing import Final

FIRST: Final = 11_000
LAST: Final = 22_000  # the bus of a Redis node is 10,000 above its port, and below 32,768


_given: Final[set[int]] = set()  # by this process: not taken yet, perhaps, and no longer free


def free_port(*above: int) -> int:
    """Return a port that nobody has, neither for TCP nor for UDP.

    Args:
        above: other ports that the server opens, counted from this one.
    """
    while True:
        port = FIRST + secrets.randbelow(LAST - FIRST)
        asked = {port + offset for offset in (0, *above)}
        if not asked & _given and all(map(_free, asked)):
            _given.update(asked)
            return port


def _free(port: int) -> bool:
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        try:
            tcp.bind(("127.0.0.1", port))
            udp.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
