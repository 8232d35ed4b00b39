"""The facts of a journaled message with today's counts: its facts at delivery, and what is known of
its hashes by now.
"""

from __future__ import annotations

from oborona.journal.entry import JournalEntry, LateFindings
from oborona.policy.accounting import read_counts
from oborona.policy.counts import MessageCounts
from oborona.policy.facts import Facts, with_values
from oborona.policy.facts.build import repip_of, with_mass
from oborona.policy.histories import Judgements, judge_histories
from oborona.policy.load import Policy
from oborona.policy.reputation_facts import (
    NOT_JUDGED,
    Pinned,
    ReputationInputs,
    pin_address,
    pins_of,
    with_reputation,
)
from oborona.policy.scan import ScanSite
from oborona.recheck.facts_at_delivery import is_kept, readable_fact
from oborona.types import CounterPrefix, ProvedIdentity, Shingle


def pieces_of(entry: JournalEntry, late: LateFindings | None) -> tuple[Shingle, ...]:
    """Return what is asked about: the message's pieces, what its unique pairs count, and what was
    found late.
    """
    distinct = [Shingle(*pair) for pair in entry.kept.distinct] if entry.kept else []
    return tuple(dict.fromkeys((*entry.shingles, *distinct, *(late.shingles if late else ()))))


async def facts_now(
    then: Facts, pieces: tuple[Shingle, ...], policy: Policy, site: ScanSite, now: float
) -> tuple[Facts, tuple[str, ...]]:
    """Return the facts of then with the counts of now, and faults for the log.

    Args:
        then: as the journal has them (`recheck.facts_at_delivery`).
        pieces: of the message (`pieces_of`).
        policy: in force.
        site: whose counters are read.
        now: Unix seconds.
    """
    prefix = _direction(then)
    counts, faults = await read_counts(
        site.counters,
        pieces,
        now,
        policy.compiled.timelines,
        prefix,
        policy.compiled.across(prefix),
    )
    return await with_counts(then, counts, pieces, site, now, partial=bool(faults)), faults


async def with_counts(
    then: Facts,
    counts: MessageCounts,
    pieces: tuple[Shingle, ...],
    site: ScanSite,
    now: float,
    *,
    partial: bool = False,
) -> Facts:
    """Return the facts of then with counts that were read, and with the reputations that follow
    from them.

    The counts hold the message itself and its copies; neither is a past of its sender
    (`MessageCounts.since`).

    Args:
        then: as the journal has them.
        counts: counts of the pieces.
        pieces: of the message.
        site: whose pins and judgements of time-lines count.
        now: Unix seconds.
        partial: not all counts could be read.
    """
    pinned = pins_of(pieces, site.pins, now)
    counts = counts.since(then.known)
    pin_address(counts, pinned)
    sender = proved_at_delivery(then)
    judgements: Judgements = NOT_JUDGED
    if sender is not None:
        judgements, _ = await judge_histories(
            site.counters,
            counts,
            sender,
            site.hasher,
            site.histories,
            now=now,
            prefix=_direction(then),
        )
    return with_fresh_counts(then, counts, sender, site, pinned, judgements, partial=partial)


def direction_of(entry: JournalEntry) -> CounterPrefix:
    """Return the direction of a message of the journal."""
    return CounterPrefix.OUT if entry.facts.get("outgoing") is True else CounterPrefix.IN


def _direction(then: Facts) -> CounterPrefix:
    return CounterPrefix.OUT if then.outgoing else CounterPrefix.IN


def proved_at_delivery(then: Facts) -> ProvedIdentity | None:
    """Return who was proved then; None where an older version did not say."""
    if not is_kept(then.author):
        return None
    return ProvedIdentity(
        author=then.author,
        author_domain=readable_fact(then, "author_domain"),
        sender=readable_fact(then, "sender_proved"),
        account=readable_fact(then, "login").lower(),
    )


def with_fresh_counts(
    then: Facts,
    counts: MessageCounts,
    sender: ProvedIdentity | None,
    site: ScanSite,
    pinned: Pinned,
    judgements: Judgements,
    *,
    partial: bool = False,
) -> Facts:
    """Return the facts of then with counts, and with the reputations that follow from them.

    Args:
        then: as the journal has them.
        counts: counts of its pieces.
        sender: was proved; None = not known.
        site: whose hasher is asked.
        pinned: what analysts say of its pieces.
        judgements: of time-lines.
        partial: not all counts could be read.
    """
    repip = repip_of(counts, own=then.client_own)
    facts = with_mass(
        with_values(
            then,
            known=counts,
            partial=partial,
            repip_flag=repip.flag.value,
            repip_share=repip.share,
        )
    )
    if sender is None:
        return facts
    shared, own = readable_fact(facts, "repentity_shared"), readable_fact(facts, "client_own")
    return with_reputation(
        facts, ReputationInputs(sender, site.hasher, shared, pinned, own, judgements)
    )
