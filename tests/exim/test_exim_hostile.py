"""Whatever a client says of itself reaches the daemon as it was said, changes nothing that is asked
or answered, and breaks no ACL.
"""

from __future__ import annotations

import asyncio
import base64
import smtplib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oborona import state_files
from oborona.ident import from_text
from oborona.journal.queries import JournalReader
from tests.exim.site import Site, letter
from tests.peers.dns import Zones
from tests.peers.exim import Exim, available
from tests.whole.gate import eventually
from tests.whole.test_both_doors import without_reference

pytestmark = pytest.mark.skipif(not available(), reason="needs Exim and root")

GOLDEN = tomllib.loads((Path(__file__).parents[1] / "golden" / "envelopes.toml").read_text())
COMMON = {
    "ip": "192.0.2.7",
    "name": "mail.a.example",
    "helo": "mail.a.example",
    "sender": "ann@a.example",
    "recipients": ["joe@example.test"],
}
ENVELOPES: list[dict[str, Any]] = [COMMON | each for each in GOLDEN["envelope"]]
HOSTILE = [
    "a} {verdict=reject code=550",
    "${run{/bin/sh -c id}}",
    "${readsocket{/etc/passwd}{x}}",
    "$sender_host_address",
    "\\n ip=192.0.2.99 \\x0a",
    'x" text="y" verdict=accept',
    "ip=192.0.2.99 helo64=",
    "'; drop table client; --",
    "a:b:c <;> @ # %s %n",
    "x" * 400,
    "\xff\xfe",
]
LOCAL_PARTS = [
    '"a b"',
    "${run{sh}}",
    "a=b",
    "$local_part",
    '"x\\" verdict=reject"',
    "`id`",
    "*",
    "x" * 60,
]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Zones() as dns, Site(dns.setting, GOLDEN["policy"], alone=True) as running:
        yield running


@pytest.fixture(scope="module")
def exim(site: Site) -> Iterator[Exim]:
    with site.exim("whole") as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_breaks(exim: Exim) -> Iterator[None]:
    """No expansion fails, and Exim has nothing to panic about."""
    yield
    log = exim.log()
    assert "failed to expand" not in log
    assert "temporarily rejected" not in log
    assert "no verdict of oborona" not in log
    assert not (exim.root / "log" / "paniclog").exists(), (
        exim.root / "log" / "paniclog"
    ).read_text()


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_helo_is_told_as_it_is(exim: Exim, site: Site, number: int) -> None:
    ip, said = f"192.0.2.{100 + number}", HOSTILE[number]
    with exim.connect(ip) as smtp:
        smtp.command_encoding = "latin-1"
        code, _ = smtp.docmd("EHLO", said)
        assert code == 250
        assert smtp.docmd("MAIL", "FROM:<ann@a.example>")[0] == 250
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 250
        assert smtp.data(letter())[0] == 250
    found = site.last_verdict(ip)
    assert found["client"] == ip
    assert found["helo"] == said.strip() or (not said.isascii() and len(found["helo"]) >= len(said))


@pytest.mark.parametrize("local", LOCAL_PARTS)
def test_a_sender_and_a_recipient_are_told_as_they_are(exim: Exim, site: Site, local: str) -> None:
    ip = f"192.0.2.{150 + LOCAL_PARTS.index(local)}"
    (exim.root / "mail" / local.removeprefix('"').removesuffix('"').replace("\\", "")).mkdir()
    with exim.connect(ip) as smtp:
        assert smtp.docmd("MAIL", f"FROM:<{local}@a.example>")[0] == 250
        assert smtp.docmd("RCPT", f"TO:<{local}@example.test>")[0] == 250
        assert smtp.data(letter())[0] == 250
    found = site.last_verdict(ip)
    assert (found["sender"], found["recipient"]) == (f"{local}@a.example", f"{local}@example.test")


@pytest.mark.parametrize(
    "local", [".", "..", "../x", "/etc/passwd", "${run{/bin/sh}}", "a|b", "|sh", '"@"']
)
def test_a_recipient_that_is_none_is_refused_by_exim_itself(exim: Exim, local: str) -> None:
    with exim.connect("192.0.2.70") as smtp:
        assert smtp.docmd("MAIL", "FROM:<ann@a.example>")[0] == 250
        assert smtp.docmd("RCPT", f"TO:<{local}@example.test>")[0] in (501, 550)


# of what is no ASCII Exim writes its own form
@pytest.mark.parametrize("number", range(len(HOSTILE) - 1))
def test_a_login_is_told_as_it_is(exim: Exim, site: Site, number: int) -> None:
    ip = f"192.0.2.{180 + number}"
    said = b"\0" + HOSTILE[number].encode("latin-1") + b"\0secret"
    with exim.connect(ip) as smtp:
        code, _ = smtp.docmd("AUTH", f"PLAIN {base64.b64encode(said).decode()}")
        assert code == 235
        assert smtp.docmd("MAIL", "FROM:<evil@bad.example>")[0] == 250
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 550, (
            "the rule holds for those with a login, too"
        )
        smtp.rset()
        assert smtp.docmd("MAIL", "FROM:<ann@a.example>")[0] == 250
        assert smtp.docmd("RCPT", "TO:<joe@example.test>")[0] == 250
        assert smtp.data(letter())[0] == 250
    ident = site.last_verdict(ip)["id"]
    eventually(lambda: asyncio.run(logins(site, ident)) != [])
    assert asyncio.run(logins(site, ident)) == [HOSTILE[number]]


async def logins(site: Site, ident: str) -> list[str]:
    """Return the login that the journal has of a message, nothing until it is written."""
    async with await JournalReader.open(site.oborona.state / state_files.JOURNAL) as journal:
        entry = await journal.get(from_text(ident) or 0)
        return [] if entry is None else [entry.login]


@pytest.mark.parametrize("envelope", ENVELOPES, ids=lambda envelope: envelope["about"])
def test_behind_exim_the_client_hears_what_it_hears_at_every_door(
    exim: Exim, envelope: dict[str, Any]
) -> None:
    """The golden envelopes.

    Where Exim refuses the connection, nobody comes as far as a recipient.
    """
    mailboxes = exim.root / "mail"
    exim.name(envelope["ip"], envelope["name"])
    for recipient in envelope["recipients"]:
        (mailboxes / recipient.rpartition("@")[0].strip('"')).mkdir(exist_ok=True)
    replies = _said(exim, envelope)
    assert (
        without_reference(["" if reply.startswith("250") else reply for reply in replies])
        == envelope["want"]
    )


def _said(exim: Exim, envelope: dict[str, Any]) -> list[str]:
    """Return what the client hears at each recipient, or before it."""
    try:
        smtp = exim.connect(envelope["ip"], envelope["helo"])
    except smtplib.SMTPConnectError as error:
        return [_reply(error.smtp_code, error.smtp_error)] * len(envelope["recipients"])
    with smtp:
        ascii_only = envelope["sender"].isascii()
        smtp.command_encoding = "utf-8"
        reply = smtp.docmd(
            "MAIL", f"FROM:<{envelope['sender']}>{'' if ascii_only else ' SMTPUTF8'}"
        )
        if reply[0] != 250:
            return [_reply(*reply)] * len(envelope["recipients"])
        return [_reply(*smtp.docmd("RCPT", f"TO:<{one}>")) for one in envelope["recipients"]]


def _reply(code: int, words: bytes | str) -> str:
    return f"{code} {words.decode() if isinstance(words, bytes) else words}"
