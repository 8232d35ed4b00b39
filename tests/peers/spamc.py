"""Clients of spamd: Debian's spamc, and one that writes whatever it is told, as Exim's and as
broken ones do.

spamc("unix:/tmp/x/spamd.sock", "-R", message=raw)
ask("unix:/tmp/x/spamd.sock", request("CHECK", raw))
"""

from __future__ import annotations

import shutil
import socket
import subprocess
from typing import Final, NamedTuple

from oborona.config.address import UnixAddress, parse_address

PATIENCE_S: Final = 20.0


def available() -> bool:
    """Tell whether spamc is installed."""
    return shutil.which("spamc") is not None


class Done(NamedTuple):
    """How spamc ended."""

    status: int
    said: str


def spamc(address: str, *words: str, message: bytes = b"") -> Done:
    """Run the real spamc.

    Args:
        address: of the door, as settings write it.
        words: of its command line.
        message: its input.
    """
    where = parse_address(address)
    if isinstance(where, UnixAddress):
        place = ["-U", where.path]
    else:
        place = ["-d", where.host, "-p", str(where.port), "--connect-retries=1"]
    done = subprocess.run(
        ["spamc", *place, *words],
        input=message,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode())


def request(
    command: str, message: bytes = b"", protocol: str = "SPAMC/1.5", /, *headers: str
) -> bytes:
    """Return one request with the length of its message."""
    lines = [f"{command} {protocol}", *headers, f"Content-length: {len(message)}", "", ""]
    return "\r\n".join(lines).encode() + message


def connected(address: str) -> socket.socket:
    """Return a connection to the door."""
    where = parse_address(address)
    if not isinstance(where, UnixAddress):
        return socket.create_connection((where.host, where.port), PATIENCE_S)
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE_S)
    sock.connect(where.path)
    return sock


def rest(sock: socket.socket) -> bytes:
    """Return all that is said until the connection ends."""
    return b"".join(iter(lambda: sock.recv(65_536), b""))


def ask(address: str, said: bytes, *, half_close: bool = True) -> bytes:
    """Return the whole answer to what is said on one connection.

    Args:
        address: of the door.
        said: octets.
        half_close: that is all, and the client says so.
    """
    with connected(address) as sock:
        sock.sendall(said)
        if half_close:
            sock.shutdown(socket.SHUT_WR)
        return rest(sock)
