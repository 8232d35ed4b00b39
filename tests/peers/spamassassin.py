"""A real spamd with a few rules of its own: local tests only, no learning, no users."""

from __future__ import annotations

import socket
from typing import Final

from tests.peers.daemon import Daemon

RULES: Final = r"""
required_score 5
header TEST_PERHAPS Subject =~ /spamd-perhaps/
score TEST_PERHAPS 7
header TEST_CERTAIN Subject =~ /spamd-certain/
score TEST_CERTAIN 30
header TOLD_CLIENT X-Spam-Relays-Untrusted =~ /^\[ ip=192\.0\.2\.7 rdns=mail\.a\.example helo=mail\.a\.example by=mx\.b\.example /
score TOLD_CLIENT 0.01
header TOLD_ONE_HOP X-Spam-Relays-Untrusted =~ /^\[ ip=192\.0\.2\.7 [^\]]*\]\s*$/
score TOLD_ONE_HOP 0.01
header TOLD_SENDER EnvelopeFrom =~ /^ann\@a\.example$/
score TOLD_SENDER 0.01
"""
PLUGINS: Final = "loadplugin Mail::SpamAssassin::Plugin::Check\n"


class SpamAssassin(Daemon):
    """One spamd with one child."""

    def __init__(self) -> None:
        super().__init__("spamd")
        self.socket = self.root / "spamd.sock"
        self.address = f"unix:{self.socket}"
        for name, file, text in (("rules", "10.cf", RULES), ("site", "init.pre", PLUGINS)):
            (self.root / name).mkdir()
            (self.root / name / file).write_text(text)
        (self.root / "site" / "local.cf").write_text("trusted_networks 127.0.0.1\n")
        (self.root / "home").mkdir()

    def command(self) -> list[str]:
        """Return its command line."""
        return [
            "/usr/sbin/spamd", "--local", "--nouser-config", "--configpath", str(self.root / "rules"),
            "--siteconfigpath", str(self.root / "site"), "--max-children", "2", "--min-children", "1",
            "--socketpath", str(self.socket), "--syslog", "stderr", "--helper-home-dir", str(self.root / "home"),
        ]  # fmt: skip

    def answers(self) -> bool:
        """Tell whether it says PONG."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(5)
            connection.connect(str(self.socket))
            connection.sendall(b"PING SPAMC/1.5\r\n\r\n")
            return b"PONG" in connection.recv(1000)

    def start(self) -> None:
        """Start it; it does not take over a socket file that is there."""
        self.socket.unlink(missing_ok=True)
        super().start()
