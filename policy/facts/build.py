"""Facts gathered: from the envelope, the message, its counts and what others said."""

from __future__ import annotations

from collections.abc import Iterable

from oborona.message.model import Message
from oborona.message.shingles import ShingleType
from oborona.policy.counts import MessageCounts
from oborona.policy.evidence import SenderEvidence
from oborona.policy.facts import Facts, Words, with_values
from oborona.policy.facts.build_body import with_body
from oborona.policy.facts.build_header import site_of, with_header
from oborona.policy.local_clients import direction, is_near, is_own
from oborona.policy.models.opinion import ContentOpinion
from oborona.policy.signatures import SignatureFlag, SignatureMatches
from oborona.policy.signatures.finder import marking_line
from oborona.reputation.address import RepIP
from oborona.types import CounterPrefix, Envelope, Finding, Metric, RuleWindow, Stage, Window


def early_facts(
    envelope: Envelope, counts: MessageCounts, evidence: SenderEvidence, *, now: float
) -> Facts:
    """Return what is known before the content: client, sender, and the last recipient given."""
    return _of_envelope(envelope, envelope.recipients[-1:], counts, evidence, now)


def facts_of(
    message: Message,
    envelope: Envelope,
    findings: Iterable[Finding],
    counts: MessageCounts,
    evidence: SenderEvidence,
    signatures: SignatureMatches,
    opinion: ContentOpinion,
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
        counts: its counts.
        evidence: of authentication and DNS lists.
        signatures: that it has.
        opinion: of the models on its text.
        now: Unix seconds.
        size: bytes of the whole message, scanned or not.
        partial: the counts could not be read.
    """
    facts = _of_envelope(envelope, envelope.recipients[:1], counts, evidence, now)
    facts = with_header(facts, message, envelope, now=now)
    facts = with_body(facts, message, site_of(facts.from_domain))
    facts = _with_proof(facts, evidence)
    if signatures.signatures:
        facts = _with_signatures(facts, signatures)
    facts = with_values(
        facts,
        message_size=size,
        model_content=opinion.probability,
        model_spam_learned=opinion.spam_learned,
        model_ham_learned=opinion.ham_learned,
        model_meaning=opinion.meaning,
        findings=frozenset([finding.name for finding in findings]),
        partial=partial,
    )
    return with_mass(facts)


def with_mass(facts: Facts) -> Facts:
    """Return facts with what their counts say of nearly the same texts."""
    counts = facts.known
    copies = counts.copies(Window.DAY, Metric.SEEN)
    return with_values(
        facts,
        mass_hour=counts.copies(Window.HOUR, Metric.SEEN),
        mass_day=copies,
        mass_fortnight=counts.copies(Window.FORTNIGHT, Metric.SEEN),
        mass_earlier=counts.copies(RuleWindow.EARLIER, Metric.SEEN),
        mass_spam=counts.copies(Window.DAY, Metric.SPAM),
        mass_complaints=counts.copies(Window.DAY, Metric.COMPLAINTS),
        mass_pardons=counts.copies(Window.DAY, Metric.PARDONS),
        mass_traps=counts.copies(Window.DAY, Metric.TRAPS),
        # all are estimates, from different values of the fingerprint:
        # there are no more addresses or senders than copies
        mass_ips=min(counts.count(ShingleType.TEXT_IPS, Window.DAY, Metric.SEEN), copies),
        mass_senders=min(counts.count(ShingleType.TEXT_SENDERS, Window.DAY, Metric.SEEN), copies),
        mass_recipients=counts.count(ShingleType.TEXT_RECIPIENTS, Window.DAY, Metric.SEEN),
    )


def repip_of(counts: MessageCounts, *, own: bool) -> RepIP:
    """Return what is remembered of the client's address; of one of ours nothing is."""
    return RepIP() if own else counts.repip_beside()


def _of_envelope(
    envelope: Envelope,
    recipient: tuple[str, ...],
    counts: MessageCounts,
    evidence: SenderEvidence,
    now: float,
) -> Facts:
    """Return the facts of an envelope, and what was learned of client and sender by asking."""
    client, identity, location = envelope.client, evidence.identity, evidence.location
    own, name = is_own(envelope), "".join(recipient)
    repip = repip_of(counts, own=own)
    return Facts(
        known=counts,
        time_now=now,
        client_ip=client.ip,
        client_name=client.name,
        client_local=is_near(client),
        client_own=own,
        outgoing=direction(envelope) is CounterPrefix.OUT,
        client_country=location.country or None,
        client_as_number=location.as_number or None,
        client_as_name=location.as_name or None,
        lists_client=_listed(evidence, Stage.CONNECT),
        iprev_result=identity.iprev.result.value,
        repip_flag=repip.flag.value,
        repip_share=repip.share,
        helo=envelope.helo,
        helo_is_client=_same_site(envelope.helo, client.name),
        lists_sender=_listed(evidence, Stage.SENDER),
        spf_result=identity.spf.result.value,
        spf_domain=identity.spf.domain,
        spf_helo=identity.spf_helo.result.value,
        sender=envelope.sender,
        sender_domain=envelope.sender.rpartition("@")[2].lower(),
        login=envelope.login,
        recipient=name,
        recipient_domain=name.rpartition("@")[2].lower(),
        recipients=len(envelope.recipients),
        recipients_traps=len(envelope.traps),
    )


def _same_site(helo: str, client_name: str) -> bool | None:
    """Tell whether two host names are of one registrable domain; None where one is no name."""
    greeted = site_of(helo.rstrip(".").lower())
    client_site = site_of(client_name.rstrip(".").lower())
    return greeted == client_site if greeted and client_site else None


def _with_proof(facts: Facts, evidence: SenderEvidence) -> Facts:
    """Return facts with what only the message itself can prove."""
    identity = evidence.identity
    dmarc, arc = identity.dmarc, identity.arc
    return with_values(
        facts,
        lists_content=_listed(evidence, Stage.CONTENT),
        dkim_domains=frozenset(identity.dkim_domains),
        dkim_results=frozenset([signature.result.value for signature in identity.dkim]),
        dkim_signatures=len(identity.dkim) + identity.dkim_more,
        dkim_unsigned=identity.unsigned,
        dmarc_result=dmarc.result.value,
        dmarc_domain=dmarc.domain,
        dmarc_policy=dmarc.policy.value,
        dmarc_disposition=identity.disposition.value,
        dmarc_aligned=dmarc.spf_aligned or dmarc.dkim_aligned,
        arc_result=arc.result.value,
        arc_instances=arc.instances,
        arc_trusted=arc.trusted,
    )


def _with_signatures(facts: Facts, matched: SignatureMatches) -> Facts:
    spam, ham = matched.all_of(SignatureFlag.SPAM), matched.all_of(SignatureFlag.HAM)
    return with_values(
        facts,
        signatures_spam=frozenset([signature.id for signature in spam]),
        signatures_ham=frozenset([signature.id for signature in ham]),
        signatures_owners=matched.owners,
        signatures_spam_why=marking_line(spam),
        signatures_ham_why=marking_line(ham),
        signatures_marks=matched.marks,
        signatures_marked=matched.marked,
    )


def _listed(evidence: SenderEvidence, stage: Stage) -> Words:
    return frozenset([listing.name for listing in evidence.listings if listing.stage is stage])
