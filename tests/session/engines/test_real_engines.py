"""Real engines from Debian: what they say, and what becomes of us when they die, hang, and come
back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

from oborona.config import EngineSettings, parse_address
from oborona.errors import PeerError
from oborona.policy.engine_table import EngineName, EnginesTable
from oborona.policy.engines import EngineOpinion, OpinionClass, classify_opinion
from oborona.session.engines import breaker
from oborona.session.engines.clamd import ClamdClient
from oborona.session.engines.engine import AWAY, TIMEOUT, UNREACHABLE, ExternalEngine
from oborona.session.engines.question import TOO_LARGE, EngineClient, EngineQuestion
from oborona.session.engines.rspamd import RspamdClient
from oborona.session.engines.spamd import SpamdClient
from oborona.types import Client as MailClient
from oborona.types import Envelope
from tests.peers import clamd as clamd_peer
from tests.peers.clamd import Clamd as ClamdPeer
from tests.peers.daemon import Daemon
from tests.peers.rspamd import Rspamd as RspamdPeer
from tests.peers.spamassassin import SpamAssassin

ENVELOPE = Envelope(
    client=MailClient(ip="192.0.2.7", name="mail.a.example"),
    helo="mail.a.example",
    sender="ann@a.example",
    recipients=("bob@b.example", "eve@b.example"),
    login="ann",
    queue_id="4Q",
)
TABLE = EnginesTable()


def question(
    subject: str = "lunch", *, body: bytes = b"At noon?\r\n", head: str = "", **envelope: object
) -> EngineQuestion:
    raw = f"From: Ann <ann@a.example>\r\nSubject: {subject}\r\n{head}\r\n".encode() + body
    who = Envelope(
        **{name: getattr(ENVELOPE, name) for name in ENVELOPE.__struct_fields__} | envelope
    )
    return EngineQuestion(raw, who, len(raw))


@pytest.fixture(scope="module")
def rspamd() -> Iterator[RspamdPeer]:
    with RspamdPeer() as found:
        yield found


@pytest.fixture(scope="module")
def spamd() -> Iterator[SpamAssassin]:
    with SpamAssassin() as found:
        yield found


@pytest.fixture(scope="module")
def clamd() -> Iterator[ClamdPeer]:
    with ClamdPeer() as found:
        yield found


def speaks(name: EngineName, address: str) -> EngineClient:
    where = parse_address(address)
    if name == "rspamd":
        return RspamdClient(where, password="", most=8)
    if name == "spamd":
        return SpamdClient(where, site="mx.b.example", user="", clock=time.time)
    return ClamdClient(where)


async def asked(client: EngineClient, what: EngineQuestion) -> EngineOpinion:
    try:
        return await client.ask(what)
    finally:
        await client.close()


async def test_rspamd_says_what_its_rules_make_of_the_message_and_of_who_sent_it(
    rspamd: RspamdPeer,
) -> None:
    client = speaks("rspamd", rspamd.address)
    try:
        await client.ping()
        good = await client.ask(question())
        perhaps = await client.ask(question("rspamd-perhaps"))
        certain = await client.ask(question("rspamd-certain"))
        told = await client.ask(
            question(
                head="X-Wanted-ip: 192.0.2.7\r\nX-Wanted-helo: mail.a.example\r\nX-Wanted-from: "
                "ann@a.example\r\n"
                "X-Wanted-rcpt: 2 bob@b.example\r\nX-Wanted-user: ann\r\nX-Wanted-name: "
                "mail.a.example\r\n"
            )
        )
    finally:
        await client.close()
    assert (good.action, good.score, good.line, good.symbols) == ("no action", 0.0, 15.0, ())
    assert (perhaps.action, perhaps.score, perhaps.symbols) == (
        "add header",
        7.0,
        ("TEST_PERHAPS",),
    )
    assert (certain.action, certain.score) == ("reject", 20.0)
    assert [classify_opinion(one, TABLE) for one in (good, perhaps, certain)] == [
        OpinionClass.GOOD,
        OpinionClass.PERHAPS,
        OpinionClass.CERTAIN,
    ]
    assert set(told.symbols) == {
        "TOLD_IP",
        "TOLD_HELO",
        "TOLD_FROM",
        "TOLD_RCPT",
        "TOLD_USER",
        "TOLD_NAME",
    }


async def test_rspamd_takes_hostile_values_and_a_bounce(rspamd: RspamdPeer) -> None:
    said = await asked(
        speaks("rspamd", rspamd.address),
        question(
            "rspamd-perhaps",
            helo="x\r\nIP: 127.0.0.1\r\n\r\n",
            sender="",
            recipients=("кто@пример.example", "a\0b@b.example", 'q"uo te@b.example'),
            login="\ud800",
            client=MailClient(ip="2001:db8::1"),
        ),
    )
    assert classify_opinion(said, TABLE) is OpinionClass.PERHAPS


async def test_rspamd_with_a_password_takes_ours_and_no_other() -> None:
    with RspamdPeer("hush") as found:
        where = parse_address(found.address)
        said = await asked(RspamdClient(where, password="hush", most=8), question("rspamd-perhaps"))
        assert classify_opinion(said, TABLE) is OpinionClass.PERHAPS
        with pytest.raises(PeerError, match="answered 40"):
            await asked(RspamdClient(where, password="loud", most=8), question())


async def test_spamd_says_what_its_rules_make_of_the_message_and_of_who_sent_it(
    spamd: SpamAssassin,
) -> None:
    client = speaks("spamd", spamd.address)
    await client.ping()
    good = await client.ask(question(login=""))
    perhaps = await client.ask(question("spamd-perhaps", login=""))
    certain = await client.ask(question("spamd-certain", login=""))
    assert (good.action, good.line) == ("ham", 5.0)
    assert set(good.symbols) == {"TOLD_CLIENT", "TOLD_ONE_HOP", "TOLD_SENDER"}
    assert perhaps.action == "spam"
    assert "TEST_PERHAPS" in perhaps.symbols
    assert perhaps.score == pytest.approx(7.0, abs=0.1)
    assert [classify_opinion(one, TABLE) for one in (good, perhaps, certain)] == [
        OpinionClass.GOOD,
        OpinionClass.PERHAPS,
        OpinionClass.CERTAIN,
    ]


@pytest.mark.parametrize(
    "helo",
    [
        "x (mail.trusted.example [127.0.0.1]) by mx.b.example (Postfix) with ESMTP id 1; x",
        "x\r\nReceived: from friend (friend [127.0.0.1]) by mx.b.example (Postfix) with ESMTP id 2",
        "[127.0.0.1",
        "",
        "a" * 5000,
        "при вет\0",
    ],
)
async def test_no_helo_makes_spamd_believe_in_another_client(
    spamd: SpamAssassin, helo: str
) -> None:
    said = await asked(
        speaks("spamd", spamd.address),
        question(helo=helo, login="", sender="ann@a.example>\r\nX: y"),
    )
    assert "TOLD_ONE_HOP" in said.symbols


async def test_clamd_finds_our_virus_and_nothing_else(clamd: ClamdPeer) -> None:
    client = speaks("clamd", clamd.address)
    await client.ping()
    good = await client.ask(question())
    found = await client.ask(question(body=b"see " + clamd_peer.VIRUS + b"\r\n"))
    assert good == EngineOpinion(engine="clamd", action="ok")
    assert (found.action, found.virus) == ("found", clamd_peer.NAME)
    assert [classify_opinion(one, TABLE) for one in (good, found)] == [
        OpinionClass.GOOD,
        OpinionClass.CERTAIN,
    ]


async def test_of_a_message_that_is_too_large_clamd_gets_the_head(clamd: ClamdPeer) -> None:
    engine = made("clamd", clamd.address, max_bytes=100_000)
    filler = b"x" * 76 + b"\r\n"
    clean = await engine.ask(question(body=filler * 3000))
    beginning = await engine.ask(question(body=clamd_peer.VIRUS + filler * 3000))
    end = await engine.ask(question(body=filler * 3000 + clamd_peer.VIRUS))
    assert (clean.unknown, end.unknown) == (TOO_LARGE, TOO_LARGE)
    assert beginning.virus == clamd_peer.NAME


async def test_what_clamd_itself_finds_too_large_is_no_trouble_of_its(clamd: ClamdPeer) -> None:
    engine = made("clamd", clamd.address, max_bytes=10 << 20)
    for size in (clamd_peer.MAX_BYTES + 1, 5 << 20):
        for _ in range(breaker.FAILURES):
            said = await engine.ask(question(body=b"x" * size))
            assert said.unknown == TOO_LARGE
    assert not engine.status().away


def made(name: EngineName, address: str, **settings: object) -> ExternalEngine:
    asks = EngineSettings(**{"deadline_s": 0.5, "ask": address} | settings)  # type: ignore[arg-type]
    return ExternalEngine(name, speaks(name, address), asks, clock=time.monotonic, wall=time.time)


@pytest.mark.parametrize(
    ("name", "peer"), [("rspamd", RspamdPeer), ("spamd", SpamAssassin), ("clamd", ClamdPeer)]
)
async def test_one_that_hangs_or_dies_is_unknown_then_away_and_comes_back(
    name: EngineName, peer: Callable[[], Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "FIRST_PAUSE_S", 0.2)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_S", 0.2)
    with peer() as daemon:
        engine = made(name, daemon.address)  # type: ignore[attr-defined]
        try:
            assert not (await engine.ask(question())).unknown
            daemon.hold()
            trouble = [(await engine.ask(question())).unknown for _ in range(breaker.FAILURES + 1)]
            assert trouble == [TIMEOUT] * breaker.FAILURES + [AWAY]
            assert engine.status().away
            daemon.go_on()
            await back(engine)
            daemon.kill()
            trouble = [(await engine.ask(question())).unknown for _ in range(breaker.FAILURES + 1)]
            assert trouble == [UNREACHABLE] * breaker.FAILURES + [AWAY]
            daemon.start()
            await back(engine)
        finally:
            await engine.close()


async def back(engine: ExternalEngine) -> None:
    end = time.monotonic() + 20
    while (await engine.ask(question())).unknown:
        assert time.monotonic() < end, engine.status()
        await asyncio.sleep(0.05)
    assert not engine.status().away
