"""A real clamd that knows one virus, ours; nothing is downloaded."""

from __future__ import annotations

import socket
from typing import Final

from tests.peers.daemon import Daemon

VIRUS: Final = b"OBORONA-TEST-VIRUS-7f1c"
NAME: Final = "Oborona.Test.UNOFFICIAL"  # a signature of one's own is told as not official
MAX_BYTES: Final = 300_000
SETTINGS: Final = """
DatabaseDirectory {root}/signatures
LocalSocket {root}/clamd.sock
LocalSocketMode 666
TemporaryDirectory {root}
Foreground yes
MaxThreads 4
StreamMaxLength {most}
"""


class Clamd(Daemon):
    """One clamd."""

    def __init__(self) -> None:
        super().__init__("clamd")
        self.socket = self.root / "clamd.sock"
        self.address = f"unix:{self.socket}"
        (self.root / "signatures").mkdir()
        (self.root / "signatures" / "test.ndb").write_text(f"Oborona.Test:0:*:{VIRUS.hex()}\n")
        (self.root / "clamd.conf").write_text(SETTINGS.format(root=self.root, most=MAX_BYTES))

    def command(self) -> list[str]:
        """Return its command line."""
        return ["/usr/sbin/clamd", "--config-file", str(self.root / "clamd.conf")]

    def answers(self) -> bool:
        """Tell whether it says PONG."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.socket))
            connection.sendall(b"zPING\0")
            return connection.recv(100) == b"PONG\0"

    def start(self) -> None:
        """Start it; it does not take over a socket file that is there."""
        self.socket.unlink(missing_ok=True)
        super().start()
