"""A journaled message judged again by another policy, from what was known of it when it came: pure.

Everything that decides is asked again: rules, DNS lists (by the codes they answered then), local lists, the memory of the client's address, karma,
the final model, groups, lines, and the table of the engines beside ours, whose words are those of then.  Signatures are taken as they were found, since looking for others needs the text.  A rule that needs the text, too, or
hangs on one that does, is taken as it was where the policy of that time asked the same (`recheck.asks`); else it is not judged, and the verdict is
told with what that could make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Final

import msgspec

from oborona.authentication.model import Dmarc, Identity, Result, Signature, Spf
from oborona.policy.decide import decide, enforced, with_findings
from oborona.policy.engines import FINDINGS as OF_ENGINES
from oborona.policy.engines import action_of, engine_findings, together, with_engines
from oborona.policy.expression.template import printable
from oborona.policy.facts import Facts
from oborona.policy.groups import capped
from oborona.policy.history import refusal
from oborona.policy.karma import KARMA, karma_hits
from oborona.policy.load import Policy
from oborona.policy.local import NOT_COUNTED, match, shadowed, uncounted
from oborona.policy.models.final.features import NAME as FINAL_MODEL
from oborona.policy.models.ports import FinalModel, Untaught
from oborona.policy.outward import told
from oborona.policy.personal import PERSONAL
from oborona.policy.rules import MAX_SCORE, Rule
from oborona.policy.scripts.scripts import SCRIPT_FAILED, Judged
from oborona.recheck.asks import asks, hangs_on_others
from oborona.recheck.entry import Entry
from oborona.recheck.kept import Kept
from oborona.recheck.then import NotKept, facts_then, readable
from oborona.reputation.dnslists import Listing, strongest
from oborona.types import Action, Client, Envelope, Finding, Mode, RuleHit, Stage, Verdict

_RESULTS: Final = frozenset(one.value for one in Result)
HANGS: Final = "depends on {}, which can't be judged"


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """What another policy says of a message."""

    verdict: Verdict  # without the rules that can't be judged
    facts: Facts
    unjudged: Mapping[str, str] = {}  # rules by name: why not
    mildest: Action
    severest: Action  # what the verdict could be, whatever those rules say
    lowest: float = 0.0
    highest: float = 0.0  # what its score could be


class Judge:
    """Judges journaled messages by one policy.

    Args:
        policy: to judge by.
        final: the final model in force.
    """

    def __init__(self, policy: Policy, final: FinalModel | None = None) -> None:
        self._policy = policy
        self._final = final or Untaught()
        self._rules = {rule.name: rule for rule in policy.rules if rule.enabled}
        self.asks = self._asks = asks(policy)
        scripts = policy.scripts
        self._checks = frozenset(
            [SCRIPT_FAILED, *(one.name for one in scripts.functions if one.rule is None)] if scripts else []
        )
        self._hanging: dict[str, list[str]] = {}  # rule or condition → rules that hang on it
        for name, others in hangs_on_others(policy).items():
            for other in others if name in self._rules else ():
                self._hanging.setdefault(other, []).append(name)

    def judge(
        self,
        entry: Entry,
        asked: Mapping[str, str] | None,
        facts: Facts | None = None,
        *,
        stage: Stage = Stage.CONTENT,
    ) -> Again | None:
        """Judge a message again.

        Args:
            entry: as the journal has it.
            asked: what each rule asked then (`recheck.asks`); None = not known.
            facts: to judge by; None = those of then.
            stage: whose rules, and those before it, are asked.

        Returns:
            None where nothing can be said: `recheck.then.why_not`.
        """
        facts = facts or facts_then(entry)
        if facts is None or entry.kept is None:
            return None
        policy = self._policy
        facts, said = _unlisted(facts, policy), entry.kept.engines
        if said:
            facts = with_engines(facts, said, policy.engines)
        envelope, identity = envelope_of(entry, facts), _identity(entry.kept, facts)
        local = (policy.local_lists, envelope, Stage.CONTENT, identity, facts.from_address)
        remembered = refusal(facts.known, envelope, policy)
        scripted, failed = self._scripted(facts)
        facts = scripted.facts
        before = [
            *scripted.hits,
            *(one.hit for one in strongest(_listings(entry.kept, policy))),
            *entry.kept.signatures,
            *shadowed(*local),
            *([remembered] if remembered else []),
        ]
        hits, errors = policy.compiled.run(facts, stage, before)
        hits, unjudged = self._mended(hits, failed | self._failed(errors), entry, asked)
        held = [*capped(hits, policy.groups), *before]
        lines = policy.verdict
        weighed, unknown = self._weighed(facts, held)
        karma, untold = self._karma(facts, held)
        unjudged |= unknown | untold
        hits = [*capped([*hits, *karma], policy.groups), *before] if karma else held
        verdict = decide(
            [*hits, *weighed],
            _findings(entry, scripted, self._checks, engine_findings(said, policy.engines)),
            spam_score=lines.spam_score,
            reject_score=lines.reject_score,
            shadow_spam_score=lines.shadow_spam_score,
            shadow_reject_score=lines.shadow_reject_score,
            groups=policy.groups,
        )
        verdict = together(verdict, said, policy.engines, lines)
        low, high = self._bounds(unjudged)
        listed = match(*local)
        if listed is not None:
            verdict = enforced(verdict, listed, reject_score=lines.reject_score)
            mildest = severest = verdict.action
        elif entry.decided_by == PERSONAL:  # what a reader's list says is no matter of the policy
            verdict = _personal(verdict, entry)
            mildest = severest = verdict.action
        else:
            mildest, severest = (
                action_of(self._action(verdict.score + one), said, policy.engines) for one in (low, high)
            )
        if listed is None and verdict.action is not Action.ACCEPT:
            told = uncounted(policy.local_lists, envelope, identity, facts.from_address)
            verdict = with_findings(verdict, told)
        return Again(
            verdict=verdict,
            facts=facts,
            unjudged=unjudged,
            mildest=mildest,
            severest=severest,
            lowest=verdict.score + low,
            highest=verdict.score + high,
        )

    def _mended(
        self,
        hits: list[RuleHit],
        failed: Mapping[str, str],
        entry: Entry,
        asked: Mapping[str, str] | None,
    ) -> tuple[list[RuleHit], dict[str, str]]:
        """Return the hits with those of rules that can't be run and asked the same then, and the rules of which nothing is known."""
        if not failed:
            return hits, {}
        fired = {hit.name: hit for hit in entry.rules}
        hits, unjudged = [hit for hit in hits if hit.name not in failed], {}
        for name, why in failed.items():
            if asked is None or asked.get(name) != self._asks[name]:
                unjudged[name] = why
            elif name in fired:
                hits.append(_as_now(fired[name], self._rules[name]))
        return hits, unjudged

    def _scripted(self, facts: Facts) -> tuple[Judged, dict[str, str]]:
        """Return what scripts say, and their rules that ask for what is not kept; of such a check the finding is that of then."""
        scripts = self._policy.scripts
        if scripts is None:
            return Judged(facts), {}
        plain, unkept = readable(facts)
        stale = msgspec.structs.replace(plain, findings=plain.findings - self._checks)
        said = scripts.judge(stale, Stage.CONTENT)
        blind = {one.name: one for one in scripts.functions if one.named & unkept}
        findings = [one for one in said.findings if one.name not in blind]
        names = frozenset(one.name for one in findings) | (facts.findings & blind.keys())
        failed = {
            name: f"asks for {', '.join(sorted(one.named & unkept))}, which is not kept"
            for name, one in blind.items()
            if one.rule is not None and one.enabled
        }
        return (
            Judged(
                msgspec.structs.replace(facts, findings=(facts.findings - self._checks) | names),
                tuple(findings),
                tuple(hit for hit in said.hits if hit.name not in blind),
            ),
            {**failed, **self._hung(failed)},
        )

    def _weighed(self, facts: Facts, hits: Sequence[RuleHit]) -> tuple[Sequence[RuleHit], dict[str, str]]:
        """Return the final model's part, or why it can't be told."""
        try:
            seen = told(hits, self._policy)
            return self._final.weigh(facts, seen, self._policy.final, self._policy.verdict), {}
        except NotKept as error:
            return (), {FINAL_MODEL: str(error)}

    def _karma(self, facts: Facts, hits: Sequence[RuleHit]) -> tuple[Sequence[RuleHit], dict[str, str]]:
        """Return karma's part, or why it can't be told."""
        try:
            return karma_hits(facts, hits, self._policy.karma, self._policy.groups), {}
        except NotKept as error:
            return (), {KARMA: str(error)}

    def _hung(self, names: Iterable[str]) -> dict[str, str]:
        """Return the rules that hang on others, with why that is of interest."""
        return {other: HANGS.format(name) for name in names for other in self._hanging.get(name, ())}

    def _failed(self, errors: Sequence[str]) -> dict[str, str]:
        """Return the rules that failed, and those that hang on what failed, with why."""
        failed: dict[str, str] = {}
        for error in errors:
            name, _, why = error.partition(": ")
            if name in self._rules:
                failed[name] = why.removeprefix(f"{NotKept.__name__}: ")
            failed = self._hung([name]) | failed
        return failed

    def _bounds(self, unjudged: Mapping[str, str]) -> tuple[float, float]:
        """Return the lowest and the highest that rules could add that were not judged."""
        low = high = 0.0
        for name in unjudged:
            if name == KARMA:
                table = self._policy.karma
                low += table.best if table.mode is Mode.LIVE else 0.0
                high += table.worst if table.mode is Mode.LIVE else 0.0
                continue
            rule = self._rules.get(name)
            mode = self._policy.final.mode if rule is None else rule.mode
            if mode is Mode.LIVE:
                score = None if rule is None or isinstance(rule.score, str) else rule.score
                low += -MAX_SCORE if score is None else min(0.0, score)
                high += MAX_SCORE if score is None else max(0.0, score)
        return low, high

    def _action(self, score: float) -> Action:
        lines = self._policy.verdict
        if round(score, 2) >= lines.reject_score:
            return Action.REJECT
        return Action.SPAM if round(score, 2) >= lines.spam_score else Action.ACCEPT


def given(entry: Entry) -> Action:
    """Return what was done with a message; one that was put off comes again, and counts as one that passes."""
    return Action.ACCEPT if entry.verdict is Action.TEMPFAIL else entry.verdict


def _findings(
    entry: Entry, scripted: Judged, checks: frozenset[str], of_engines: Sequence[Finding]
) -> list[Finding]:
    """Return the findings of then, those of scripts and engines as they are now."""
    now = {one.name: one for one in (*scripted.findings, *of_engines)}
    fresh = checks | OF_ENGINES.keys()
    there = [
        now.pop(one.name, one)
        for one in entry.findings
        if (one.name not in fresh and one.name != NOT_COUNTED) or one.name in scripted.facts.findings
    ]
    return [*there, *now.values()]


def _result(word: str) -> Result:
    """Return a result by its word; none for a word that is no longer one."""
    return Result(word) if word in _RESULTS else Result.NONE


def _as_now(hit: RuleHit, rule: Rule) -> RuleHit:
    """Return a hit of then with the score and mode that the rule has now; a score that was worked out stays."""
    score = hit.score if isinstance(rule.score, str) or rule.scripted else rule.score
    return msgspec.structs.replace(hit, score=score, mode=rule.mode)


def _listings(kept: Kept, policy: Policy) -> list[Listing]:
    """Return what DNS lists said, as the policy weighs it; lists that are off said nothing."""
    found = []
    for listing in kept.listings:
        one = next((one for one in policy.dns_lists if one.name == listing.name), None)
        if one is None or not one.enabled or listing.of not in one.of:
            continue
        scores = [
            score for code in listing.codes if (score := one.codes.score(IPv4Address(code))) is not None
        ]
        if scores:
            score = max(scores, key=lambda score: (abs(score), score))
            say = one.say.replace("{code}", " ".join(listing.codes)).replace("{subject}", listing.asked)
            found.append(msgspec.structs.replace(listing, score=score, mode=one.mode, say=printable(say)))
    return found


def _unlisted(facts: Facts, policy: Policy) -> Facts:
    """Return the facts without DNS lists that the policy does not ask."""
    if not (facts.lists_client or facts.lists_sender or facts.lists_content):
        return facts
    on = frozenset(one.name for one in policy.dns_lists if one.enabled)
    return msgspec.structs.replace(
        facts,
        lists_client=facts.lists_client & on,
        lists_sender=facts.lists_sender & on,
        lists_content=facts.lists_content & on,
    )


def _personal(verdict: Verdict, entry: Entry) -> Verdict:
    """Return the verdict as a list of its reader has decided then."""
    said = tuple(hit for hit in entry.rules if hit.name == PERSONAL)
    return msgspec.structs.replace(
        verdict, action=entry.verdict, line=entry.line, decided_by=PERSONAL, rules=(*said, *verdict.rules)
    )


def envelope_of(entry: Entry, facts: Facts) -> Envelope:
    """Return a message's envelope as its entry and facts have it."""
    return Envelope(
        client=Client(ip=entry.client_ip, name=facts.client_name),
        helo=entry.helo,
        sender=entry.sender,
        recipients=entry.recipients,
        login=entry.login,
        own=facts.client_own,
    )


def _identity(kept: Kept, facts: Facts) -> Identity:
    """Return of what was proved as much as local lists ask for."""
    signed = sorted(map(_result, facts.dkim_results), key=lambda one: one is not Result.PASS)
    return Identity(
        spf=Spf(result=_result(facts.spf_result)),
        spf_helo=Spf(result=_result(facts.spf_helo)),
        dkim=tuple(
            Signature(result=one, domain=facts.dmarc_domain, unsigned=facts.dkim_unsigned)
            for one in signed[:1]
        ),
        dmarc=Dmarc(
            result=_result(facts.dmarc_result),
            domain=facts.dmarc_domain,
            spf_aligned=kept.spf_aligned,
            dkim_aligned=facts.dmarc_aligned,
        ),
    )
