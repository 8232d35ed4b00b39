"""A message that kills workers: it kills two, is answered then, and nobody else's mail suffers for
it.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from oborona.session.quarantine import suspect_store
from tests.peers.oborona import Oborona
from tests.peers.postfix import Postfix, available

pytestmark = pytest.mark.skipif(not available(), reason="needs root and Postfix")

HUNG_S = 3
DEADLY = Path(__file__).with_name("deadly_program.py")
PATIENCE_S = 90.0
BESIDE = 8  # others that send all the time


class Mortal(Oborona):
    """A daemon with a fault of ours put in."""

    def command(self, *words: str) -> list[str]:
        return [sys.executable, str(DEADLY), *super().command(*words)[1:]]


def letter(number: int, how: str = "") -> bytes:
    deadly = f"X-Deadly: {how}\r\n" if how else ""
    return (
        f"{deadly}From: ann@a.example\r\nSubject: Lunch {number}\r\nMessage-ID: "
        f"<{number}@a.example>\r\n"
        f"X-Mras: Ok\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\nAt noon, number {number}?\r\n"
    ).encode()


def until_taken(postfix: Postfix, raw: bytes) -> int:
    """Send until it is taken, as a mail server does; return how often that took."""
    until = time.monotonic() + PATIENCE_S
    tries = 0
    while True:
        tries += 1
        reply = postfix.send(raw)[-1]
        if reply.startswith("250"):
            return tries
        assert reply.startswith("4"), reply
        assert time.monotonic() < until, reply
        time.sleep(0.1)


@contextmanager
def others(postfix: Postfix) -> Iterator[list[int]]:
    """Others send mail all the while; gives how often each of their messages had to be sent."""
    over, tries = threading.Event(), list[int]()

    def send(which: int) -> None:
        number = which * 100_000
        while not over.is_set():
            number += 1
            tries.append(until_taken(postfix, letter(number)))

    with ThreadPoolExecutor(BESIDE) as pool:
        running = [pool.submit(send, which) for which in range(1, BESIDE + 1)]
        try:
            yield tries
        finally:
            over.set()
        for one in running:
            one.result()


@pytest.mark.parametrize("how", ["segv", "spin", "kill", "leave"])
def test_a_message_kills_two_workers_and_is_answered_then(how: str) -> None:
    settings = {"worker.processes": 2, "worker.hung_s": HUNG_S, "worker.scan_cpu_s": 1}
    with Mortal(settings) as oborona, Postfix(oborona.milter) as postfix:
        with others(postfix) as tries:
            assert until_taken(postfix, letter(1, how)) == 3
            assert until_taken(postfix, letter(1, how)) == 1, "whenever it comes again"
            taken = len(tries)
            time.sleep(1.0)
        log = oborona.log()
        deaths = re.findall(r'msg="a worker died over a message" .*', log)
        assert len(deaths) == 2, "nobody who was beside it is blamed"
        assert "deaths=2 set_apart=true" in deaths[1]
        assert len(re.findall('msg="process ended"', log)) == 2
        assert len(tries) > taken > 0
        assert max(tries) <= 3, "each death costs those beside it one more try"
        verdicts = re.findall(r"msg=verdict .* verdict=(\w+) .* decided_by=set-apart", log)
        assert verdicts == ["spam", "spam"]
        (known,) = suspect_store.read_suspects(oborona.state, time.time())
        file = suspect_store.message_file(oborona.state, known.identity)
        assert b"X-Deadly" in file.read_bytes()
        assert file.stat().st_mode & 0o777 == 0o600
        assert known.sender == "sender@client.test"


def test_it_is_known_after_a_restart_and_judged_again_when_an_admin_says_so() -> None:
    with Mortal({"worker.processes": 1}) as oborona, Postfix(oborona.milter) as postfix:
        assert until_taken(postfix, letter(1, "segv")) == 3
        oborona.halt()
        oborona.start()
        assert until_taken(postfix, letter(1, "segv")) == 1
        (known,) = suspect_store.read_suspects(oborona.state, time.time())
        assert suspect_store.remove_suspect(oborona.state, known.identity)
        until = time.monotonic() + 30
        while postfix.send(letter(1, "segv"))[-1].startswith("250"):
            assert time.monotonic() < until
            time.sleep(0.5)
