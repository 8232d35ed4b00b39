"""Real DNS servers on free loopback ports: rbldnsd for DNS lists, Unbound as a caching resolver.

    with Rbldnsd({"bl.test:ip4set": "127.0.0.2\\n192.0.2.66 :127.0.0.4:Listed\\n"}) as lists:
        ...ask 127.0.0.1:{lists.port}...
    with Zones({...}) as zones, Unbound(zones) as resolver:
        ...ask 127.0.0.1:{resolver.port}, which asks zones...

They run in the foreground in a folder in /tmp, and are gone afterwards.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import dns.exception
import dns.message
import dns.query

from tests.peers.dns import Zones
from tests.peers.ports import free_port

READY_S: Final = 20.0  # it takes 0.2 s; much more on a busy machine
STOP_S: Final = 10.0


class _Server(ABC):
    """A DNS server process on a free port, the same one whenever it is started again."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="oborona-dns-", dir="/tmp"))
        self.root.chmod(0o755)
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line."""

    @property
    def setting(self) -> str:
        """How the setting dns.servers names it."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()
        shutil.rmtree(self.root)

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self.root / "log"
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        question = dns.message.make_query("ready.invalid.", "SOA")
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            assert self._process.poll() is None, log.read_text()
            try:
                dns.query.udp(question, "127.0.0.1", port=self.port, timeout=0.2)
            except (dns.exception.Timeout, ConnectionRefusedError):
                time.sleep(0.02)
            else:
                return
        raise AssertionError(f"{self.command()[0]} does not answer: {log.read_text()}")

    def stop(self) -> None:
        """Stop it, as when it was switched off."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_S)
            self._process = None


class Rbldnsd(_Server):
    """rbldnsd.

    Args:
        zones: "name:type" (ip4set, ip4trie, ip6trie, dnset, generic, ...) -> the text of its file.
            rbldnsd(8) says what it holds.
    """

    def __init__(self, zones: Mapping[str, str]) -> None:
        super().__init__()
        self._zones = list(zones)
        for zone, text in zones.items():
            self._put(zone, text)

    def command(self) -> list[str]:
        where = f"127.0.0.1/{self.port}"
        zones = [f"{zone}:{self._file(zone)}" for zone in self._zones]
        flags = ["-n", "-f", "-l", "+-"]  # the last: each question goes to the log at once
        return [
            "/usr/sbin/rbldnsd",
            *flags,
            "-b",
            where,
            "-w",
            str(self.root),
            "-u",
            "nobody",
            *zones,
        ]

    def asked(self) -> list[str]:
        """Return the names that it was asked about, in their order."""
        return re.findall(r"^\d+ \S+ (\S+) \S+ IN: ", (self.root / "log").read_text(), re.MULTILINE)

    def write(self, zone: str, text: str) -> None:
        """Give a zone ("name:type") another text; it answers by it when this returns."""
        self.stop()
        self._put(zone, text)
        self.start()

    def _put(self, zone: str, text: str) -> None:
        (self.root / self._file(zone)).write_text(text)

    @staticmethod
    def _file(zone: str) -> str:
        return zone.replace(":", ".")


class Unbound(_Server):
    """Unbound, which asks another server for everything and keeps the answers.

    Args:
        upstream: that server.
    """

    def __init__(self, upstream: Zones) -> None:
        super().__init__()
        (self.root / "unbound.conf").write_text(f"""
server:
  interface: 127.0.0.1@{self.port}
  access-control: 127.0.0.0/8 allow
  directory: "{self.root}"
  pidfile: ""
  chroot: ""
  username: ""
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  do-ip6: no
  num-threads: 1
  module-config: "iterator"
  local-zone: "test." nodefault
  local-zone: "2.0.192.in-addr.arpa." nodefault
  local-zone: "invalid." always_nxdomain
forward-zone:
  name: "."
  forward-addr: {upstream.host}@{upstream.port}
remote-control:
  control-enable: no
""")

    def command(self) -> list[str]:
        return ["/usr/sbin/unbound", "-d", "-c", str(self.root / "unbound.conf")]
