"""The daemon with real engines beside it: refused, filed and passed by them, and mail flows while
they are held and killed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from oborona.config import parse_address
from tests.peers.clamd import VIRUS, Clamd
from tests.peers.mail_server import MailServer
from tests.peers.oborona import Oborona
from tests.peers.rspamd import Rspamd

# bounds a hang; a status is written every five seconds, and an engine is tried again after some
SEEN_S = 60.0


class Site(NamedTuple):
    oborona: Oborona
    rspamd: Rspamd
    clamd: Clamd


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Rspamd() as rspamd, Clamd() as clamd:
        settings = {
            "worker.processes": 1,
            "headers.reason": "full",
            "log.format": "json",
            "engines.rspamd.ask": rspamd.address,
            "engines.rspamd.deadline_s": 0.5,
            "engines.clamd.ask": clamd.address,
            "engines.clamd.deadline_s": 0.5,
        }
        with Oborona(settings) as oborona:
            yield Site(oborona, rspamd, clamd)


def sent(
    site: Site, subject: str, body: bytes = b"At noon?\r\n", queue: str = "4ANY"
) -> tuple[bytes, dict[str, str]]:
    """Hand a message in as Postfix does.

    Return the answer's letter and the headers that were added.
    """
    with MailServer(parse_address(site.oborona.milter)) as server:
        server.connect("mail.a.example", "198.51.100.7")
        server.helo("mail.a.example")
        server.mail("<ann@a.example>")
        server.rcpt("<bob@b.example>")
        head = [
            (b"From", b" Ann <ann@a.example>"),
            (b"To", b" bob@b.example"),
            (b"Subject", b" " + subject.encode()),
            (b"Date", b" Fri, 20 Nov 2026 10:00:00 +0000"),
            (b"Message-ID", f" <{subject}.{time.time()}@a.example>".encode()),
        ]
        server.content(head, [body])
        server.macros(b"E", i=queue)
        edits, letter, _ = server.end()
    added = [data.split(b"\0") for kind, data in edits if kind == b"h"]
    return letter, {
        name.decode(): value.decode().strip().replace("\n\t", " ") for name, value, *_ in added
    }


def logged(site: Site) -> list[dict[str, object]]:
    return [json.loads(line) for line in site.oborona.log().splitlines() if line.startswith("{")]


def verdict(site: Site, queue: str) -> dict[str, object]:
    """Return the log's line on a message, which comes after its answer."""
    end = time.monotonic() + SEEN_S
    while not (
        found := [one for one in logged(site) if one["msg"] == "verdict" and one["queue"] == queue]
    ):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found[0]


def test_what_engines_say_is_done(site: Site) -> None:
    letter, headers = sent(site, "lunch")
    assert (letter, headers["X-Mras"]) == (b"a", "Ok")
    letter, headers = sent(site, "rspamd-perhaps")
    assert (letter, headers["X-Mras"], headers["X-Spam-Flag"]) == (b"a", "Probable", "YES")
    assert headers["X-Mras-Reason"].startswith(
        "ENGINE_RSPAMD=0.0(add header 7.0 / 15: TEST_PERHAPS)"
    )
    assert sent(site, "rspamd-certain", queue="4CERTAIN")[0] == b"y"
    assert sent(site, "invoice", b"see " + VIRUS + b"\r\n", queue="4VIRUS")[0] == b"y"
    assert verdict(site, "4CERTAIN")["decided_by"] == "ENGINE_RSPAMD"
    assert verdict(site, "4VIRUS")["decided_by"] == "ENGINE_CLAMD"


def test_the_journal_knows_why_and_a_replay_agrees(site: Site) -> None:
    sent(site, "rspamd-perhaps", queue="4PERHAPS")
    ident = str(verdict(site, "4PERHAPS")["id"])
    end = time.monotonic() + SEEN_S
    while (told := site.oborona.run("explain", ident, "--json")).returncode:
        assert time.monotonic() < end, told.stderr
        time.sleep(0.1)
    explained = json.loads(told.stdout)
    assert (
        explained["then"]["facts"]["rspamd.says"],
        explained["now"]["facts"]["rspamd.says"],
    ) == ("perhaps",) * 2
    assert explained["now"]["facts"]["rspamd.symbols"] == ["TEST_PERHAPS"]
    assert explained["now"]["verdict"] == "spam"
    assert explained["now"]["decided_by"] == "ENGINE_RSPAMD"
    replayed = site.oborona.run("policy", "replay", "--json", "--fail")
    assert replayed.returncode == 0, replayed.stdout
    assert json.loads(replayed.stdout)["messages"] >= 1


def test_mail_flows_while_one_is_held_and_another_dead_and_both_come_back(site: Site) -> None:
    site.rspamd.hold()
    site.clamd.kill()
    for _ in range(7):
        letter, headers = sent(site, "rspamd-certain", VIRUS + b"\r\n")
        assert (letter, headers["X-Mras"]) == (b"a", "Ok")
        assert "ENGINE" not in headers["X-Mras-Reason"]
    assert seen(site, {"rspamd": 1.0, "clamd": 1.0})
    told = " ".join(site.oborona.run("doctor").stdout.replace("│", " ").split())
    for name in ("rspamd", "clamd"):
        assert f"engine {name} worker 0 does without it since" in told
    site.rspamd.go_on()
    site.clamd.start()
    comes_back(site, "rspamd-certain")
    comes_back(site, "invoice", VIRUS + b"\r\n")
    assert seen(site, {"rspamd": 0.0, "clamd": 0.0})
    for name in ("rspamd", "clamd"):
        about = [line["msg"] for line in logged(site) if line.get("engine") == name]
        assert about == ["engine is away", "engine is back"]


def comes_back(site: Site, subject: str, body: bytes = b"At noon?\r\n") -> None:
    end = time.monotonic() + SEEN_S
    while sent(site, subject, body)[0] != b"y":
        assert time.monotonic() < end
        time.sleep(0.1)


def seen(site: Site, away: dict[str, float]) -> bool:
    """Wait until the metrics say who is away."""
    wanted = [
        f'oborona_engine_away{{engine="{name}",worker="0"}} {value}' for name, value in away.items()
    ]
    end = time.monotonic() + SEEN_S
    while time.monotonic() < end:
        told = site.oborona.run("metrics").stdout
        if all(line in told for line in wanted):
            return True
        time.sleep(0.3)
    return False


def test_doctor_says_that_they_answer(site: Site) -> None:
    told = " ".join(site.oborona.run("doctor").stdout.replace("│", " ").split())
    assert f"engine rspamd {site.rspamd.address} answers" in told
    assert f"engine clamd {site.clamd.address} answers" in told
