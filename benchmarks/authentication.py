"""What it costs to prove who sent a message: CPU per message, beside dkimpy in the same run.

    python benchmarks/authentication.py [--messages 300] [--runs 5]

Each letter is plain text with four Received fields, of 3, 6 and 60 kB; the DNS answers from a
dictionary at once, as a warm cache does, and key records are known, as those of large senders are
after their first message. A figure is the best of the runs, in microseconds of CPU. "shared" is
what all methods have in common: splitting the letter into fields and body; it is part of every
figure of ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import dkim
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona.authentication.arc import verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.dmarc import check_dmarc
from oborona.authentication.model import AuthResult, Spf
from oborona.authentication.signed_message import SignedMessage, read_signed_message
from oborona.authentication.spf import check_spf
from oborona.dns import DnsAnswer, DnsOutcome, DnsRecord, DnsType
from tests.authentication.signing import NOW, dkim_field, ed25519, rsa, sealed

Way = Callable[[SignedMessage], Coroutine[Any, Any, bool]]

SIZES: Final = (3_000, 6_000, 60_000)  # octets
AUTHORS: Final = ("example.org",)
CLIENT: Final = "192.0.2.7"
LINE: Final = (
    b"A line of a letter as people write them,  with  some runs of spaces, and it is long "
    b"enough.\r\n"
)
HEADER: Final = (
    b"".join(
        b"Received: from relay%d.example.org (relay%d.example.org [192.0.2.%d])\r\n"
        b"\tby mx%d.example.net (Postfix) with ESMTPS id 4ZyX%dQwErT1234\r\n"
        b"\tfor <boris@example.net>; Thu, 15 Jan 2026 08:00:0%d +0000 (UTC)\r\n" % ((hop,) * 6)
        for hop in range(4)
    )
    + b"From: Anna <anna@example.org>\r\nTo: Boris <boris@example.net>\r\nSubject: Tea at four\r\n"
    b"Date: Thu, 15 Jan 2026 08:00:00 +0000\r\nMessage-ID: <1@example.org>\r\nReply-To: "
    b"anna@example.org\r\n"
    b"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: "
    b"8bit\r\n\r\n"
)
SIGNED: Final = (
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "Reply-To",
    "MIME-Version",
    "Content-Type",
)


class Warm:
    """A DNS that knows."""

    def __init__(self, records: Mapping[tuple[str, DnsType], tuple[DnsRecord, ...]]) -> None:
        self._answers = {
            question: DnsAnswer(outcome=DnsOutcome.FOUND, records=found, ttl=300)
            for question, found in records.items()
        }
        self._none = DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=300)

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        return self._answers.get((name.removesuffix(".").lower(), kind), self._none)


KEYS: Final = {
    "rsa._domainkey.example.org": rsa(2048).record.encode(),
    "ed._domainkey.example.org": ed25519().record.encode(),
    "s1._domainkey.example.org": rsa(2048).record.encode(),
}
DNS: Final = Warm(
    {
        **{(name, DnsType.TXT): (record,) for name, record in KEYS.items()},
        ("example.org", DnsType.TXT): (b"v=spf1 include:_spf.example.org -all",),
        ("_spf.example.org", DnsType.TXT): (b"v=spf1 ip4:198.51.100.0/24 ip4:192.0.2.0/24 ~all",),
        ("_dmarc.example.org", DnsType.TXT): (b"v=DMARC1; p=reject",),
    }
)


def signature(raw: bytes, pen: Any, selector: str, *, body: str = "relaxed") -> bytes:
    return dkim_field(raw, pen, canon=f"relaxed/{body}", signed=SIGNED, tags={"s": selector})


def chain(raw: bytes, length: int) -> bytes:
    for instance in range(1, length + 1):
        # dkimpy has a clock of its own
        raw = sealed(raw, rsa(2048), instance=instance, seal={"t": None})
    return raw


async def spf(_letter: SignedMessage) -> bool:
    found = await check_spf(
        ip=CLIENT,
        helo="relay1.example.org",
        sender="anna@example.org",
        asker=DNS,
        receiver="mx.example.net",
    )
    return found.result is AuthResult.PASS


async def signatures(letter: SignedMessage) -> bool:
    found, _ = await verify_dkim(letter, DNS, now=NOW)
    return bool(found) and all(one.result is AuthResult.PASS for one in found)


async def sealing(letter: SignedMessage) -> bool:
    return (
        await verify_arc(letter, DNS, now=NOW, trusted={"example.org"})
    ).result is AuthResult.PASS


async def spf_and_signatures(letter: SignedMessage) -> bool:
    return await spf(letter) and await signatures(letter)


async def dmarc(letter: SignedMessage) -> bool:
    found, _ = await verify_dkim(letter, DNS, now=NOW, from_domains=AUTHORS)
    chain = await verify_arc(letter, DNS, now=NOW, trusted={"example.org"})
    sent = Spf(result=AuthResult.PASS, domain="example.org")
    judged = await check_dmarc(AUTHORS, spf=sent, dkim=found, asker=DNS, sample=0.0)
    return judged.result is AuthResult.PASS and chain.result in (AuthResult.PASS, AuthResult.NONE)


async def everything(letter: SignedMessage) -> bool:
    return await spf(letter) and await dmarc(letter)


def by_dkimpy(raw: bytes) -> bool:
    checked = dkim.DKIM(raw)
    count = sum(name.lower() == b"dkim-signature" for name, _ in checked.headers)
    return all(checked.verify(place, dnsfunc=_key) for place in range(count))


def chain_by_dkimpy(raw: bytes) -> bool:
    return bool(dkim.arc_verify(raw, dnsfunc=_key)[0] == dkim.CV_Pass)


def _key(name: bytes, timeout: int = 5) -> bytes:  # noqa: ARG001 - as dkimpy calls it
    return KEYS[name.decode().removesuffix(".")]


def run(coroutine: Coroutine[Any, Any, bool]) -> bool:
    """Return what a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return bool(ended.value)
    raise AssertionError


def judged(raw: bytes, ours: Way | None) -> bool:
    """Split a message, and do with it what is asked."""
    letter = read_signed_message(raw)
    return ours is None or run(ours(letter))


def cost_us(work: Callable[[], object], messages: int, runs: int) -> float:
    """Return the CPU of one call, the best of the runs; a first call is not counted."""
    assert work()
    best = float("inf")
    for _ in range(runs):
        began = time.process_time()
        for _ in range(messages):
            work()
        best = min(best, (time.process_time() - began) / messages * 1e6)
    return best


def rows(size: int) -> list[tuple[str, bytes, Way | None, Callable[[bytes], bool] | None]]:
    """Return name, message, our way and the peer's."""
    plain = HEADER + LINE * ((size - len(HEADER)) // len(LINE))
    one = signature(plain, rsa(2048), "rsa") + plain
    two = signature(one, rsa(2048), "s1") + one
    edward = signature(plain, ed25519(), "ed") + plain
    return [
        ("shared", plain, None, None),
        ("SPF, in an include", plain, spf, None),
        ("DKIM, RSA-2048", one, signatures, by_dkimpy),
        ("DKIM, RSA-2048, and SPF", one, spf_and_signatures, None),
        ("DKIM, two RSA-2048 over one body", two, signatures, by_dkimpy),
        ("DKIM, Ed25519", edward, signatures, None),  # dkimpy needs PyNaCl
        ("DKIM, RSA-2048, and DMARC", one, dmarc, None),
        ("ARC, one set", chain(plain, 1), sealing, chain_by_dkimpy),
        ("ARC, three sets", chain(plain, 3), sealing, chain_by_dkimpy),
        ("all, two signatures and three sets", chain(two, 3), everything, None),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    shown = Table(
        "method", *(f"{size // 1000} kB: ours" for size in SIZES), title="µs of CPU per message"
    )
    for size in SIZES:
        shown.add_column(f"{size // 1000} kB: dkimpy")
    lines: dict[str, list[str]] = {}
    for size in SIZES:
        for name, raw, ours, peer in rows(size):
            spent = cost_us(partial(judged, raw, ours), arguments.messages, arguments.runs)
            theirs = (
                cost_us(partial(peer, raw), max(10, arguments.messages // 10), 3) if peer else None
            )
            lines.setdefault(name, []).extend(
                (f"{spent:,.0f}", "" if theirs is None else f"{theirs:,.0f}")
            )
    for name, cells in lines.items():
        shown.add_row(name, *cells[::2], *cells[1::2])
    Console(width=140).print(shown)


if __name__ == "__main__":
    main()
