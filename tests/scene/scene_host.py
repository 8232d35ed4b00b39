"""One host of the scene: a daemon, a Postfix, and lines to PostgreSQL that can be cut."""

from __future__ import annotations

import http.client
import itertools
import json
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

import msgspec

from oborona.replication.link import link_path, read_link
from tests.peers.oborona import SETTINGS, Oborona
from tests.peers.postfix import Postfix
from tests.peers.postgresql_pair import PostgresqlPair
from tests.replication.cut_line import CutLine
from tests.whole.after import AS_IT_COMES, DOMAIN

DISK: Final = "size=256m,mode=0700"  # of its state folder, to be filled
REPORT_S: Final = 15.0  # a report is acknowledged in a few seconds, or not at all
_numbers = itertools.count(1)


class UnixHttpConnection(http.client.HTTPConnection):
    """A client of a server on a socket file."""

    path = ""

    def connect(self) -> None:
        """Connect to the file."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class SceneHost:
    """A host; what it starts ends with the stack.

    Args:
        name: in the site.
        settings: those of all hosts.
        lmtp: where its Postfix delivers.
    """

    def __init__(
        self, name: str, settings: Mapping[str, object], lmtp: Path, stack: ExitStack
    ) -> None:
        self.name = name
        self.oborona = Oborona(settings)
        stack.callback(self.oborona.stop)
        root = self.oborona.root
        self.oborona.state.mkdir(mode=0o700, exist_ok=True)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", self.oborona.state], check=True
        )
        stack.callback(self._unmount)
        stack.callback(self.oborona.halt)
        self.reports = root / "feedback"  # of POST /feedback
        shutil.copytree(SETTINGS.parent / "policy.d", root / "policy.d")
        (root / "policy.d" / "90-local.toml").write_text(AS_IT_COMES)
        self.oborona.set(
            {
                "paths.policy": root / "policy.d",
                "paths.shipped_policy": SETTINGS.parent / "policy.d",
                "intake.http_listen": f"unix:{self.reports}",
            }
        )
        self.postfix = Postfix(self.oborona.milter, virtual_transport=f"lmtp:unix:{lmtp}")
        self.lines: list[CutLine] = []
        self._stack = stack

    def _unmount(self) -> None:
        subprocess.run(["umount", "-l", self.oborona.state], check=True)

    def join(self, what: str, pair: PostgresqlPair, secret: bytes | None) -> None:
        """Begin the site, or join it, by lines to PostgreSQL that can be cut.

        Args:
            what: begin or join.
            pair: the site's PostgreSQL.
            secret: of the site; None = it makes one.
        """
        state = self.oborona.state
        if secret is not None:
            (state / "secret").write_bytes(secret)
            (state / "secret").chmod(0o600)
        self.oborona.start()
        self.oborona.halt()
        done = self.oborona.run("site", what, pair.address, "--name", self.name)
        assert done.returncode == 0, done.stderr
        link = read_link(state)
        assert link is not None
        address = pair.address
        for port in pair.ports:
            line = self._stack.enter_context(CutLine(port))
            address = address.replace(str(port), str(line.port))
            self.lines.append(line)
        link_path(state).write_bytes(
            msgspec.json.encode(msgspec.structs.replace(link, address=address))
        )

    def start(self) -> None:
        """Let daemon and mail server run."""
        self.oborona.start()
        self._stack.enter_context(self.postfix)

    def cut(self, held: bool) -> None:
        """Hold what goes to PostgreSQL and comes from there, or let it pass again."""
        for line in self.lines:
            line.held = held

    def processes(self) -> dict[int, str]:
        """Return the processes of its daemon that run, by id, with their names."""
        assert self.oborona.process is not None
        parent = self.oborona.process.pid
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except FileNotFoundError:
            return {}
        names = {one["child"]: str(one["process"]) for one in self.events("process started")}
        return {parent: "serve"} | {int(one): names.get(int(one), "?") for one in children}

    def post(self, user: str, text: str, *, ip: str, sender: str) -> str:
        """Send a message to a reader, as a client of that address; return the last reply."""
        number = next(_numbers)
        raw = (
            f"From: Somebody <{sender}>\r\nTo: {user}@{DOMAIN}\r\nSubject: news for you\r\n"
            f"Message-ID: <{number}@{self.name}.example>\r\n"
            f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{text}\r\n"
        )
        return self.postfix.send(
            raw.encode(),
            sender=sender,
            recipients=[f"{user}@{DOMAIN}"],
            xclient={"ADDR": ip, "NAME": "[UNAVAILABLE]"},
            helo=f"host{number}.example",
        )[-1]

    def events(self, what: str) -> list[dict[str, Any]]:
        """Return the log's lines of one kind."""
        return [one for one in self._lines() if one["msg"] == what]

    def report(self, reference: str, person: str) -> int:
        """Hand in a complaint, once however often it is handed in; return the status of the answer.

        Raises:
            OSError, http.client.HTTPException: there was none.
        """
        with closing(UnixHttpConnection("host", timeout=REPORT_S)) as door:
            door.path = str(self.reports)
            door.request(
                "POST",
                "/feedback",
                json.dumps({"what": "complaint", "person": person, "id": reference}),
                {"Content-Type": "application/json", "Idempotency-Key": reference},
            )
            return door.getresponse().status

    def _lines(self) -> Iterable[dict[str, Any]]:
        for line in self.oborona.log().splitlines(keepends=True):
            if line.startswith("{") and line.endswith("\n"):
                yield msgspec.json.decode(line)
