"""Judges a journaled message by another policy, from what was known of it at delivery: pure.

All steps of a verdict are repeated in their order (`oborona.policy.verdict`).  DNS lists are
weighed by the codes that they answered then, other engines by their answers of then.  Signatures
are taken as they were found, since a search needs the text.  Rules that can't be judged are
reported, and with them the verdicts that they could lead to.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Final

import msgspec

from oborona.authentication.model import AuthIdentity, AuthResult, DkimSignature, Dmarc, Spf
from oborona.journal.entry import JournalEntry
from oborona.journal.evidence import VerdictEvidence
from oborona.policy.decision import PARTIAL, TEMPERROR, reached_line
from oborona.policy.engines import FINDINGS as OF_ENGINES
from oborona.policy.engines import action_of
from oborona.policy.expression.template import printable
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.local_list_match import NOT_COUNTED
from oborona.policy.models.ports import FinalModel
from oborona.policy.personal_list_match import PERSONAL
from oborona.policy.verdict import VerdictGrounds, judge
from oborona.recheck.evaluator import EntryEvaluator, RuleIndex
from oborona.recheck.facts_at_delivery import facts_then
from oborona.reputation.dnsbl import DnsblListing, strongest
from oborona.types import Action, Client, Envelope, Stage, Verdict

_RESULTS: Final = frozenset(result.value for result in AuthResult)
_MISSING: Final = frozenset({PARTIAL, TEMPERROR})


class Rejudged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of another policy on a message."""

    verdict: Verdict  # without the rules that can't be judged
    facts: Facts
    unjudged: Mapping[str, str] = {}  # rules by name: why not
    mildest: Action
    severest: Action  # what the verdict could be, whatever those rules say
    lowest: float = 0.0
    highest: float = 0.0  # what its score could be


class Rejudger:
    """Judges journaled messages by one policy.

    Args:
        policy: to judge by.
        final: the final model in force: without it what it added stands there as gone.
    """

    def __init__(self, policy: Policy, final: FinalModel) -> None:
        self._policy = policy
        self._final = final
        self._index = RuleIndex(policy)
        self.asks = self._index.asks

    def judge(
        self,
        entry: JournalEntry,
        fingerprints: Mapping[str, str] | None,
        facts: Facts | None = None,
        *,
        stage: Stage = Stage.CONTENT,
        young: bool | None = None,
    ) -> Rejudged | None:
        """Judge a message again.

        Args:
            entry: as the journal has it.
            fingerprints: what each rule asked then (`recheck.rule_fingerprints`); None = not known.
            facts: to judge by; None = those of then.
            stage: whose rules, and those before it, are asked.
            young: whether the counters' memory is (`oborona.policy.memory_age`); None = as it was
                then.

        Returns:
            None where nothing can be said: `recheck.facts_at_delivery.why_not`.
        """
        facts = facts or facts_then(entry)
        if facts is None or entry.kept is None:
            return None
        policy, opinions = self._policy, entry.kept.engines
        facts = _unlisted(facts, policy)
        evaluator = EntryEvaluator(
            policy, self._final, index=self._index, entry=entry, asked=fingerprints
        )
        ruling = judge(facts, self._grounds(entry, entry.kept, facts, young), stage, evaluator)
        verdict, decided = ruling.verdict, ruling.listed is not None
        # what a reader's list says is no matter of the policy
        if not decided and entry.decided_by == PERSONAL:
            verdict, decided = _personal(verdict, entry), True
        low, high = self._index.bounds(evaluator.unjudged)
        lines, ends = policy.verdict, [verdict.score + low, verdict.score + high]
        mildest, severest = (
            verdict.action
            if decided
            else action_of(
                reached_line(end, lines.spam_score, lines.reject_score)[0], opinions, policy.engines
            )
            for end in ends
        )
        return Rejudged(
            verdict=verdict,
            facts=ruling.facts,
            unjudged=evaluator.unjudged,
            mildest=mildest,
            severest=severest,
            lowest=ends[0],
            highest=ends[1],
        )

    def _grounds(
        self, entry: JournalEntry, evidence: VerdictEvidence, facts: Facts, young: bool | None
    ) -> VerdictGrounds:
        """Return what the verdict of then rested on, as the policy weighs it.

        What it finds itself is found anew.
        """
        renewed = {NOT_COUNTED, *OF_ENGINES, *self._index.checks}
        findings = [finding for finding in entry.findings if finding.name not in renewed]
        listings = strongest(_listings(evidence, self._policy))
        return VerdictGrounds(
            envelope=envelope_of(entry, facts),
            identity=_identity(evidence, facts),
            author=facts.from_address,
            hits=[*(listing.hit for listing in listings), *evidence.signatures],
            findings=[finding for finding in findings if finding.name not in _MISSING],
            missing=[finding for finding in findings if finding.name in _MISSING],
            engines=evidence.engines,
            young=evidence.young if young is None else young,
        )


def action_given(entry: JournalEntry) -> Action:
    """Return what was done with a message.

    One that was put off comes again, and counts as one that passes.
    """
    return Action.ACCEPT if entry.verdict is Action.TEMPFAIL else entry.verdict


def _result(word: str) -> AuthResult:
    """Return a result by its word; none for a word that is no longer one."""
    return AuthResult(word) if word in _RESULTS else AuthResult.NONE


def _listings(evidence: VerdictEvidence, policy: Policy) -> list[DnsblListing]:
    """Return what DNS lists said, as the policy weighs it; lists that are off said nothing."""
    listings = []
    for listing in evidence.listings:
        dns_list = next(
            (dns_list for dns_list in policy.dns_lists if dns_list.name == listing.name), None
        )
        if dns_list is None or not dns_list.enabled or listing.of not in dns_list.of:
            continue
        scores = [
            score
            for code in listing.codes
            if (score := dns_list.codes.score(IPv4Address(code))) is not None
        ]
        if scores:
            score = max(scores, key=lambda score: (abs(score), score))
            say = dns_list.say.replace("{code}", " ".join(listing.codes)).replace(
                "{subject}", listing.asked
            )
            listings.append(
                msgspec.structs.replace(
                    listing, score=score, mode=dns_list.mode, say=printable(say)
                )
            )
    return listings


def _unlisted(facts: Facts, policy: Policy) -> Facts:
    """Return the facts without DNS lists that the policy does not ask."""
    if not (facts.lists_client or facts.lists_sender or facts.lists_content):
        return facts
    on = frozenset(dns_list.name for dns_list in policy.dns_lists if dns_list.enabled)
    return msgspec.structs.replace(
        facts,
        lists_client=facts.lists_client & on,
        lists_sender=facts.lists_sender & on,
        lists_content=facts.lists_content & on,
    )


def _personal(verdict: Verdict, entry: JournalEntry) -> Verdict:
    """Return the verdict as a list of its reader has decided then."""
    personal = tuple(hit for hit in entry.rules if hit.name == PERSONAL)
    return msgspec.structs.replace(
        verdict,
        action=entry.verdict,
        line=entry.line,
        decided_by=PERSONAL,
        rules=(*personal, *verdict.rules),
    )


def envelope_of(entry: JournalEntry, facts: Facts) -> Envelope:
    """Return a message's envelope as its entry and facts have it."""
    return Envelope(
        client=Client(ip=entry.client_ip, name=facts.client_name),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        own=facts.outgoing,
    )


def _identity(evidence: VerdictEvidence, facts: Facts) -> AuthIdentity:
    """Return of what was proved as much as local lists ask for."""
    signed = sorted(
        map(_result, facts.dkim_results), key=lambda result: result is not AuthResult.PASS
    )
    return AuthIdentity(
        spf=Spf(result=_result(facts.spf_result)),
        spf_helo=Spf(result=_result(facts.spf_helo)),
        dkim=tuple(
            DkimSignature(result=result, domain=facts.dmarc_domain, unsigned=facts.dkim_unsigned)
            for result in signed[:1]
        ),
        dmarc=Dmarc(
            result=_result(facts.dmarc_result),
            domain=facts.dmarc_domain,
            spf_aligned=evidence.spf_aligned,
            dkim_aligned=facts.dmarc_aligned,
        ),
    )
