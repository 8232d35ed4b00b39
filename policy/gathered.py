"""Facts gathered: from the envelope, the message, its counts and what others said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from oborona.message.model import Kind, Mailbox, Message
from oborona.message.normalise import normalise
from oborona.message.shingles import Type
from oborona.policy.evidence import Evidence
from oborona.policy.facts import Facts, Words
from oborona.policy.known import Known
from oborona.policy.own import is_local, is_own
from oborona.reputation.address import RepIP
from oborona.types import Envelope, Finding, Metric, Stage, Window

TEXT_LIMIT: Final = 65_536  # characters of text that rules can search: what a reader looks at, and bounded work for every pattern
_NOBODY: Final = Mailbox(name="", address="", domain="")


def early_facts(envelope: Envelope, known: Known, evidence: Evidence) -> Facts:
    """Return what is known before the content: client, sender, and the last recipient given."""
    return Facts(
        known=known, **_envelope(envelope, envelope.recipients[-1:]), **_who(envelope, known, evidence)
    )


def facts_of(
    message: Message,
    envelope: Envelope,
    findings: Iterable[Finding],
    known: Known,
    evidence: Evidence,
    *,
    now: float,
    size: int,
    partial: bool,
) -> Facts:
    """Return all facts of a message.

    Args:
        message: parsed.
        envelope: its envelope.
        findings: of parsing and of the checks.
        known: its counts.
        evidence: of authentication and DNS lists.
        now: Unix seconds.
        size: bytes of the whole message, scanned or not.
        partial: the counts could not be read.
    """
    reply_to = message.reply_to[0] if message.reply_to else _NOBODY
    sender = message.from_ or _NOBODY
    copies = known.copies(Window.DAY, Metric.SEEN)
    return Facts(
        known=known,
        **_envelope(envelope, envelope.recipients[:1]),
        **_who(envelope, known, evidence),
        **_proved(evidence),
        message_size=size,
        message_truncated=message.truncated,
        message_parts=len(message.parts),
        message_depth=message.depth,
        message_tree=message.mime_tree,
        headers=frozenset(header.name for header in message.headers),
        subject=normalise(message.subject),
        from_address=sender.address,
        from_name=normalise(sender.name),
        from_domain=sender.domain,
        from_count=message.from_count,
        reply_to_address=reply_to.address,
        reply_to_domain=reply_to.domain,
        to_count=len(message.recipients),
        message_id=message.message_id,
        date_age_hours=(now - message.date) / 3600 if message.date is not None else 0.0,
        mailer=(message.get("x-mailer") or message.get("user-agent") or "").lower()[:200],
        bulk=_to_many(message),
        automatic=_automatic(message),
        text=message.normal_text[:TEXT_LIMIT],
        text_words=message.words,
        text_hidden_share=message.hidden_share,
        html=any(part.content_type == "text/html" for part in message.parts),
        links=len(message.links),
        links_hosts=frozenset(link.host for link in message.links),
        links_domains=frozenset(link.domain for link in message.links if link.domain),
        links_redirected=frozenset(link.domain for link in message.links if link.through and link.domain),
        addresses=frozenset(message.addresses),
        phones=_values(message, Kind.PHONE),
        wallets=_values(message, Kind.WALLET),
        handles=_values(message, Kind.HANDLE),
        list_id=next((entity.value for entity in message.entities if entity.kind is Kind.LIST), ""),
        attachments=len(message.attachments),
        attachments_extensions=frozenset(file.extension for file in message.attachments if file.extension),
        **_files(message),
        attachments_size=sum(file.size for file in message.attachments),
        pictures=sum(file.picture for file in message.attachments),
        findings=frozenset(finding.name for finding in findings),
        partial=partial,
        mass_hour=known.copies(Window.HOUR, Metric.SEEN),
        mass_day=copies,
        mass_fortnight=known.copies(Window.FORTNIGHT, Metric.SEEN),
        mass_spam=known.copies(Window.DAY, Metric.SPAM),
        mass_complaints=known.copies(Window.DAY, Metric.COMPLAINTS),
        # both are estimates, from different values of the fingerprint: there are no more addresses than copies
        mass_ips=min(known.count(Type.TEXT_IPS, Window.DAY, Metric.SEEN), copies),
        mass_recipients=known.count(Type.TEXT_RECIPIENTS, Window.DAY, Metric.SEEN),
    )


def _values(message: Message, kind: Kind) -> Words:
    return frozenset(entity.value for entity in message.entities if entity.kind is kind)


def _files(message: Message) -> dict[str, Any]:
    """What is in attachments."""
    files = message.attachments
    members = [member for file in files for member in file.members]
    return {
        "attachments_kinds": frozenset(file.kind for file in files if file.kind),
        "attachments_members": frozenset(member.extension for member in members if member.extension),
        "attachments_files": len(members),
        "attachments_encrypted": any(file.encrypted for file in files),
        "attachments_macros": any(file.macros for file in files),
    }


def _who(envelope: Envelope, known: Known, evidence: Evidence) -> dict[str, Any]:
    """What was learned of client and sender by asking."""
    identity, repip = evidence.identity, RepIP() if is_own(envelope) else known.repip()
    return {
        "lists_client": _listed(evidence, Stage.CONNECT),
        "lists_sender": _listed(evidence, Stage.SENDER),
        "iprev_result": identity.iprev.result.value,
        "repip_flag": repip.flag.value,
        "repip_share": repip.share,
        "spf_result": identity.spf.result.value,
        "spf_domain": identity.spf.domain,
        "spf_helo": identity.spf_helo.result.value,
    }


def _proved(evidence: Evidence) -> dict[str, Any]:
    """What only the message itself can prove."""
    identity = evidence.identity
    dmarc, arc = identity.dmarc, identity.arc
    return {
        "lists_content": _listed(evidence, Stage.CONTENT),
        "dkim_domains": frozenset(identity.dkim_domains),
        "dkim_results": frozenset(one.result.value for one in identity.dkim),
        "dkim_signatures": len(identity.dkim) + identity.dkim_more,
        "dkim_unsigned": identity.unsigned,
        "dmarc_result": dmarc.result.value,
        "dmarc_domain": dmarc.domain,
        "dmarc_policy": dmarc.policy.value,
        "dmarc_disposition": identity.disposition.value,
        "dmarc_aligned": dmarc.spf_aligned or dmarc.dkim_aligned,
        "arc_result": arc.result.value,
        "arc_instances": arc.instances,
        "arc_trusted": arc.trusted,
    }


def _listed(evidence: Evidence, stage: Stage) -> Words:
    return frozenset(one.name for one in evidence.listings if one.stage is stage)


def _envelope(envelope: Envelope, recipient: tuple[str, ...]) -> dict[str, Any]:
    return {
        "client_ip": envelope.client.ip,
        "client_name": envelope.client.name,
        "client_local": is_local(envelope.client.ip),
        "client_own": is_own(envelope),
        "helo": envelope.helo,
        "sender": envelope.sender,
        "sender_domain": envelope.sender.rpartition("@")[2].lower(),
        "login": envelope.login,
        "recipient": "".join(recipient),
        "recipients": len(envelope.recipients),
    }


def _to_many(message: Message) -> bool:
    if message.get("list-id") is not None or message.get("list-unsubscribe") is not None:
        return True
    return (message.get("precedence") or "").strip().lower() in ("bulk", "list", "junk")


def _automatic(message: Message) -> bool:
    submitted = (message.get("auto-submitted") or "no").strip().lower()
    return not submitted.startswith("no") or any(
        kind in message.mime_tree for kind in ("text/calendar", "multipart/report")
    )
