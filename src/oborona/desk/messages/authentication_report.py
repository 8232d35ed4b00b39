"""SPF, DKIM, ARC, DMARC and iprev of one message, with every question that was put to the DNS."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from oborona.authentication.arc import verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.dmarc import check_dmarc
from oborona.authentication.header import authentication_results
from oborona.authentication.iprev import check_iprev
from oborona.authentication.model import Arc, AuthIdentity, DkimSignature, Dmarc, IpRev, Spf
from oborona.authentication.signed_message import read_signed_message
from oborona.authentication.spf import check_helo, check_spf
from oborona.desk.site import Site
from oborona.dns import DnsAnswer, DnsAsker, DnsType
from oborona.message.parse import parse
from oborona.policy.tables import AuthenticationTable
from oborona.policy.text import quoted
from oborona.session.lookups import DnsLookups
from oborona.types import Envelope

RECORD_LENGTH: Final = 400  # characters of a record


class AuthStep(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the DNS, and what came of it."""

    kind: str  # type of record
    name: str  # printable
    took_s: float
    records: tuple[str, ...]  # printable, and cut
    outcome: str
    why: str


class AuthOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a method, or one signature, came to."""

    result: str
    words: str


class AuthMethod(msgspec.Struct, kw_only=True):
    """One method."""

    method: str
    question: str
    steps: tuple[AuthStep, ...] = ()
    outcomes: tuple[AuthOutcome, ...] = ()
    notes: tuple[str, ...] = ()


class AuthReport(msgspec.Struct, frozen=True, kw_only=True):
    """All methods, in the order in which they were asked."""

    client: str  # empty = not known: there is no SPF and no iprev
    methods: tuple[AuthMethod, ...]
    results: str  # of the header Authentication-Results


async def authenticate(site: Site, raw: bytes, envelope: Envelope) -> AuthReport:
    """Return who sent a message, as far as it is proved, and every step to it.

    Args:
        site: whose DNS and policy.
        raw: the message.
        envelope: that it came with.
    """
    name, policy = site.name, site.policy()
    asking = DnsLookups(site.loaded.settings, name)
    try:
        work = _Authentication(_RecordingResolver(asking.asker()), policy.authentication, name)
        identity = await work.all(raw, envelope)
    finally:
        await asking.close()
    return AuthReport(
        client=envelope.client.ip,
        methods=tuple(work.methods),
        results=authentication_results(identity, name, ip=envelope.client.ip),
    )


class _RecordingResolver:
    """An asker that remembers what was asked, and what came of it."""

    def __init__(self, asker: DnsAsker) -> None:
        self._asker = asker
        self.steps: list[AuthStep] = []

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        """Ask, and remember."""
        started = time.monotonic()
        answer = await self._asker.ask(name, kind)
        self.steps.append(
            AuthStep(
                kind=kind.name,
                name=quoted(name, 253),
                took_s=time.monotonic() - started,
                records=tuple(map(_record, answer.records)),
                outcome=answer.outcome,
                why=answer.why,
            )
        )
        return answer


class _Authentication:
    """The methods, one after the other."""

    def __init__(self, asker: _RecordingResolver, table: AuthenticationTable, name: str) -> None:
        self.methods: list[AuthMethod] = []
        self._asker = asker
        self._table = table
        self._name = name

    async def all(self, raw: bytes, envelope: Envelope) -> AuthIdentity:
        """Return what they came to together."""
        asker, message, letter = self._asker, parse(raw), read_signed_message(raw)
        domains = message.from_domains
        reverse, spf_helo, spf = await self._client(envelope)
        now = time.time()
        with self._method("DKIM", "which signatures hold?") as method:
            dkim, more = await verify_dkim(
                letter, asker, now=now, limit=self._table.max_signatures, from_domains=domains
            )
            method.outcomes = tuple(
                AuthOutcome(result=one.result, words=_signature(one)) for one in dkim
            ) or (AuthOutcome(result="none", words="no signature"),)
            if more:
                most = self._table.max_signatures
                method.notes = (
                    f"{more} more signatures are not looked at (max_signatures = {most})",
                )
        with self._method("ARC", "who says that he handled it?") as method:
            chain = await verify_arc(letter, asker, now=now, trusted=self._table.trusted)
            method.outcomes = (AuthOutcome(result=chain.result, words=_chain(chain)),)
        named = " ".join(domains) or "none"
        with self._method("DMARC", f"is From's domain ({named}) what was proved?") as method:
            dmarc = await check_dmarc(domains, spf=spf, dkim=dkim, asker=asker, sample=0.0)
            method.outcomes = (AuthOutcome(result=dmarc.result, words=_dmarc(dmarc)),)
        identity = AuthIdentity(
            spf=spf,
            spf_helo=spf_helo,
            dkim=dkim,
            dkim_more=more,
            dmarc=dmarc,
            arc=chain,
            iprev=reverse,
        )
        if identity.disposition is not dmarc.disposition:
            method.notes = (f"overruled: {chain.trusted} is trusted, and saw DMARC {chain.dmarc}",)
        return identity

    async def _client(self, envelope: Envelope) -> tuple[IpRev, Spf, Spf]:
        """Return what the client's address says, of HELO and of MAIL FROM."""
        ip, helo, asker, name = envelope.client.ip, envelope.helo, self._asker, self._name
        if not ip:
            return IpRev(), Spf(scope="helo"), Spf()
        with self._method("iprev", f"does {ip} have a name that leads back to it?") as method:
            reverse = await check_iprev(ip, asker)
            method.outcomes = (AuthOutcome(result=reverse.result, words=reverse.name),)
        with self._method("SPF of HELO", f"may {ip} call itself {quoted(helo, 80)}?") as method:
            spf_helo = await check_helo(ip=ip, helo=helo, asker=asker, receiver=name)
            method.outcomes = (AuthOutcome(result=spf_helo.result, words=spf_helo.why),)
        sender = quoted(envelope.sender, 80)
        with self._method("SPF of MAIL FROM", f"may {ip} send for <{sender}>?") as method:
            spf = await check_spf(
                ip=ip, helo=helo, sender=envelope.sender, asker=asker, receiver=name
            )
            words = f"{spf.domain} {spf.why}".strip()
            method.outcomes = (AuthOutcome(result=spf.result, words=words),)
        return reverse, spf_helo, spf

    @contextmanager
    def _method(self, name: str, question: str) -> Iterator[AuthMethod]:
        """A method, which gets the questions that it puts."""
        self._asker.steps.clear()
        method = AuthMethod(method=name, question=question)
        self.methods.append(method)
        yield method
        method.steps = tuple(self._asker.steps)


def _record(record: str | bytes | tuple[int, str]) -> str:
    match record:
        case bytes():
            return quoted(record.decode("utf-8", "backslashreplace"), RECORD_LENGTH)
        case str():
            return quoted(record, RECORD_LENGTH)
        case (preference, exchange):
            return f"{preference} {quoted(exchange, RECORD_LENGTH)}"


def _signature(signature: DkimSignature) -> str:
    parts = [f"d={signature.domain} s={signature.selector}", signature.algorithm]
    if signature.key_bits:
        parts.append(f"key of {signature.key_bits} bits")
    if signature.testing:
        parts.append("the domain is testing (t=y)")
    if signature.length is not None:
        parts.append(f"l={signature.length}: {signature.unsigned} octets behind are not signed")
    if signature.why:
        parts.append(signature.why)
    return ", ".join(part for part in parts if part)


def _chain(chain: Arc) -> str:
    parts = [f"{chain.instances} sets" if chain.instances else "", chain.why]
    if chain.sealers:
        parts.insert(1, "sealed by " + ", ".join(chain.sealers))
        parts.append(f"{chain.trusted} is trusted" if chain.trusted else "none of them is trusted")
    return ", ".join(part for part in parts if part)


def _dmarc(dmarc: Dmarc) -> str:
    aligned = [
        name for name, holds in (("SPF", dmarc.spf_aligned), ("DKIM", dmarc.dkim_aligned)) if holds
    ]
    parts = [
        f"organisation {dmarc.organisational}" if dmarc.organisational else "",
        f"policy {dmarc.policy}",
        f"aligned by {' and '.join(aligned)}" if aligned else "nothing aligned",
        f"it asks for {dmarc.disposition} of this message",
        dmarc.why,
    ]
    return ", ".join(part for part in parts if part)
