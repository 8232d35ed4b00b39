"""A private OpenSMTPD on free loopback ports, with one filter: Debian's binary, unpacked and not
installed.

    with Opensmtpd("/usr/bin/oborona opensmtpd-filter ...") as smtpd:
        with smtpd.client("192.0.2.9") as smtp: smtp.sendmail(...)
        smtpd.delivered("joe")
    with Opensmtpd(..., newer=True) as smtpd:
        with smtpd.submission("192.0.2.9", "ann@example.test") as smtp: smtp.sendmail(...)
        smtpd.hand_in(raw, "web@example.test", "bo@b.example")

OpenSMTPD 6.8 of Debian 12 can't do TLS with its OpenSSL 3 (OpenSMTPD's issue 1171), and takes no
login without; the newer one, of its backports, can.

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
import ssl
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.peers.certificate import write_certificate
from tests.peers.ports import free_port

UNPACKED: Final = Path(__file__).parents[2] / ".venv" / "unpacked"
NEWER: Final = UNPACKED / "opensmtpd-backports"
READY_S: Final = 20.0
STOP_S: Final = 10.0
SEND_S: Final = 30.0

PASSWORD: Final = "of every account"

_SMTPD_CONF: Final = """\
filter "tried" proc-exec "{filter}" user root group root
pki mx.test cert "{root}/both.pem"
pki mx.test key "{root}/both.pem"
table people file:{root}/people
listen on socket filter "tried"
listen on 127.0.0.1 port {port} hostname mx.test proxy-v2 filter "tried"
listen on 127.0.0.1 port {submission} hostname mx.test proxy-v2 \
    tls-require pki mx.test auth <people> filter "tried"
action "local" maildir "{mail}/%{{dest.user}}" junk virtual {{ "@" = nobody }}
match from any for domain "example.test" action "local"
match from local for any action "local"
match from any auth for any action "local"
"""
_LAID_OVER: Final = """\
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/spool
mkdir -m 711 /var/spool/smtpd
for place in usr/libexec usr/sbin var/lib; do
    [ ! -d {unpacked}/$place ] || mount -t overlay overlay -o lowerdir={unpacked}/$place:/$place /$place
done
"""
_RUN: Final = """\
{laid_over}install -g opensmtpq -m 2755 /usr/sbin/smtpctl /run/smtpctl
mount --bind /run/smtpctl /usr/sbin/smtpctl
exec /usr/sbin/smtpd -d -f {root}/smtpd.conf
"""
_PROXY: Final = b"\r\n\r\n\0\r\nQUIT\n\x21"


def available(*, newer: bool = False) -> bool:
    """Whether a private OpenSMTPD can be run here."""
    return (
        os.geteuid() == 0
        and (_folder(newer=newer) / "usr/sbin/smtpd").exists()
        and shutil.which("unshare") is not None
    )


def _folder(*, newer: bool) -> Path:
    return NEWER if newer else UNPACKED


def check_config(config: Path, *, newer: bool = False) -> subprocess.CompletedProcess[str]:
    """Have OpenSMTPD read a configuration, and say what is wrong with it."""
    script = f"{_LAID_OVER.format(unpacked=_folder(newer=newer))}exec smtpd -n -f {config}"
    words = ["unshare", "--mount", "sh", "-c", script]
    return subprocess.run(words, capture_output=True, text=True, timeout=STOP_S, check=False)


class Opensmtpd:
    """One OpenSMTPD; a context manager.

    Args:
        command: of its filter, and its words.
        newer: that of Debian's backports.
        logins: of its own people, whose password is `PASSWORD`.
    """

    def __init__(
        self, *command: str, newer: bool = False, logins: Sequence[str] = ("ann@example.test",)
    ) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="smtpd-", dir="/tmp"))
        self.root.chmod(0o755)
        self.port, self.submission_port = free_port(), free_port()
        self.mail = self.root / "mail"
        self.mail.mkdir()
        self.mail.chmod(0o777)
        write_certificate(self.root / "both.pem").chmod(0o600)  # smtpd demands it of a key
        hashed = _hashed(PASSWORD)
        (self.root / "people").write_text("".join(f"{login} {hashed}\n" for login in logins))
        conf = self.root / "smtpd.conf"
        conf.write_text(
            _SMTPD_CONF.format(
                filter=shlex.join(command),
                port=self.port,
                submission=self.submission_port,
                mail=self.mail,
                root=self.root,
            )
        )
        laid_over = _LAID_OVER.format(unpacked=_folder(newer=newer))
        (self.root / "run").write_text(_RUN.format(laid_over=laid_over, root=self.root))
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

    def submission(self, ip: str, login: str = "") -> smtplib.SMTP:
        """Connect to the port of its own people, from any address, by TLS.

        Args:
            ip: of the client.
            login: who logs in; empty = nobody.

        Raises:
            smtplib.SMTPAuthenticationError: there is no such login.
        """
        smtp = _Proxied(ip, 4711, self.submission_port)
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        smtp.starttls(context=trusting)
        if login:
            smtp.login(login, PASSWORD)
        return smtp

    def hand_in(self, raw: bytes, sender: str, recipient: str) -> subprocess.CompletedProcess[str]:
        """Hand in a message as a program of the machine does, by its `sendmail`."""
        assert self.process is not None
        inside = ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt"]
        return subprocess.run(
            [*inside, "/usr/sbin/sendmail", "-i", "-f", sender, recipient],
            input=raw.decode("ascii").replace("\r\n", "\n"),
            capture_output=True,
            text=True,
            timeout=SEND_S,
            check=False,
        )

    def delivered(self, user: str, folder: str = "") -> list[bytes]:
        """Return the messages in a folder of a mailbox."""
        return [path.read_bytes() for path in sorted((self.mail / user / folder / "new").glob("*"))]

    def log(self) -> str:
        """Return everything that it said, and its filter."""
        return (self.root / "output").read_text(errors="backslashreplace")


def _hashed(password: str) -> str:
    """Return a password as a table of logins has it."""
    words = ["openssl", "passwd", "-6", password]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


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
