"""`oborona auth`: SPF, DKIM, ARC, DMARC and iprev of one message, every step of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import click

from oborona.authentication.arc import verify_arc
from oborona.authentication.dkim import verify_dkim
from oborona.authentication.dmarc import check_dmarc
from oborona.authentication.header import authentication_results
from oborona.authentication.iprev import check_iprev
from oborona.authentication.model import Arc, AuthIdentity, DkimSignature, Dmarc, IpRev, Spf
from oborona.authentication.signed_message import read_signed_message
from oborona.authentication.spf import check_helo, check_spf
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.envelope import pass_envelope
from oborona.cli.mailboxes import messages
from oborona.cli.terminal import Terminal
from oborona.daemon.site_name import site_name
from oborona.dns import DnsAnswer, DnsAsker, DnsOutcome, DnsType
from oborona.message.parse import parse
from oborona.policy.headers import RESULTS_NAME
from oborona.policy.load import Policy
from oborona.policy.text import quoted
from oborona.session.lookups import DnsLookups
from oborona.types import Envelope

SHOWN: Final = 400  # characters of a record


class _AuthStep(NamedTuple):
    name: str
    kind: DnsType
    answer: DnsAnswer
    took_s: float


class _RecordingResolver:
    """An asker that remembers what was asked, and what came of it."""

    def __init__(self, asker: DnsAsker) -> None:
        self._asker = asker
        self.steps: list[_AuthStep] = []

    async def ask(self, name: str, kind: DnsType) -> DnsAnswer:
        """Ask, and remember."""
        started = time.monotonic()
        answer = await self._asker.ask(name, kind)
        self.steps.append(_AuthStep(name, kind, answer, time.monotonic() - started))
        return answer


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@pass_envelope
@pass_cli_context
def auth(context: CliContext, file: Path, envelope: Envelope) -> None:
    """Check SPF, DKIM, DMARC and ARC of a message file as the daemon would, and show every DNS
    query and result; - is standard input.

    What the mail server knew comes by the options: without --ip there is no SPF and no iprev.
    """
    console = Terminal(soft_wrap=True)
    for source in messages(file):
        console.print(source.name, style="bold", highlight=False)
        asyncio.run(_authenticate(context, source.raw, envelope, console))


async def _authenticate(
    context: CliContext, raw: bytes, envelope: Envelope, console: Terminal
) -> None:
    name, policy = site_name(context.loaded), context.policy()
    asking = DnsLookups(context.loaded.settings, name)
    try:
        identity = await _steps(
            _RecordingResolver(asking.asker()), raw, envelope, policy, name, console
        )
    finally:
        await asking.close()
    _line(console, "")
    _line(
        console, f"{RESULTS_NAME}: {authentication_results(identity, name, ip=envelope.client.ip)}"
    )


async def _steps(
    witness: _RecordingResolver,
    raw: bytes,
    envelope: Envelope,
    policy: Policy,
    name: str,
    console: Terminal,
) -> AuthIdentity:
    table, message, letter = policy.authentication, parse(raw), read_signed_message(raw)
    domains = message.from_domains
    ip, helo = envelope.client.ip, envelope.helo
    reverse, spf, spf_helo = IpRev(), Spf(), Spf(scope="helo")
    if ip:
        with _method_section(
            console, "iprev", f"does {ip} have a name that leads back to it?", witness
        ):
            reverse = await check_iprev(ip, witness)
        _result(console, reverse.result, reverse.name)
        with _method_section(
            console, "SPF of HELO", f"may {ip} call itself {quoted(helo, 80)}?", witness
        ):
            spf_helo = await check_helo(ip=ip, helo=helo, asker=witness, receiver=name)
        _result(console, spf_helo.result, spf_helo.why)
        with _method_section(
            console,
            "SPF of MAIL FROM",
            f"may {ip} send for <{quoted(envelope.sender, 80)}>?",
            witness,
        ):
            spf = await check_spf(
                ip=ip, helo=helo, sender=envelope.sender, asker=witness, receiver=name
            )
        _result(console, spf.result, f"{spf.domain} {spf.why}".strip())
    else:
        _line(console, "SPF, iprev: not asked, for the client's address is not known (--ip)")
    now = time.time()
    with _method_section(console, "DKIM", "which signatures hold?", witness):
        dkim, more = await verify_dkim(
            letter, witness, now=now, limit=table.max_signatures, from_domains=domains
        )
    for signature in dkim:
        _result(console, signature.result, _signature(signature))
    if not dkim:
        _line(console, "  none: no signature")
    if more:
        _line(
            console,
            (
                f"  {more} more signatures are not looked at (max_signatures = "
                f"{table.max_signatures})"
            ),
        )
    with _method_section(console, "ARC", "who says that he handled it?", witness):
        chain = await verify_arc(letter, witness, now=now, trusted=table.trusted)
    _result(console, chain.result, _chain(chain))
    with _method_section(
        console,
        "DMARC",
        f"is From's domain ({' '.join(domains) or 'none'}) what was proved?",
        witness,
    ):
        dmarc = await check_dmarc(domains, spf=spf, dkim=dkim, asker=witness, sample=0.0)
    _result(console, dmarc.result, _dmarc(dmarc))
    identity = AuthIdentity(
        spf=spf, spf_helo=spf_helo, dkim=dkim, dkim_more=more, dmarc=dmarc, arc=chain, iprev=reverse
    )
    if identity.disposition is not dmarc.disposition:
        _line(console, f"  overruled: {chain.trusted} is trusted, and saw DMARC {chain.dmarc}")
    return identity


@contextmanager
def _method_section(
    console: Terminal, method: str, question: str, witness: _RecordingResolver
) -> Iterator[None]:
    """Print a method's heading and, when it is done, the questions that it put."""
    witness.steps.clear()
    console.print(f"{method}: {question}", style="bold", highlight=False)
    yield
    for step in witness.steps:
        line = f"  ? {step.kind.name:<4} {quoted(step.name, 253)}  ({step.took_s * 1000:.1f} ms)"
        _line(console, line)
        for record in step.answer.records:
            _line(console, f"      {_record(record)}")
        if step.answer.outcome is not DnsOutcome.FOUND:
            _line(console, f"      {step.answer.outcome} {step.answer.why}".rstrip())


def _record(record: str | bytes | tuple[int, str]) -> str:
    match record:
        case bytes():
            return quoted(record.decode("utf-8", "backslashreplace"), SHOWN)
        case str():
            return quoted(record, SHOWN)
        case (preference, exchange):
            return f"{preference} {quoted(exchange, SHOWN)}"


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


def _result(console: Terminal, result: str, words: str) -> None:
    _line(console, f"  {result}: {quoted(words, SHOWN)}" if words else f"  {result}")


def _line(console: Terminal, text: str) -> None:
    console.print(text, highlight=False)
