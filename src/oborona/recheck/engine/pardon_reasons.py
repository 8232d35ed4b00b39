"""The reasons why a filed message is good now: what was learned since, by name; pure.

A risen count is no reason.  So the message is judged by its counts at delivery, with only those
changes since that somebody has said or made:

    people      not-spam reports, and withdrawn complaints, on its text, links, files and sender
    lists       an entry that allows it, or one that no longer denies it
    policy      a rule that is gone, asks something else, weighs less or is in shadow mode; a
                threshold; the weight of a list, the cap of a group
    signatures  one that is gone, or one for it
    pins        a manual override on its sender or on what it carries

`recheck.engine.learned_counts` gives those counts; `reasons` names the changes that made the
difference.  If none did, the message stays where it is.
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
    rejudged: Rejudged,
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
        rejudged: what is said of it by these.
        policy: in force.
        asked: the rule fingerprints of the policy of then; None = not known.
        asks: what each rule asks now.
        pinned: what analysts say of its pieces.
        cause: why it was looked at.
    """
    return tuple(
        dict.fromkeys(
            [
                *_lists(entry, rejudged, policy),
                *_rules(entry, rejudged, policy, asked, asks),
                *_signatures(then, facts),
                *_pins(pinned, cause),
                *_words(then.known, facts.known),
            ]
        )
    )[:MOST_TOLD]


def _lists(entry: JournalEntry, rejudged: Rejudged, policy: Policy) -> list[str]:
    lists = {local_list.name: local_list for local_list in policy.local_lists.lists}
    decided = rejudged.verdict.decided_by
    texts = []
    if (
        decided in lists
        and lists[decided].action is ListAction.ALLOW
        and entry.decided_by != decided
    ):
        hit = next((rule for rule in rejudged.verdict.rules if rule.name == decided), None)
        texts.append(f"list {decided}: {hit.say}" if hit is not None else f"list {decided}")
    denied = [
        hit.name
        for hit in entry.rules
        if hit.name == entry.decided_by and hit.say.startswith(f"{ListAction.DENY} ")
    ]
    if denied and decided not in denied:
        texts.append(f"list {denied[0]} no longer denies it")
    return texts


def _rules(
    entry: JournalEntry,
    rejudged: Rejudged,
    policy: Policy,
    fingerprints: Mapping[str, str] | None,
    asks: Mapping[str, str],
) -> list[str]:
    """Return what another policy weighs less than that of then, the heaviest first."""
    weighed: list[tuple[float, str]] = []
    rules = {rule.name: rule for rule in policy.rules if rule.enabled}
    on = {dns_list.name for dns_list in policy.dns_lists if dns_list.enabled}
    now = {hit.name: hit for hit in rejudged.verdict.rules if hit.mode is RuleMode.LIVE}
    listed = {listing.name for listing in entry.kept.listings} if entry.kept is not None else set()
    same_policy = entry.policy_version == policy.version
    for hit in entry.rules:
        if hit.mode is not RuleMode.LIVE or hit.score <= 0:
            continue
        name, current = hit.name, now.get(hit.name)
        lost = hit.score - (current.score if current is not None else 0.0)
        if lost <= 0:
            continue
        if name.startswith(OWN_PREFIX) and current is None:
            weighed.append((lost, f"signature {name.removeprefix(OWN_PREFIX).lower()} gone"))
        elif same_policy:
            continue
        elif name in listed:
            weighed.append(
                (
                    lost,
                    f"DNS list {name} {'weighs less' if name in on else 'no longer asked'}",
                )
            )
        elif fingerprints is not None and name in fingerprints and name not in rules:
            weighed.append((lost, f"rule {name} removed"))
        elif name in rules and rules[name].mode is not RuleMode.LIVE:
            weighed.append((lost, f"rule {name} on trial"))
        elif (
            fingerprints is not None
            and name in fingerprints
            and fingerprints[name] != asks.get(name)
        ):
            weighed.append((lost, f"rule {name} changed"))
        elif (
            current is not None and name in asks
        ) or name not in asks:  # karma, models: what the policy makes of them
            weighs = 0.0 if current is None else current.score
            weighed.append((lost, f"score of {name} {hit.score:g} → {weighs:g}"))
    hits_then = {hit.name for hit in entry.rules}
    if not same_policy and fingerprints is not None:
        weighed += [
            (-hit.score, f"rule {name} {'changed' if name in fingerprints else 'added'}")
            for name, hit in now.items()
            if hit.score < 0
            and name not in hits_then
            and name in asks
            and fingerprints.get(name) != asks[name]
        ]
        line = policy.verdict.spam_score
        if entry.verdict is Action.SPAM and entry.line != line and rejudged.verdict.score < line:
            weighed.append((line - entry.line, f"threshold {entry.line:g} → {line:g}"))
    return [words for _, words in sorted(weighed, key=lambda reason: -reason[0])]


def _signatures(then: Facts, facts: Facts) -> list[str]:
    before, _ = readable(then)
    now, _ = readable(facts)
    removed = sorted(before.signatures_spam - now.signatures_spam)
    came = sorted(now.signatures_ham - before.signatures_ham)
    return [
        *(f"signature {name} gone" for name in removed),
        *(f"signature {name} for it" for name in came),
    ]


def _pins(pinned: Pinned, cause: RecheckCause) -> list[str]:
    texts = [
        standing.said
        for places in pinned.values()
        for standing in places.values()
        if standing.flag in (ReputationFlag.GOOD, ReputationFlag.UNKNOWN)
    ]
    return texts or (
        ["a manual override was removed"] if cause is RecheckCause.PIN and not pinned else []
    )


def _words(then: MessageCounts, now: MessageCounts) -> list[str]:
    """Return what people said for the message, or no longer say against it."""

    def more(metric: int) -> int:
        changes = [now.copies(_FORTNIGHT, metric) - then.copies(_FORTNIGHT, metric)]
        changes += [
            now.most(kind, _FORTNIGHT, metric) - then.most(kind, _FORTNIGHT, metric)
            for kind in TELLING - FINGERPRINTS
        ]
        return max(changes, key=abs)

    texts = []
    if (reports := more(_PARDONS)) > 0:
        texts.append(f"{reports} not-spam report{'s' if reports > 1 else ''}")
    if (withdrawn := -more(_COMPLAINTS)) > 0:
        texts.append(f"{withdrawn} complaint{'s' if withdrawn > 1 else ''} taken back")
    return texts


def reasons_of_ours(
    entry: JournalEntry,
    then: MessageCounts,
    now: MessageCounts,
    rejudged: Rejudged,
    policy: Policy,
    moves: Sequence[Move],
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
        rejudged: what is said of it now.
        policy: in force.
        moves: its moves so far.
        pinned: what analysts say of its pieces.
        cause: why it was looked at.
    """
    decided = next(
        (move.why.partition(" ")[0] for move in reversed(moves) if move.undoes is None), ""
    )
    if any(hit.name == decided and hit.mode is RuleMode.LIVE for hit in rejudged.verdict.rules):
        return ()
    texts = _lists(entry, rejudged, policy)
    rule = next((rule for rule in policy.rules if rule.name == decided), None)
    if cause is RecheckCause.POLICY and (rule is None or not rule.enabled):
        texts.append(f"rule {decided} removed")
    elif cause is RecheckCause.POLICY and rule is not None and rule.mode is not RuleMode.LIVE:
        texts.append(f"rule {decided} on trial")
    elif cause is RecheckCause.SIGNATURE:
        texts.append(f"the signature behind {decided} is gone")
    elif cause is RecheckCause.PARDON:
        texts += [reason for reason in _words(then, now) if "report" in reason] or [
            "a complaint was taken back"
        ]
    elif cause is RecheckCause.PIN:
        texts += _pins(pinned, cause)
    return tuple(texts[:MOST_TOLD])


def render_reasons(reasons_given: Sequence[str]) -> str:
    """Return reasons as they are logged and kept."""
    return printable("; ".join(reasons_given))
