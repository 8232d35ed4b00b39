"""Facts gathered: from the envelope, the message, its counts and what others said."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oborona.message.model import Message
from oborona.message.shingles import Type
from oborona.policy.evidence import Evidence
from oborona.policy.facts import Facts, Words
from oborona.policy.gathered_body import body_facts
from oborona.policy.gathered_header import header_facts, site_of
from oborona.policy.known import Known
from oborona.policy.models.opinion import Opinion
from oborona.policy.own import is_near, is_own
from oborona.policy.signatures import Flag, Matched
from oborona.policy.signatures.matched import told
from oborona.reputation.address import RepIP
from oborona.types import Envelope, Finding, Metric, Span, Stage, Window


def early_facts(envelope: Envelope, known: Known, evidence: Evidence, *, now: float) -> Facts:
    """Return what is known before the content: client, sender, and the last recipient given."""
    return Facts(
        known=known,
        time_now=now,
        **_envelope(envelope, envelope.recipients[-1:]),
        **_who(envelope, known, evidence),
    )


def facts_of(
    message: Message,
    envelope: Envelope,
    findings: Iterable[Finding],
    known: Known,
    evidence: Evidence,
    signatures: Matched,
    opinion: Opinion,
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
        opinion: of the models on its text.
        now: Unix seconds.
        size: bytes of the whole message, scanned or not.
        partial: the counts could not be read.
    """
    domain = message.from_.domain if message.from_ else ""
    return Facts(
        known=known,
        time_now=now,
        **_envelope(envelope, envelope.recipients[:1]),
        **_who(envelope, known, evidence),
        **_proved(evidence),
        **_signatures(signatures),
        model_content=opinion.probability,
        model_spam_learned=opinion.spam_learned,
        model_ham_learned=opinion.ham_learned,
        model_meaning=opinion.meaning,
        message_size=size,
        message_truncated=message.truncated,
        message_parts=len(message.parts),
        message_depth=message.depth,
        message_tree=message.mime_tree,
        **header_facts(message, envelope, now=now),
        **body_facts(message, site_of(domain)),
        findings=frozenset(finding.name for finding in findings),
        partial=partial,
        **mass_facts(known),
    )


def mass_facts(known: Known) -> dict[str, Any]:
    """Return the facts that are read off the counts of a text."""
    copies = known.copies(Window.DAY, Metric.SEEN)
    return {
        "mass_hour": known.copies(Window.HOUR, Metric.SEEN),
        "mass_day": copies,
        "mass_fortnight": known.copies(Window.FORTNIGHT, Metric.SEEN),
        "mass_earlier": known.copies(Span.EARLIER, Metric.SEEN),
        "mass_spam": known.copies(Window.DAY, Metric.SPAM),
        "mass_complaints": known.copies(Window.DAY, Metric.COMPLAINTS),
        "mass_pardons": known.copies(Window.DAY, Metric.PARDONS),
        "mass_traps": known.copies(Window.DAY, Metric.TRAPS),
        # all are estimates, from different values of the fingerprint: there are no more addresses or senders than copies
        "mass_ips": min(known.count(Type.TEXT_IPS, Window.DAY, Metric.SEEN), copies),
        "mass_senders": min(known.count(Type.TEXT_SENDERS, Window.DAY, Metric.SEEN), copies),
        "mass_recipients": known.count(Type.TEXT_RECIPIENTS, Window.DAY, Metric.SEEN),
    }


def repip_facts(known: Known, *, own: bool) -> dict[str, Any]:
    """Return the facts that are read off the counts of the client's address; of one of ours nothing is remembered."""
    repip = RepIP() if own else known.repip_beside()
    return {"repip_flag": repip.flag.value, "repip_share": repip.share}


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
        "signatures_marks": matched.marks,
        "signatures_marked": matched.marked,
    }


def _who(envelope: Envelope, known: Known, evidence: Evidence) -> dict[str, Any]:
    """What was learned of client and sender by asking."""
    identity = evidence.identity
    return {
        "client_country": evidence.location.country or None,
        "client_as_number": evidence.location.as_number or None,
        "client_as_name": evidence.location.as_name or None,
        "lists_client": _listed(evidence, Stage.CONNECT),
        "lists_sender": _listed(evidence, Stage.SENDER),
        "iprev_result": identity.iprev.result.value,
        **repip_facts(known, own=is_own(envelope)),
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
        "client_local": is_near(envelope.client),
        "client_own": is_own(envelope),
        "helo": envelope.helo,
        "sender": envelope.sender,
        "sender_domain": envelope.sender.rpartition("@")[2].lower(),
        "login": envelope.login,
        "recipient": "".join(recipient),
        "recipient_domain": "".join(recipient).rpartition("@")[2].lower(),
        "recipients": len(envelope.recipients),
        "recipients_traps": len(envelope.traps),
    }
