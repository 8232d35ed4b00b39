"""Who comes when a door is full is told a reference, which the journal answers for, by its door."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.peers.oborona import Oborona
from tests.peers.ports import free_port

DOORS = ("exim", "http", "proxy", "spamd")
PATIENCE_S = 30.0  # against hangs alone
CONTACT = "https://mx.example.test/senders"


@pytest.fixture(scope="module")
def full() -> Iterator[tuple[Oborona, dict[str, int]]]:
    """A daemon whose doors have room for one connection each."""
    ports = {name: free_port() for name in DOORS}
    # a mail server that takes its time to greet
    hop = socket.create_server(("127.0.0.1", 0))
    settings: dict[str, object] = {
        "worker.processes": 1,
        "site.contact": CONTACT,
        "doors.proxy.next_hop": f"inet:127.0.0.1:{hop.getsockname()[1]}",
    }
    for name, port in ports.items():
        settings[f"doors.{name}.listen"] = f"inet:127.0.0.1:{port}"
        settings[f"doors.{name}.max_connections"] = 1
    with hop, Oborona(settings) as oborona:
        yield oborona, ports


def hear(port: int) -> str:
    """Return what the second of two connections hears."""
    with ExitStack() as stack:
        _, second = (
            stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
            for _ in range(2)
        )
        told = b""
        while part := second.recv(4096):
            told += part
    return told.decode("ascii")


def answer(oborona: Oborona, *words: str) -> list[dict[str, Any]]:
    """Return what a command says, once it says anything: the journal has it a moment later."""
    ends = time.monotonic() + PATIENCE_S
    while True:
        done = oborona.run(*words, "--json")
        if done.stdout or time.monotonic() > ends:
            return [json.loads(line) for line in done.stdout.splitlines()]
        time.sleep(0.1)


@pytest.mark.parametrize("door", DOORS)
def test_a_reference_of_a_full_door_is_explained_and_found(
    full: tuple[Oborona, dict[str, int]], door: str
) -> None:
    oborona, ports = full
    told = hear(ports[door])
    reference = re.search(r"reference ([0-9A-Z]{13})", told)
    assert reference, told
    assert CONTACT in told
    (explained,) = answer(oborona, "explain", reference[1])
    assert (explained["decided_by"], explained["stage"]) == ("connections", "connect")
    assert (explained["client"], explained["door"], explained["verdict"]) == (
        "127.0.0.1",
        door,
        "tempfail",
    )
    (hit,) = answer(oborona, "find", f"door:{door}", "decided:connections")
    assert (hit["id"], hit["door"]) == (reference[1], door)
