"""A private OpenSMTPD on a free loopback port, with one filter: Debian's binary, unpacked and not
installed.

    with Opensmtpd("/usr/bin/oborona opensmtpd-filter ...") as smtpd:
        with smtpd.client("192.0.2.9") as smtp: smtp.sendmail(...)
        smtpd.delivered("joe")

Its paths are fixed in the binary (/usr/sbin/smtpd, /var/spool/smtpd, ...): it runs in a mount
namespace of its own, where the unpacked files lie over the system's.  It has to be started by root.
Clients come by the PROXY protocol, from whatever address a test likes.

Source: smtpd.conf(5) of OpenSMTPD 6.8; unshare(1); the PROXY protocol's specification, section 2.2.
"""

from __future__ import annotations

import os
import shlex
import shutil
import smtplib
import socket
import struct
import subprocess
import tempfile
import time
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.peers.ports import free_port

UNPACKED: Final = Path(__file__).parents[2] / ".venv" / "unpacked"
READY_S: Final = 20.0
STOP_S: Final = 10.0
SEND_S: Final = 30.0

_SMTPD_CONF: Final = """\
filter "tried" proc-exec "{filter}" user root group root
listen on 127.0.0.1 port {port} hostname mx.test proxy-v2 filter "tried"
action "local" maildir "{mail}/%{{dest.user}}" junk virtual {{ "@" = nobody }}
match from any for domain "example.test" action "local"
"""
_RUN: Final = """\
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/spool
mkdir -m 711 /var/spool/smtpd
for place in usr/libexec usr/sbin var/lib; do
    mount -t overlay overlay -o lowerdir={unpacked}/$place:/$place /$place
done
exec /usr/sbin/smtpd -d -f {root}/smtpd.conf
"""
_PROXY: Final = b"\r\n\r\n\0\r\nQUIT\n\x21"


def available() -> bool:
    """Whether a private OpenSMTPD can be run here."""
    return (
        os.geteuid() == 0
        and (UNPACKED / "usr/sbin/smtpd").exists()
        and shutil.which("unshare") is not None
    )


class Opensmtpd:
    """One OpenSMTPD; a context manager.

    Args:
        command: of its filter, and its words.
    """

    def __init__(self, *command: str) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="smtpd-", dir="/tmp"))
        self.root.chmod(0o755)
        self.port = free_port()
        self.mail = self.root / "mail"
        self.mail.mkdir()
        self.mail.chmod(0o777)
        conf = self.root / "smtpd.conf"
        conf.write_text(
            _SMTPD_CONF.format(filter=shlex.join(command), port=self.port, mail=self.mail)
        )
        (self.root / "run").write_text(_RUN.format(unpacked=UNPACKED, root=self.root))
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with (self.root / "output").open("ab") as output:
            self.process = subprocess.Popen(
                ["unshare", "--mount", "sh", str(self.root / "run")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _wait(self) -> None:
        assert self.process is not None
        until = time.monotonic() + READY_S
        while True:
            try:
                self.client("127.0.0.1").close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"smtpd did not start:\n{self.log()}") from None
                time.sleep(0.05)
            else:
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def client(self, ip: str, port: int = 4711) -> smtplib.SMTP:
        """Connect as a client of any address; its first words are still to be said.

        Raises:
            smtplib.SMTPConnectError: it is refused.
        """
        return _Proxied(ip, port, self.port)

    def delivered(self, user: str, folder: str = "") -> list[bytes]:
        """Return the messages in a folder of a mailbox."""
        return [path.read_bytes() for path in sorted((self.mail / user / folder / "new").glob("*"))]

    def log(self) -> str:
        """Return everything that it said, and its filter."""
        return (self.root / "output").read_text(errors="backslashreplace")


class _Proxied(smtplib.SMTP):
    """An SMTP client behind a proxy that tells its address."""

    def __init__(self, ip: str, port: int, ours: int) -> None:
        self._source = (ip_address(ip), port)
        super().__init__("127.0.0.1", ours, local_hostname="client.test", timeout=SEND_S)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = socket.create_connection((host, port), timeout)
        address, number = self._source
        family, ours = (
            (0x11, ip_address("192.0.2.25"))
            if address.version == 4
            else (0x21, ip_address("2001:db8::25"))
        )
        told = address.packed + ours.packed + struct.pack("!HH", number, port)
        plain.sendall(_PROXY + struct.pack("!BH", family, len(told)) + told)
        return plain
