"""Facts gathered: from the envelope, the message, its counts and what others said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from oborona.message.model import Held, Kind, Mailbox, Message, Picture
from oborona.message.normalise import normalise
from oborona.message.shingles import Type
from oborona.policy.evidence import Evidence
from oborona.policy.facts import Facts, Words
from oborona.policy.known import Known
from oborona.policy.own import is_local, is_own
from oborona.policy.signatures import Flag, Matched
from oborona.policy.signatures.matched import told
from oborona.reputation.address import RepIP
from oborona.types import Envelope, Finding, Metric, Stage, Window

TEXT_LIMIT: Final = 65_536  # characters of text that rules can search: what a reader looks at, and bounded work for every pattern
CODE_LIMIT: Final = 200  # characters of a code that rules can search: a link's host and path
FEW_WORDS: Final = 20  # beside a picture that is the message: a greeting, or how to leave the list
MESSAGE_PIXELS: Final = (
    20_000  # of a picture that can hold a message: 200 by 100; logos under signatures are mostly smaller
)
MESSAGE_OCTETS: Final = 4096  # the same, of one that nobody has looked at
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
    signatures: Matched,
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
        signatures: that it has.
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
        **_signatures(signatures),
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
        text_language=message.language,
        text_charset=message.charset,
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
        **_pictures(message),
        findings=frozenset(finding.name for finding in findings),
        partial=partial,
        mass_hour=known.copies(Window.HOUR, Metric.SEEN),
        mass_day=copies,
        mass_fortnight=known.copies(Window.FORTNIGHT, Metric.SEEN),
        mass_spam=known.copies(Window.DAY, Metric.SPAM),
        mass_complaints=known.copies(Window.DAY, Metric.COMPLAINTS),
        # all are estimates, from different values of the fingerprint: there are no more addresses or senders than copies
        mass_ips=min(known.count(Type.TEXT_IPS, Window.DAY, Metric.SEEN), copies),
        mass_senders=min(known.count(Type.TEXT_SENDERS, Window.DAY, Metric.SEEN), copies),
        mass_recipients=known.count(Type.TEXT_RECIPIENTS, Window.DAY, Metric.SEEN),
    )


def _values(message: Message, kind: Kind) -> Words:
    return frozenset(entity.value for entity in message.entities if entity.kind is kind)


def _signatures(matched: Matched) -> dict[str, Any]:
    """What signatures were found; nothing where there are none, as in most mail."""
    if not matched.signatures:
        return {}
    spam, ham = matched.all_of(Flag.SPAM), matched.all_of(Flag.HAM)
    return {
        "signatures_spam": frozenset(one.id for one in spam),
        "signatures_ham": frozenset(one.id for one in ham),
        "signatures_owners": matched.owners,
        "signatures_spam_why": told(spam),
        "signatures_ham_why": told(ham),
    }


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


def _pictures(message: Message) -> dict[str, Any]:
    """What is in pictures, as far as they were looked at."""
    pictures = message.pictures
    written = sum(picture.place is Held.DATA for picture in pictures)
    text = " ".join(picture.text for picture in pictures if picture.text)
    return {
        "pictures": sum(file.picture for file in message.attachments) + written,
        "pictures_codes": frozenset(code[:CODE_LIMIT] for picture in pictures for code in picture.codes),
        "pictures_text": normalise(text)[:TEXT_LIMIT],
        "pictures_words": len(text.split()),
        "pictures_only": message.words <= FEW_WORDS and any(map(_holds_a_message, pictures)),
    }


def _holds_a_message(picture: Picture) -> bool:
    if picture.looked:
        return picture.width * picture.height >= MESSAGE_PIXELS
    return len(picture.octets) >= MESSAGE_OCTETS


def _who(envelope: Envelope, known: Known, evidence: Evidence) -> dict[str, Any]:
    """What was learned of client and sender by asking."""
    identity, repip = evidence.identity, RepIP() if is_own(envelope) else known.repip()
    return {
        "client_country": evidence.location.country,
        "client_as_number": evidence.location.as_number,
        "client_as_name": evidence.location.as_name,
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
