"""Redis as real processes on free loopback ports: one alone, or a cluster of primaries with a
replica each; or Valkey, if VALKEY names its program.

Nothing outlives the folder: no snapshot, no log of writes. A node that is started again comes back
empty and copies its primary, as after the loss of a machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Self

import hiredis

from oborona.counters.cluster.wire import pack
from tests.peers.ports import free_port

READY_S: Final = 30.0  # bounds a hang; a node is up in 0.1 s, a cluster in 3 s
NODE_TIMEOUT_MS: Final = 1000
PATIENT: Final = {"cluster-node-timeout": "60000"}  # where nobody is to take over
ESCAPED: Final = ("utf-8", "surrogateescape")  # any bytes as text, and back
SERVER: Final = os.environ.get("VALKEY", "redis-server")
BUS: Final = 10_000  # the bus of a node of a cluster listens so far above

Address = tuple[str, int]


class Node:
    """One Redis process.

    Args:
        root: its own folder is made in it.
        cluster: whether it is to be a member of one.
        settings: lines of its file beyond those of all nodes.
        certificate: file of its own and its key: it speaks TLS alone; None: without TLS.
    """

    def __init__(
        self,
        root: Path,
        *,
        cluster: bool,
        settings: dict[str, str] | None = None,
        certificate: Path | None = None,
    ) -> None:
        self._certificate = certificate
        self.address: Address = ("127.0.0.1", free_port(BUS))
        self.folder = root / str(self.address[1])
        self.folder.mkdir()
        self._settings = {"save": "", "appendonly": "no", "repl-diskless-sync-delay": "0"}
        if cluster:
            self._settings |= {
                "cluster-enabled": "yes",
                "cluster-config-file": "nodes.conf",
                "cluster-node-timeout": str(NODE_TIMEOUT_MS),
                "cluster-require-full-coverage": "no",
            }
        if certificate is not None:
            self._settings |= {
                "tls-port": str(self.address[1]),
                "tls-cluster": "yes",
                "tls-auth-clients": "no",
                "tls-cert-file": str(certificate),
                "tls-key-file": str(certificate),
                "tls-ca-cert-file": str(certificate),
            }
        self._settings |= settings or {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    def start(self, password: str = "") -> None:
        """Start it and wait until it answers; `password` if its settings ask for one."""
        host, port = self.address
        plain = 0 if self._certificate else port
        lines = [f"bind {host}", f"port {plain}", f"dir {self.folder}", "logfile log"]
        lines += [f'{name} "{value}"' for name, value in self._settings.items()]
        file = self.folder / "redis.conf"
        file.write_text("".join(line + "\n" for line in lines))
        self.process = subprocess.Popen([SERVER, str(file)])
        greeting = ["AUTH", password] if password else ["PING"]
        wait_for(lambda: self.ask(*greeting) in ("PONG", "OK"), f"{self.name} to answer")

    def kill(self) -> None:
        """Kill it, as a machine that loses power."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, *words: str | bytes | int) -> object:
        """Return the answer to one command; an error of Redis as an `hiredis.ReplyError`."""
        return ask(self.address, *words, certificate=self._certificate)


class Cluster:
    """Primaries and replicas in a folder of their own, for use as a context.

    Args:
        primaries: at least three, as Redis asks.
        replicas: of each.
        settings: as of a node.
        certificate: as of a node.
    """

    def __init__(
        self,
        primaries: int = 3,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        certificate: Path | None = None,
    ) -> None:
        self._certificate = certificate
        self.root = Path(tempfile.mkdtemp(prefix="oborona-redis-", dir="/tmp"))
        self._replicas = replicas
        self.settings = settings
        self.nodes = [
            Node(self.root, cluster=True, settings=settings, certificate=certificate)
            for _ in range(primaries * (1 + replicas))
        ]

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.start()
            self.manage(
                "create",
                *(node.name for node in self.nodes),
                "--cluster-replicas",
                str(self._replicas),
            )
            self.wait_until_whole()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kill what still runs and remove the folder."""
        for node in self.nodes:
            node.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def names(self) -> list[str]:
        return [node.name for node in self.nodes]

    def add_shard(self) -> Node:
        """Start one more primary, without slots, and have it join."""
        node = Node(self.root, cluster=True, settings=self.settings, certificate=self._certificate)
        node.start()
        known = next(one for one in self.nodes if one.process is not None)
        self.nodes.append(node)
        self.manage("add-node", node.name, known.name)
        self.wait_until_agreed()
        return node

    def reshard(self, target: Node, slots: int) -> None:
        """Move so many slots from all others to one node, as an admin does."""
        known = next(one for one in self.nodes if one.process is not None)
        self.manage(
            "reshard",
            known.name,
            "--cluster-from",
            "all",
            "--cluster-to",
            str(target.ask("CLUSTER", "MYID")),
            "--cluster-slots",
            str(slots),
        )

    def primary_of(self, slot: int) -> Node:
        """Return the node that has a slot, as one that runs tells it."""
        known = next(one for one in self.nodes if one.process is not None)
        ranges = known.ask("CLUSTER", "SLOTS")
        assert isinstance(ranges, list)
        port = next(one[2][1] for one in ranges if one[0] <= slot <= one[1])
        return next(node for node in self.nodes if node.address[1] == port)

    def primaries(self) -> list[Node]:
        """Return the nodes that run and are primaries."""
        return [node for node in self.nodes if node.process is not None and _role(node) == "master"]

    def wait_until_whole(self) -> None:
        """Wait until every slot has a primary and every replica has copied it."""
        self.wait_until_agreed()
        running = [node for node in self.nodes if node.process is not None]
        for node in running:
            wait_for(partial(_in_step, node), f"{node.name} to copy its primary")

    def wait_until_agreed(self) -> None:
        """Wait until all nodes that run say that the cluster is whole, and tell the same
        primaries.
        """

        def agreed() -> bool:
            running = [node for node in self.nodes if node.process is not None]
            told = set()
            for node in running:
                if "cluster_state:ok" not in str(node.ask("CLUSTER", "INFO")):
                    return False
                ranges = node.ask("CLUSTER", "SLOTS")
                assert isinstance(ranges, list)
                told.add(str(sorted((one[0], one[1], one[2][1]) for one in ranges)))
            return len(told) == 1

        wait_for(agreed, "all nodes to agree")

    def manage(self, what: str, *words: str) -> str:
        """Run `redis-cli --cluster`; return what it printed."""
        tls = ["--tls", "--cacert", str(self._certificate)] if self._certificate else []
        command = ["redis-cli", *tls, "--cluster", what, *words, "--cluster-yes"]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout


def ask(address: Address, *words: str | bytes | int, certificate: Path | None = None) -> object:
    """Return one node's answer to one command; an error of Redis as an `hiredis.ReplyError`."""
    reader = hiredis.Reader(encoding=ESCAPED[0], errors=ESCAPED[1])
    with _connection(address, certificate) as connection:
        connection.sendall(
            pack([one.encode(*ESCAPED) if isinstance(one, str) else one for one in words])
        )
        while True:
            found = reader.gets()
            if found is not False:
                return found
            data = connection.recv(1 << 16)
            if not data:
                raise ConnectionError(f"{address} hung up")
            reader.feed(data)


def _connection(address: Address, certificate: Path | None) -> socket.socket:
    plain = socket.create_connection(address, timeout=READY_S)
    if certificate is None:
        return plain
    tls = ssl.create_default_context(cafile=certificate)
    return tls.wrap_socket(plain, server_hostname=address[0])


def wait_for(true: Callable[[], bool], what: str) -> None:
    """Ask until it is so; an error counts as no."""
    end = time.monotonic() + READY_S
    while True:
        try:
            if true():
                return
        except (OSError, hiredis.ReplyError):
            pass
        assert time.monotonic() < end, f"waited {READY_S:.0f} s for {what}"
        time.sleep(0.02)


def _role(node: Node) -> str:
    answer = node.ask("ROLE")
    assert isinstance(answer, list)
    return str(answer[0])


def _in_step(node: Node) -> bool:
    answer = node.ask("ROLE")
    assert isinstance(answer, list)
    return bool(answer[0] == "master" or answer[3] == "connected")
