"""Why a message that was filed is good now: what was learned since, by name; pure.

Counts that rose are no reason.  So the message is judged by what was counted of it when it came,
with nothing of now but what somebody has said or changed:

    people      not-spam reports, and complaints that were taken back, of its text, links, files and
                sender
    lists       an entry that lets it in, or one that no longer keeps it out
    policy      a rule that is gone, asks something else, weighs less or is on trial; a threshold;
                what a list or a cap weighs
    signatures  one that is gone, or one for it
    pins        an analyst's word on its sender or what it carries

`recheck.engine.learned` gives those counts; what of all this made the difference is told by
`reasons`.  Where nothing of it did, the message stays where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from oborona.journal.entry import JournalEntry
from oborona.policy.counts import FINGERPRINTS, MessageCounts
from oborona.policy.expression.template import printable
from oborona.policy.facts import Facts
from oborona.policy.load import Policy
from oborona.policy.reputation_facts import Pinned
from oborona.policy.signatures.finder import OWN_PREFIX
from oborona.recheck.engine.learned_counts import TELLING
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.facts_at_delivery import readable
from oborona.recheck.moves import Move
from oborona.recheck.rejudgement import Rejudged
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.locallists import ListAction
from oborona.types import Action, Metric, RuleMode, Window

MOST_TOLD: Final = 5  # reasons

_COMPLAINTS, _PARDONS = int(Metric.COMPLAINTS), int(Metric.PARDONS)
_FORTNIGHT: Final = int(Window.FORTNIGHT)


def reasons(
    entry: JournalEntry,
    then: Facts,
    facts: Facts,
    again: Rejudged,
    policy: Policy,
    *,
    asked: Mapping[str, str] | None,
    asks: Mapping[str, str],
    pinned: Pinned,
    cause: RecheckCause,
) -> tuple[str, ...]:
    """Return what was learned that may speak for a message, in words, the heaviest first.

    Nothing where nothing was.

    Args:
        entry: as the site judged it.
        then: its facts when it was judged.
        facts: the same with what was learned since.
        again: what is said of it by these.
        policy: in force.
        asked: what each rule of the policy of then asked (`recheck.asks`); None = not known.
        asks: what each rule asks now.
        pinned: what analysts say of its pieces.
        cause: why it was looked at.
    """
    return tuple(
        dict.fromkeys(
            [
                *_lists(entry, again, policy),
                *_rules(entry, again, policy, asked, asks),
                *_signatures(then, facts),
                *_pins(pinned, cause),
                *_words(then.known, facts.known),
            ]
        )
    )[:MOST_TOLD]


def _lists(entry: JournalEntry, again: Rejudged, policy: Policy) -> list[str]:
    lists = {one.name: one for one in policy.local_lists.lists}
    decided = again.verdict.decided_by
    found = []
    if (
        decided in lists
        and lists[decided].action is ListAction.ALLOW
        and entry.decided_by != decided
    ):
        hit = next((one for one in again.verdict.rules if one.name == decided), None)
        found.append(f"list {decided}: {hit.say}" if hit is not None else f"list {decided}")
    denied = [
        hit.name
        for hit in entry.rules
        if hit.name == entry.decided_by and hit.say.startswith(f"{ListAction.DENY} ")
    ]
    if denied and decided not in denied:
        found.append(f"list {denied[0]} no longer denies it")
    return found


def _rules(
    entry: JournalEntry,
    again: Rejudged,
    policy: Policy,
    asked: Mapping[str, str] | None,
    asks: Mapping[str, str],
) -> list[str]:
    """Return what another policy weighs less than that of then, the heaviest first."""
    found: list[tuple[float, str]] = []
    rules = {one.name: one for one in policy.rules if one.enabled}
    on = {one.name for one in policy.dns_lists if one.enabled}
    now = {hit.name: hit for hit in again.verdict.rules if hit.mode is RuleMode.LIVE}
    listed = {one.name for one in entry.kept.listings} if entry.kept is not None else set()
    same_policy = entry.policy_version == policy.version
    for hit in entry.rules:
        if hit.mode is not RuleMode.LIVE or hit.score <= 0:
            continue
        name, other = hit.name, now.get(hit.name)
        lost = hit.score - (other.score if other is not None else 0.0)
        if lost <= 0:
            continue
        if name.startswith(OWN_PREFIX) and other is None:
            found.append((lost, f"signature {name.removeprefix(OWN_PREFIX).lower()} gone"))
        elif same_policy:
            continue
        elif name in listed:
            found.append(
                (lost, f"DNS list {name} {'weighs less' if name in on else 'no longer asked'}")
            )
        elif asked is not None and name in asked and name not in rules:
            found.append((lost, f"rule {name} removed"))
        elif name in rules and rules[name].mode is not RuleMode.LIVE:
            found.append((lost, f"rule {name} on trial"))
        elif asked is not None and name in asked and asked[name] != asks.get(name):
            found.append((lost, f"rule {name} changed"))
        elif (
            other is not None and name in asks
        ) or name not in asks:  # karma, models: what the policy makes of them
            weighs = 0.0 if other is None else other.score
            found.append((lost, f"score of {name} {hit.score:g} → {weighs:g}"))
    then = {hit.name for hit in entry.rules}
    if not same_policy and asked is not None:
        found += [
            (-hit.score, f"rule {name} {'changed' if name in asked else 'added'}")
            for name, hit in now.items()
            if hit.score < 0 and name not in then and name in asks and asked.get(name) != asks[name]
        ]
        line = policy.verdict.spam_score
        if entry.verdict is Action.SPAM and entry.line != line and again.verdict.score < line:
            found.append((line - entry.line, f"threshold {entry.line:g} → {line:g}"))
    return [words for _, words in sorted(found, key=lambda one: -one[0])]


def _signatures(then: Facts, facts: Facts) -> list[str]:
    before, _ = readable(then)
    now, _ = readable(facts)
    gone = sorted(before.signatures_spam - now.signatures_spam)
    came = sorted(now.signatures_ham - before.signatures_ham)
    return [
        *(f"signature {name} gone" for name in gone),
        *(f"signature {name} for it" for name in came),
    ]


def _pins(pinned: Pinned, cause: RecheckCause) -> list[str]:
    found = [
        said.said
        for places in pinned.values()
        for said in places.values()
        if said.flag in (ReputationFlag.GOOD, ReputationFlag.UNKNOWN)
    ]
    return found or (
        ["a manual override was removed"] if cause is RecheckCause.PIN and not pinned else []
    )


def _words(then: MessageCounts, now: MessageCounts) -> list[str]:
    """Return what people said for the message, or no longer say against it."""

    def more(metric: int) -> int:
        found = [now.copies(_FORTNIGHT, metric) - then.copies(_FORTNIGHT, metric)]
        found += [
            now.most(kind, _FORTNIGHT, metric) - then.most(kind, _FORTNIGHT, metric)
            for kind in TELLING - FINGERPRINTS
        ]
        return max(found, key=abs)

    found = []
    if (reports := more(_PARDONS)) > 0:
        found.append(f"{reports} not-spam report{'s' if reports > 1 else ''}")
    if (taken := -more(_COMPLAINTS)) > 0:
        found.append(f"{taken} complaint{'s' if taken > 1 else ''} taken back")
    return found


def reasons_of_ours(
    entry: JournalEntry,
    then: MessageCounts,
    now: MessageCounts,
    again: Rejudged,
    policy: Policy,
    made: Sequence[Move],
    *,
    pinned: Pinned,
    cause: RecheckCause,
) -> tuple[str, ...]:
    """Return what was learned since we filed a message that had been delivered.

    Counts of that moment are not kept, so that its deciding rule is asked after.

    Args:
        entry: as the site judged it.
        then: counts of then.
        now: of now.
        again: what is said of it now.
        policy: in force.
        made: its moves so far.
        pinned: what analysts say of its pieces.
        cause: why it was looked at.
    """
    decided = next((one.why.partition(" ")[0] for one in reversed(made) if one.undoes is None), "")
    if any(hit.name == decided and hit.mode is RuleMode.LIVE for hit in again.verdict.rules):
        return ()
    found = _lists(entry, again, policy)
    rule = next((one for one in policy.rules if one.name == decided), None)
    if cause is RecheckCause.POLICY and (rule is None or not rule.enabled):
        found.append(f"rule {decided} removed")
    elif cause is RecheckCause.POLICY and rule is not None and rule.mode is not RuleMode.LIVE:
        found.append(f"rule {decided} on trial")
    elif cause is RecheckCause.SIGNATURE:
        found.append(f"the signature behind {decided} is gone")
    elif cause is RecheckCause.PARDON:
        found += [one for one in _words(then, now) if "report" in one] or [
            "a complaint was taken back"
        ]
    elif cause is RecheckCause.PIN:
        found += _pins(pinned, cause)
    return tuple(found[:MOST_TOLD])


def render_reasons(found: Sequence[str]) -> str:
    """Return reasons as they are logged and kept."""
    return printable("; ".join(found))
