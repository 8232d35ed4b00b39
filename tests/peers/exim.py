"""A private Exim on a free loopback port, with the files of etc/exim as they ship.

And an SMTP client that speaks as anyone (PROXY protocol).

    with Exim({"OBORONA_SOCKET": "/tmp/x/exim.sock"}, mailboxes=["joe"]) as exim:
        replies = exim.send(raw, ip="192.0.2.9", recipients=["joe@example.test"])
        exim.messages("joe"), exim.messages("joe", ".Junk")

Everything lies in one folder below /tmp; the daemon runs in the foreground and goes with the
context. It must be started by root, and delivers as Exim's own user. It is the Exim of the system,
or the one that was unpacked beside our environment.

Source: Exim's specification 4.96, chapters 5 (command line), 6 (configuration), 60 (PROXY
protocol).
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.peers.ports import free_port
from tests.peers.postfix import transaction

SHIPPED: Final = Path(__file__).parents[2] / "etc" / "exim"
USER: Final = "Debian-exim"
READY_S: Final = 20.0  # until the banner, on a busy machine
STOP_S: Final = 10.0
SEND_S: Final = 60.0  # a socket's patience in one SMTP session
_PLACES: Final = (Path("/usr/sbin/exim4"), Path(sys.prefix) / "unpacked/usr/sbin/exim4")

# a client's name would be asked of the system's DNS, and there is none here
_NAME: Final = "${if def:sender_host_address{${lookup{$sender_host_address}iplsearch{ROOT/names}}}}"
_BEFORE: Final = """\
{macros}
keep_environment =
exim_path = {program}
primary_hostname = mx.test
spool_directory = {root}/spool
log_file_path = {root}/log/%slog
pid_file_path = {root}/exim.pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port}
tls_advertise_hosts =
deliver_drop_privilege = true
rfc1413_query_timeout = 0s
smtp_accept_max = 100
helo_accept_junk_hosts = *
hosts_proxy = 127.0.0.1
log_selector = +smtp_confirmation -host_lookup_failed
{main}
.include {shipped}/exim.conf
"""
_AFTER: Final = """
begin authenticators

plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = true
  server_set_id = $auth2
  server_advertise_condition = true
"""


def program() -> Path | None:
    """Return the Exim that can be run here; None = there is none."""
    return next((one for one in _PLACES if one.exists()), None)


def available() -> bool:
    """Whether a private Exim can be run here."""
    if os.geteuid() != 0 or program() is None:
        return False
    with suppress(KeyError):
        return bool(pwd.getpwnam(USER))
    return False


class Exim:
    """One Exim instance; a context manager.

    Args:
        macros: names of etc/exim, and what they stand for.
        mailboxes: local parts at example.test.
        main: further lines of the main section.
        folder: with the files of etc/exim.
        nameserver: address of the DNS, at port 53, that Exim itself asks, by an /etc/resolv.conf
            that only it sees.
    """

    def __init__(
        self,
        macros: Mapping[str, str] | None = None,
        *,
        mailboxes: Sequence[str] = ("joe", "ann"),
        main: str = "",
        folder: Path = SHIPPED,
        nameserver: str = "",
    ) -> None:
        self.port = free_port()
        self.root = Path(tempfile.mkdtemp(prefix="exim-", dir="/tmp"))
        self.config = self.root / "exim.conf"
        found = program()
        self.program = self._program = str(found)
        self.macros = {
            "OBORONA_FOLDER": str(folder),
            "MAILBOXES": f"{self.root}/mail",
            "OBORONA_CLIENT_NAME": _NAME.replace("ROOT", str(self.root)),
        } | dict(macros or {})
        self._text = _BEFORE.format(
            macros="\n".join(f"{name} = {value}" for name, value in self.macros.items()),
            program=found,
            root=self.root,
            port=self.port,
            main=main,
            shipped=folder,
        )
        self._mailboxes = tuple(mailboxes)
        self._nameserver = nameserver
        self._names: dict[str, str] = {}
        self._daemon: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Write the instance and start it; it answers when this returns."""
        try:
            self.write()
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it and remove its folder."""
        if self._daemon is not None:
            self._daemon.send_signal(signal.SIGTERM)
            try:
                self._daemon.wait(STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._daemon.pid, signal.SIGKILL)
                self._daemon.wait(STOP_S)
            self._daemon = None
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self) -> None:
        """Write the instance's files; enough for `expand` and `host_test`."""
        user = pwd.getpwnam(USER)
        self.root.chmod(0o755)
        self.config.write_text(self._text + _AFTER)  # must be root's, and nobody else's to write
        self.config.chmod(0o644)
        (self.root / "names").touch()
        for name in ("spool", "log", "mail", *(f"mail/{one}" for one in self._mailboxes)):
            (self.root / name).mkdir(exist_ok=True)
            os.chown(self.root / name, user.pw_uid, user.pw_gid)

    def name(self, ip: str, name: str) -> None:
        """Let clients of an address have a name that was verified; empty = none."""
        self._names[ip] = name
        lines = (f'"{one}": {called}\n' for one, called in self._names.items() if called)
        (self.root / "names").write_text("".join(lines))

    def _start(self) -> None:
        with (self.root / "output").open("wb") as output:
            self._daemon = subprocess.Popen(
                [*self._with_nameserver(), self._program, "-C", str(self.config), "-bdf"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until = time.monotonic() + READY_S
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), READY_S):
                    return
            except OSError as error:
                if time.monotonic() > until or self._daemon.poll() is not None:
                    said = (self.root / "output").read_text("utf-8", "replace")
                    raise RuntimeError(f"Exim does not answer: {said}\n{self.log()}") from error
                time.sleep(0.02)

    def _with_nameserver(self) -> list[str]:
        """Return what to write before a command that shall ask our DNS."""
        if not self._nameserver:
            return []
        resolv = self.root / "resolv.conf"
        resolv.write_text(f"nameserver {self._nameserver}\n")
        return [
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount --bind "$0" /etc/resolv.conf && exec "$@"',
            str(resolv),
        ]

    # --- as a client ---

    def connect(self, ip: str, helo: str = "client.test") -> smtplib.SMTP:
        """Return an SMTP session that has said EHLO, as a client of that address.

        Raises:
            smtplib.SMTPConnectError: refused at once; its code and words.
        """
        smtp = _Proxied(ip, local_hostname="client.test", timeout=SEND_S)
        code, words = smtp.connect("127.0.0.1", self.port)
        if code != 220:
            smtp.close()
            raise smtplib.SMTPConnectError(code, words)
        smtp.ehlo(helo)
        return smtp

    def send(
        self,
        raw: bytes,
        *,
        ip: str = "192.0.2.7",
        sender: str = "ann@a.example",
        recipients: Sequence[str] = ("joe@example.test",),
        helo: str = "mail.a.example",
    ) -> list[str]:
        """Send one message; return the replies to MAIL, each RCPT, DATA's dot, or the one greeting
        that refuses, lines parted by newline.
        """
        try:
            with self.connect(ip, helo) as smtp:
                return transaction(smtp, raw, sender, recipients)
        except smtplib.SMTPConnectError as error:
            words = error.smtp_error
            return [f"{error.smtp_code} {words.decode() if isinstance(words, bytes) else words}"]

    # --- as an admin ---

    def expand(self, text: str) -> str:
        """Return what Exim makes of a string without line feeds: `exim -be`."""
        done = self._run("-be", said=f"{text}\n")  # as an argument it might be too long
        return done.stdout.removeprefix("> ").partition("\n> ")[0]

    def host_test(self, ip: str, dialog: str) -> str:
        """Return what a client of that address would be told: `exim -bh`, with what Exim says
        beside on lines of its own left out.
        """
        done = self._run("-bh", ip, said=dialog.replace("\n", "\r\n"))
        return "".join(
            f"{line}\n" for line in done.stdout.splitlines() if re.match(r"\d{3}[ -]", line)
        )

    def submit(self, raw: bytes, recipient: str) -> str:
        """Hand in a message as a local program does.

        Return what it is told, nothing where it is taken.
        """
        done = self._run("-odi", recipient, said=raw.decode("ascii"))
        return done.stdout + done.stderr

    def command(self, *words: str) -> str:
        """Return what Exim says to an admin's command, such as `-bp`."""
        return self._run(*words).stdout

    def _run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, "-C", str(self.config), *words],
            input=said,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=SEND_S,
            check=False,
        )

    def messages(self, mailbox: str, folder: str = ".") -> list[bytes]:
        """Return what lies in a folder of a mailbox, the oldest first."""
        new = self.root / "mail" / mailbox / folder / "new"
        found = (
            sorted(new.iterdir(), key=lambda one: one.stat().st_mtime_ns) if new.is_dir() else []
        )
        return [one.read_bytes() for one in found]

    def wait_message(
        self, mailbox: str, folder: str = ".", number: int = 1, within_s: float = 20.0
    ) -> bytes:
        """Return the number-th message of a folder once it is there.

        Raises:
            TimeoutError: it does not come.
        """
        until = time.monotonic() + within_s
        while len(found := self.messages(mailbox, folder)) < number:
            if time.monotonic() > until:
                raise TimeoutError(f"{len(found)} messages in {folder} of {mailbox}:\n{self.log()}")
            time.sleep(0.02)
        return found[number - 1]

    def log(self) -> str:
        """Return what Exim has logged, its panic log last."""
        logs = [self.root / "log" / f"{one}log" for one in ("main", "panic")]
        return "".join(one.read_text("utf-8", "backslashreplace") for one in logs if one.exists())


class _Proxied(smtplib.SMTP):
    """An SMTP client that begins as a proxy does, with the address of another.

    Args:
        ip: that address.
        local_hostname, timeout: as of SMTP.
    """

    def __init__(self, ip: str, *, local_hostname: str, timeout: float) -> None:
        self._ip = ip
        super().__init__(local_hostname=local_hostname, timeout=timeout)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        sock = socket.create_connection((host, port), timeout)
        family, ours = ("TCP6", "::1") if ":" in self._ip else ("TCP4", "127.0.0.1")
        sock.sendall(f"PROXY {family} {self._ip} {ours} 4711 25\r\n".encode("ascii"))
        return sock
