"""A private Postfix on a free loopback port, for tests and the demo.

And an SMTP client that speaks as anyone (XCLIENT).

    with Postfix(milter="unix:/tmp/x/milter.sock") as postfix:
        replies = postfix.send(raw, sender="a@b.test", recipients=["joe@example.test"],
        xclient={"ADDR": "192.0.2.9"})

Everything lies in one folder below /tmp, readable by Postfix's own users; `master` runs in the
foreground and goes with the context. It must be started by root, as Postfix must. Mail for
example.test goes to `virtual_transport`.

Source: postconf(5), master(5), MILTER_README and XCLIENT_README of Postfix 3.7.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import signal
import smtplib
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.peers.ports import free_port

MASTER: Final = "/usr/lib/postfix/sbin/master"
READY_S: Final = 20.0  # until the banner, on a busy machine
STOP_S: Final = 10.0
SEND_S: Final = 60.0  # a socket's patience in one SMTP session

_QUEUE_FOLDERS: Final = (
    "active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private", "saved", "trace",
)  # fmt: skip
MASTER_CF: Final = """\
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
smtp unix - - n - - smtp
relay unix - - n - - smtp
lmtp unix - - n - - lmtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
showq unix n - n - - showq
postlog unix-dgram n - n - 1 postlogd
"""


def debian(*, chroot: bool = True, options: str = "") -> str:
    """Return master.cf as Debian ships it, but for the address of its smtpd.

    Args:
        chroot: of smtpd; Debian's is in one.
        options: of smtpd, such as "-o smtpd_milters=".
    """
    stock = Path("/usr/share/postfix/master.cf.dist").read_text()
    smtpd = f"127.0.0.1:{{port}} inet n - {'y' if chroot else 'n'} - - smtpd {options}\n"
    return re.sub(r"(?m)^smtp +inet .*\n", lambda _: smtpd, stock)


def available() -> bool:
    """Whether a private Postfix can be run here."""
    return os.geteuid() == 0 and Path(MASTER).exists()


class Postfix:
    """One Postfix instance; a context manager.

    Args:
        milter: address as main.cf writes it; empty = none.
        milter_default_action: what Postfix does when the milter is not there or fails.
        virtual_transport: where mail for example.test goes.
        main: further main.cf settings; they win over those here.
        master: text of master.cf, with {port} where the port goes.
    """

    def __init__(
        self,
        milter: str = "",
        *,
        milter_default_action: str = "tempfail",
        virtual_transport: str = "discard:",
        main: Mapping[str, str] | None = None,
        master: str = MASTER_CF,
    ) -> None:
        self._services = master
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="postfix-", dir="/tmp"))
        self._settings = self._main_cf(milter, milter_default_action, virtual_transport) | dict(
            main or {}
        )
        self._master: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Write the instance and start it; it answers when this returns."""
        try:
            self._write()
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
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop it and keep its folder."""
        if self._master is None:
            return
        self._master.send_signal(signal.SIGTERM)
        try:
            self._master.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._master.pid, signal.SIGKILL)
            self._master.wait(STOP_S)
        self._master = None

    def children(self) -> dict[int, str]:
        """Return the processes that its master runs, by id, with their names."""
        if self._master is None:
            return {}
        pid = self._master.pid
        found = {}
        for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(FileNotFoundError, ProcessLookupError):
                found[int(one)] = Path(f"/proc/{one}/comm").read_text().strip()
        return found

    def set(self, name: str, value: str) -> None:
        """Have it run with another value of main.cf."""
        folder = str(self.folder / "etc")
        subprocess.run(["/usr/sbin/postconf", "-c", folder, "-e", f"{name}={value}"], check=True)
        self.stop()
        self._start()

    def log(self) -> str:
        """Return what Postfix has logged."""
        path = self.folder / "mail.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def queued(self) -> list[str]:
        """Return the queue ids of what waits for its delivery, or is being delivered."""
        folders = ("incoming", "active", "deferred")
        return [
            one.name
            for name in folders
            for one in (self.folder / "spool" / name).rglob("*")
            if one.is_file()
        ]

    def wait_log(self, text: str, within_s: float = 10.0) -> str:
        """Return the log once it holds `text`.

        Raises:
            TimeoutError: it does not.
        """
        until = time.monotonic() + within_s
        while text not in (log := self.log()):
            if time.monotonic() > until:
                raise TimeoutError(f"{text!r} is not in Postfix's log:\n{log[-4000:]}")
            time.sleep(0.05)
        return log

    def whole_log(self) -> str:
        """Return the log with every line that Postfix's processes have sent until now.

        They send lines to postlogd, which writes them in their order, and go on meanwhile: one more
        line is sent, and waited for.

        Raises:
            TimeoutError: it does not come.
        """
        marker = f"whole until {time.monotonic_ns()}"
        command = ["/usr/sbin/postlog", "-c", str(self.folder / "etc"), marker]
        subprocess.run(command, check=True, capture_output=True, timeout=20)
        return self.wait_log(marker)

    def connect(
        self, xclient: Mapping[str, str] | None = None, helo: str = "client.test"
    ) -> smtplib.SMTP:
        """Return an SMTP session that has said EHLO, as the client that `xclient` describes.

        Args:
            xclient: attributes of XCLIENT, such as ADDR, NAME, HELO, LOGIN.
            helo: what EHLO names.
        """
        smtp = smtplib.SMTP(local_hostname=helo, timeout=SEND_S)
        smtp.connect("127.0.0.1", self.port)
        smtp.ehlo()
        if xclient:
            smtp.docmd("XCLIENT", " ".join(f"{name}={value}" for name, value in xclient.items()))
            smtp.ehlo()
        return smtp

    def send(
        self,
        raw: bytes,
        *,
        sender: str = "sender@client.test",
        recipients: Sequence[str] = ("joe@example.test",),
        xclient: Mapping[str, str] | None = None,
        helo: str = "client.test",
    ) -> list[str]:
        """Send one message; return the replies to MAIL, each RCPT, DATA's dot, as "550 5.7.1 text",
        lines parted by newline.

        The replies end with the first that leaves nothing to do: MAIL refused, or all recipients.
        """
        with self.connect(xclient, helo) as smtp:
            return transaction(smtp, raw, sender, recipients)

    # --- the instance ---

    def _main_cf(self, milter: str, default_action: str, virtual_transport: str) -> dict[str, str]:
        folder = self.folder
        return {
            "compatibility_level": "3.6",
            "config_directory": f"{folder}/etc",
            "queue_directory": f"{folder}/spool",
            "data_directory": f"{folder}/data",
            "maillog_file": f"{folder}/mail.log",
            "maillog_file_prefixes": str(folder),
            "myhostname": "mx.test",
            "mydomain": "test",
            "mydestination": "",
            "mynetworks": "127.0.0.0/8",
            "local_recipient_maps": "",
            "local_transport": "error:no local mail here",
            "alias_maps": "",
            "alias_database": "",
            "inet_interfaces": "127.0.0.1",
            "inet_protocols": "all",  # "ipv4" alone refuses XCLIENT's IPv6 addresses
            "smtpd_authorized_xclient_hosts": "127.0.0.0/8",
            "smtpd_peername_lookup": "no",
            "smtpd_client_connection_count_limit": "0",
            "virtual_mailbox_domains": "example.test",
            "virtual_mailbox_maps": "",  # every recipient is valid
            "virtual_transport": virtual_transport,
            "default_transport": "discard:",
            "smtpd_relay_restrictions": "permit_auth_destination, reject",
            "smtpd_milters": milter,
            "non_smtpd_milters": "",
            "milter_default_action": default_action,
            # above the start of a worker that was killed, on a busy machine
            "milter_connect_timeout": "20s",
            "milter_command_timeout": "10s",
            "milter_content_timeout": "30s",
        }

    def _write(self) -> None:
        postfix, postdrop = pwd.getpwnam("postfix").pw_uid, grp.getgrnam("postdrop").gr_gid
        self.folder.chmod(0o755)  # Postfix's daemons are not root
        for name in ("etc", "spool", "spool/pid"):
            (self.folder / name).mkdir()
        for name, mode, group in [(each, 0o700, 0) for each in _QUEUE_FOLDERS] + [
            ("maildrop", 0o730, postdrop),
            ("public", 0o710, postdrop),
            ("../data", 0o700, 0),
        ]:
            path = self.folder / "spool" / name
            path.mkdir()
            os.chown(path, postfix, group)
            path.chmod(mode)
        lines = [f"{name} = {value}\n" for name, value in self._settings.items()]
        for name, text in (
            ("main.cf", "".join(lines)),
            ("master.cf", self._services.replace("{port}", str(self.port))),
        ):
            path = self.folder / "etc" / name
            path.write_text(text)
            os.utime(path, (0, 0))  # Postfix waits until a file that was just written has settled

    def _start(self) -> None:
        with (self.folder / "master.err").open("wb") as errors:
            self._master = subprocess.Popen(
                [MASTER, "-c", str(self.folder / "etc"), "-s"],
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
            )
        until = time.monotonic() + READY_S
        while True:
            try:
                with smtplib.SMTP(
                    "127.0.0.1", self.port, local_hostname="ready.test", timeout=READY_S
                ):
                    return
            except (OSError, smtplib.SMTPException) as error:
                if time.monotonic() > until or self._master.poll() is not None:
                    said = (self.folder / "master.err").read_text("utf-8", "replace")
                    raise RuntimeError(
                        f"Postfix does not answer: {said}\n{self.log()[-4000:]}"
                    ) from error
                time.sleep(0.02)


def transaction(
    smtp: smtplib.SMTP, raw: bytes, sender: str, recipients: Sequence[str]
) -> list[str]:
    """Send one message in a session that is open; return the replies as `Postfix.send` does."""
    replies = [_text(smtp.docmd("MAIL", f"FROM:<{sender}>"))]
    if not replies[-1].startswith("2"):
        return replies
    accepted = 0
    for recipient in recipients:
        replies.append(_text(smtp.docmd("RCPT", f"TO:<{recipient}>")))
        accepted += replies[-1].startswith("2")
    if not accepted:
        return replies
    try:
        replies.append(_text(smtp.data(raw)))
    except smtplib.SMTPDataError as error:  # DATA itself refused
        replies.append(f"{error.smtp_code} {_line(error.smtp_error)}")
    return replies


def _text(reply: tuple[int, bytes]) -> str:
    return f"{reply[0]} {_line(reply[1])}"


def _line(text: bytes | str) -> str:
    return text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
