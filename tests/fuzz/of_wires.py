"""What must hold of what mail servers, scripts, name servers and cluster nodes send, whatever
octets it is, and of what messages and the DNS claim of each other.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import cache
from typing import Final

import hiredis

from oborona.authentication.dmarc_record import (
    UnusableDmarcRecord,
    is_dmarc_record,
    parse_dmarc_record,
)
from oborona.authentication.header import authentication_results, dmarc_of
from oborona.authentication.iprev import check_iprev
from oborona.authentication.keys import read_key
from oborona.authentication.model import AuthIdentity, AuthResult
from oborona.authentication.names import fqdn
from oborona.authentication.signed_message import read_signed_message
from oborona.authentication.spf import check_spf
from oborona.authentication.verification import verify
from oborona.counters.cluster.layout import SLOTS
from oborona.counters.cluster.wire import BROKEN, NodeAddress, SlotMap, members, redirect
from oborona.daemon.intake import sieve_codec
from oborona.dns import DnsAnswer, DnsOutcome, DnsRecord, DnsType
from oborona.doors.policy_service import codec as policy_codec
from oborona.errors import PeerError, StoreError
from oborona.milter import codec as milter_codec
from oborona.resolver import names, wire
from tests.fuzz.common import text_of
from tests.fuzz.of_doors import fed, the_same

KEPT: Final = 2048  # octets of a message
# of one message, with SPF: what RFC 7208 and our own limits let a sender make us ask
MOST_QUESTIONS: Final = 40
NOW: Final = 1_795_170_000.0
_CLUSTER: Final = NodeAddress("192.0.2.1", 6379)
_VAST: Final = re.compile(rb"[*%~>|][+0-9]{7}")
_KINDS: Final = tuple(DnsType)
_ASKED: Final = wire.question(b"\1a\7example\0", DnsType.A)[:-4]


def milter(octets: bytes) -> None:
    """Packets are events, the same in whatever pieces they come."""
    for event in fed(milter_codec.MilterCodec, octets):
        match event:
            case milter_codec.Connect(client=client):
                client.name.encode()
            case milter_codec.Helo(name=name):
                name.encode()
            case milter_codec.MailFrom(sender=address) | milter_codec.RcptTo(recipient=address):
                address.encode()
            case milter_codec.MilterMacros(values=values):
                "".join((*values, *values.values())).encode()
            case str():
                event.encode()
            case _:
                pass


def policy_service(octets: bytes) -> None:
    """Requests are attributes, of one request each, in text that can be logged."""
    for request in fed(policy_codec.PolicyServiceCodec, octets):
        if isinstance(request, dict):
            assert request["request"] == policy_codec.REQUEST
            assert len(request) <= policy_codec.MAX_ATTRIBUTES
            "".join((*request, *request.values())).encode()


def sieve(octets: bytes) -> None:
    """What a script of Dovecot's says is one request, or refused."""

    def read(pieces: list[bytes]) -> list[sieve_codec.SieveRequest | str]:
        codec = sieve_codec.SieveCodec(KEPT)
        try:
            for piece in pieces:
                codec.feed(piece)
            return [codec.end()]
        except PeerError as error:
            # of what came too early the error shows the last octets, which depend on the cut
            return [str(error).partition(":")[0]]

    for request in the_same(read, octets):
        if isinstance(request, sieve_codec.SieveRequest):
            assert len(request.raw) == min(request.size, KEPT)
            assert len(request.arguments) <= sieve_codec.MAX_ARGUMENTS
            "".join(request.arguments.values()).encode()


def name_server(octets: bytes) -> None:
    """An answer of a name server is read or `Malformed`.

    What is read is bounded, and names go there and back. The first octet is the kind asked for.
    """
    kind = _KINDS[octets[0] % len(_KINDS)] if octets else DnsType.A
    asked = wire.question(_ASKED, kind)
    for answer in (octets[1:], b"\0\1\x81\x80\0\1\0\1\0\0\0\0" + asked + octets[1:]):
        if not wire.matches(answer, asked) or wire.truncated(answer) or wire.refusal(answer):
            continue
        try:
            found = wire.read(answer, asked, kind)
        except names.MalformedDnsMessage:
            continue
        assert sum(len(records) for records, _ in found.records.values()) <= wire.MAX_RECORDS
        for owner in (*found.records, *found.aliases):
            assert len(owner) <= 255
            assert owner == b"\0" or names.encode(names.decode(owner)) == owner
        assert found.denied is None or 0 <= found.denied < 1 << 31


def cluster_map(octets: bytes) -> None:
    """What a node of a cluster answers is a map of all slots, a redirection, or a StoreError.

    Lists announced with a million members and more are left out: hiredis reserves memory for all of
    them at once, and the nodes are the site's own.
    """
    if _VAST.search(octets):
        return
    reader = hiredis.Reader()
    reader.feed(octets)
    try:
        reply = reader.gets()
    except BROKEN:
        return
    if isinstance(reply, hiredis.ReplyError):
        try:
            redirect(reply, _CLUSTER)
        except StoreError as error:
            str(error).encode("utf-8", "replace")
    for read in (SlotMap.parse, members):
        try:
            found = read(reply, _CLUSTER)
        except StoreError as error:
            str(error).encode("utf-8", "replace")
            continue
        if isinstance(found, SlotMap):
            assert len(found.owners) == SLOTS


class Liar:
    """A DNS that answers every question with what the fuzzer says: a line each, in turns."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self.asked = 0

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        name.encode()
        line = self._lines[self.asked % len(self._lines)] if self._lines else b""
        self.asked += 1
        if not line:
            return DnsAnswer(outcome=DnsOutcome.NO_NAME, ttl=60)
        if line == b"?":
            return DnsAnswer(outcome=DnsOutcome.TEMPERROR, why="timeout")
        return DnsAnswer(outcome=DnsOutcome.FOUND, records=(_record(line, kind),), ttl=60)


def _record(line: bytes, kind: DnsType) -> DnsRecord:
    match kind:
        case DnsType.TXT:
            return line
        case DnsType.A:
            return f"192.0.2.{line[0]}"
        case DnsType.AAAA:
            return f"2001:db8::{line[0]:x}"
        case DnsType.MX:
            return line[0], _host(line)
        case _:
            return _host(line)


def _host(line: bytes) -> str:
    """Return a name as the resolver would."""
    return names.decode(bytes((min(len(line), 63),)) + line[:63] + b"\0").lower()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


def lying_dns(octets: bytes) -> None:
    """A message and the records of a hostile DNS, parted by an empty line, are judged with few
    questions and told in one header of ASCII.
    """
    records, _, raw = octets.partition(b"\n\n")
    lines = records.split(b"\n")
    liar = Liar(lines)
    for line in lines:
        if is_dmarc_record(line):
            with suppress(UnusableDmarcRecord):
                parse_dmarc_record(line)
        read_key(line)
        dmarc_of(line)
        fqdn(text_of(line)[:300])

    async def envelope() -> AuthIdentity:
        spf = await check_spf(
            ip="192.0.2.1", helo="a.example", sender="ann@a.example", asker=liar, receiver="mx.test"
        )
        return AuthIdentity(spf=spf, iprev=await check_iprev("192.0.2.1", liar))

    identity = _loop().run_until_complete(
        verify(
            read_signed_message(raw), ("a.example",), envelope(),
            asker=lambda: liar, now=NOW, limit=4, trusted=frozenset({"a.example"}), sample=0.0,
        )
    )  # fmt: skip
    assert liar.asked <= MOST_QUESTIONS
    assert len(identity.dkim) <= 4
    assert isinstance(identity.spf.result, AuthResult)
    written = authentication_results(identity, "mx.test", ip="192.0.2.1")
    assert written.isascii()
    assert "\0" not in written
