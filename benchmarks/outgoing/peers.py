"""postfwd and policyd-rate-limit of Debian, unpacked and started with the clock of the mail.

    postfwd              the limit that its manual has: 500 recipients an hour of a login, refused,
                         asked at the end of a message
    policyd-rate-limit   as it is installed: 10 mails a minute and 150 a day of a login, put off,
                         asked at each recipient

Packages are downloaded and unpacked into a folder, not installed.  libfaketime gives the programs
the time that stands in a file.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from benchmarks.outgoing.letter import Letter
from tests.peers.ports import free_port

PACKAGES: Final = (
    "postfwd", "policyd-rate-limit", "libnet-server-perl", "libio-multiplex-perl", "libnet-dns-perl",
    "libfaketime", "python3-yaml",
)  # fmt: skip
START_S: Final = 15.0
_RULE: Final = (
    "id=R001; protocol_state=~END-OF-MESSAGE; action=rcpt(sasl_username/500/3600/REJECT limit of"
    " 500 recipients per hour for sender $$sasl_username exceeded)\n"
)
_SETTINGS: Final = """\
debug: False
user: "nobody"
group: "nogroup"
pidfile: "{folder}/run/policyd.pid"
sqlite_config:
    database: "{folder}/run/db.sqlite3"
backend: 0
SOCKET: ["127.0.0.1", {port}]
limits:
    - [10, 60]
    - [150, 86400]
limits_by_id: {{}}
limit_by_sasl: True
limit_by_sender: False
limit_by_ip: False
limited_networks: []
success_action: "dunno"
fail_action: "defer_if_permit Rate limit reach, retry later"
db_error_action: "dunno"
report: False
delay_to_close: 300
"""


class Peer(Protocol):
    """A program that is asked about mail."""

    def stops(self, letter: Letter) -> int:
        """Return how many recipients of a message it refuses or puts off."""
        ...


class _Asked:
    """A policy service, by its socket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._file = self._socket.makefile("rw", encoding="ascii", newline="\n")
        self._number = 0

    def close(self) -> None:
        """Let the connection go."""
        self._file.close()
        self._socket.close()

    def ask(self, letter: Letter, state: str, recipient: str, number: int) -> str:
        """Return the action for a message, or for one recipient of it."""
        self._file.write(
            f"request=smtpd_access_policy\nprotocol_state={state}\nprotocol_name=ESMTP\n"
            f"client_address={letter.ip}\nclient_name=unknown\nhelo_name=client.example\n"
            f"sender={letter.sender}\nrecipient={recipient}\nrecipient_count={number}\n"
            f"sasl_method=plain\nsasl_username={letter.login}\nsize={letter.size}\n"
            f"instance={self._number}\n\n"
        )
        self._file.flush()
        answer = self._file.readline().strip()
        if not answer.startswith("action=") or self._file.readline() != "\n":
            raise ConnectionError(f"no answer of a policy service: {answer!r}")
        return answer.partition("=")[2]

    def begin(self) -> None:
        """Begin another message."""
        self._number += 1


class Postfwd(_Asked):
    """postfwd, asked at the end of each message."""

    def stops(self, letter: Letter) -> int:
        """Return all of its recipients, or 0."""
        self.begin()
        many = len(letter.recipients)
        action = self.ask(letter, "END-OF-MESSAGE", letter.recipients[0] if many == 1 else "", many)
        return 0 if action.startswith("DUNNO") else many


class PolicydRateLimit(_Asked):
    """policyd-rate-limit, asked at each recipient."""

    def stops(self, letter: Letter) -> int:
        """Return how many of its recipients are put off."""
        self.begin()
        actions = [self.ask(letter, "RCPT", recipient, 0) for recipient in letter.recipients]
        return sum(action != "dunno" for action in actions)


class PeerClock:
    """The time that the peers know.

    Args:
        path: of the file that has it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._second = -1

    def set(self, now: float) -> None:
        """Make it Unix time `now`, to the second: it is a file that is read at each call."""
        if int(now) == self._second:
            return
        self._second = int(now)
        text = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%d %H:%M:%S")
        beside = self._path.with_suffix(".new")
        beside.write_text(text)
        beside.chmod(0o644)
        beside.replace(self._path)


def unpack(folder: Path) -> Path:
    """Download the packages of the peers, and unpack them; return where."""
    where = folder / "root"
    subprocess.run(["apt-get", "download", *PACKAGES], cwd=folder, check=True, capture_output=True)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, where], check=True)
    return where


@contextmanager
def postfwd(folder: Path, root: Path) -> Iterator[Postfwd]:
    """Run postfwd, and ask it."""
    rules, pid = folder / "postfwd.cf", folder / "run/postfwd.pid"
    rules.write_text(_RULE)
    port = free_port()
    command: list[str | Path] = [
        "perl", "-T", "-I", root / "usr/share/perl5", root / "usr/sbin/postfwd1", "--daemon",
        "--file", rules, "--interface", "127.0.0.1", "--port", str(port), "--user", "nobody",
        "--group", "nogroup", "--pidfile", pid,
        "--summary=600", "--cache=600", "--cache-rdomain-only", "--cache-no-size",
    ]  # fmt: skip
    subprocess.run(command, check=True, env=_environment(folder, root))
    try:
        _wait(port)
        asked = Postfwd(port)
        yield asked
        asked.close()
    finally:
        os.kill(int(pid.read_text()), signal.SIGTERM)


@contextmanager
def policyd_rate_limit(folder: Path, root: Path) -> Iterator[PolicydRateLimit]:
    """Run policyd-rate-limit, and ask it."""
    settings, port = folder / "policyd.yaml", free_port()
    settings.write_text(_SETTINGS.format(folder=folder, port=port))
    environment = _environment(folder, root)
    environment["PYTHONPATH"] = str(root / "usr/lib/python3/dist-packages")
    command: list[str | Path] = [
        "/usr/bin/python3",
        root / "usr/bin/policyd-rate-limit",
        "--file",
        settings,
    ]
    with subprocess.Popen(command, env=environment) as process:
        try:
            _wait(port)
            asked = PolicydRateLimit(port)
            yield asked
            asked.close()
        finally:
            process.terminate()


def _environment(folder: Path, root: Path) -> dict[str, str]:
    (library,) = root.glob("usr/lib/*/faketime/libfaketimeMT.so.1")
    return {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "TZ": "UTC",
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(folder / "clock"),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _wait(port: int) -> None:
    until = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
