"""Asks about a message that somebody hands in: taken apart, authenticated, judged.

Nothing is counted or journaled.  Pictures in it are not looked at: that takes processes and time
that an answer does not have.
"""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import CallError, NotAllowedError, ask
from oborona.desk.messages.authentication_report import AuthReport, authenticate
from oborona.desk.messages.envelope import read_ip, read_mailbox
from oborona.desk.messages.explanation import VerdictExplanation
from oborona.desk.messages.message_dissection import DissectingTools, dissect_message
from oborona.desk.messages.proof import MessageProof, proof_of
from oborona.desk.messages.scan_verdict import ScannedMessage, explain_scan, scanned_message
from oborona.desk.messages.unicode_text import encodable
from oborona.desk.site import Site
from oborona.message.dissection import Dissection
from oborona.people.caller import Caller, CallWay
from oborona.people.rights import Right
from oborona.policy.budget import OverBudgetError, ScanProgress
from oborona.policy.pictures import NoPictures
from oborona.policy.scan import scan
from oborona.session.cpu_meter import CpuMeter
from oborona.types import Client, Envelope

NAME: Final = "upload"  # that its file has in answers
MOST_RECIPIENTS: Final = 100
Text = Annotated[str, Meta(max_length=998)]  # of an address or a name


class TooLargeError(CallError):
    """An upload is larger than a message that is scanned whole."""

    status = 413


class UploadedMessage(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A message, and the envelope that it is to be taken to have come with.

    Args:
        message: as it came; in JSON as base64.
        ip: of the SMTP client; empty = not known, then there is no SPF.
        name: its verified rDNS name.
        helo: what it called itself.
        sender: MAIL FROM; empty = a bounce.
        recipients: RCPT TO.
        login: SASL login.
        dns: ask the DNS as the daemon does; else what it would say is left out.
        reason: why the content of a message is looked at; some must say.
    """

    message: bytes
    ip: Text = ""
    name: Text = ""
    helo: Text = ""
    sender: Text = ""
    recipients: Annotated[tuple[Text, ...], Meta(max_length=MOST_RECIPIENTS)] = ()
    login: Text = ""
    dns: bool = False
    reason: Text = ""


class TriedScan(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of a message now.

    Args:
        verdict: and what it was made of.
        explanation: its present side alone.
        proof: who sent it, as far as the DNS was asked; null = its facts are not known.
    """

    verdict: ScannedMessage
    explanation: VerdictExplanation
    proof: MessageProof | None


@ask("messages.dissect", Right.CONTENT)
def dissect_upload(site: Site, caller: Caller, asked: UploadedMessage) -> Dissection:
    """Take a message apart: parts, text and what was removed from it, every shingle, findings."""
    envelope = _accept(site, caller, asked)

    async def dissect() -> Dissection:
        tools = DissectingTools.of(site, envelope, NoPictures())
        async with site.inquiries(dns=asked.dns) as inquire:
            return await dissect_message(NAME, asked.message, tools, inquire())

    return encodable(asyncio.run(dissect()))


@ask("messages.authenticate", Right.CONTENT)
def authenticate_upload(site: Site, caller: Caller, asked: UploadedMessage) -> AuthReport:
    """Check SPF, DKIM, DMARC, ARC and iprev of a message, with every question to the DNS."""
    envelope = _accept(site, caller, asked)
    return encodable(asyncio.run(authenticate(site, asked.message, envelope)))


@ask("scan.try", Right.CONTENT)
def try_scan(site: Site, caller: Caller, asked: UploadedMessage) -> TriedScan:
    """Judge a message as if it came now, and tell why."""
    envelope = _accept(site, caller, asked)

    async def judge() -> TriedScan:
        meter, now = CpuMeter(site.loaded.settings.worker.scan_cpu_s), time.time()
        meter.begin()
        async with site.inquiries(dns=asked.dns) as inquire:
            with site.site() as parts:
                result = await scan(
                    asked.message,
                    envelope,
                    parts,
                    site.policy(),
                    inquire(),
                    now=now,
                    course=ScanProgress(meter),
                )
                explanation = await explain_scan(NAME, result, parts, now, site.notice)
        return TriedScan(
            verdict=scanned_message(NAME, result),
            explanation=explanation,
            proof=proof_of(explanation.now) if asked.dns else None,
        )

    try:
        return encodable(asyncio.run(judge()))
    except OverBudgetError as spent:
        raise CallError(f"the message takes too long to be judged: {spent}") from spent


def _accept(site: Site, caller: Caller, asked: UploadedMessage) -> Envelope:
    """Return the envelope of an upload that may be looked at.

    Raises:
        NotAllowedError: the caller must say why, and does not.
        CallError: the upload is too large, or its envelope is none.
    """
    must = caller.way is not CallWay.TERMINAL and caller.must_say_why(Right.CONTENT)
    if must and not asked.reason.strip():
        raise NotAllowedError("say why: the content of messages is shown for a reason alone")
    most = site.loaded.settings.worker.max_message_bytes
    if len(asked.message) > most:
        raise TooLargeError(f"the message has more than {most} octets")
    try:
        envelope = Envelope(
            client=Client(ip=read_ip(asked.ip), name=asked.name.lower()),
            helo=asked.helo,
            sender=read_mailbox(asked.sender),
            recipients=tuple(map(read_mailbox, asked.recipients)),
            login=asked.login,
        )
    except ValueError as error:
        raise CallError(str(error)) from error
    return site.seen(envelope)
