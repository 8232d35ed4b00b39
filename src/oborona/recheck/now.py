"""The facts of a journaled message with the counts of now: what was known of it then, and what is
known of its pieces by now.
"""

from __future__ import annotations

from oborona.journal.entry import Entry, Late
from oborona.policy.facts import Facts, with_values
from oborona.policy.gathered import repip_of, with_mass
from oborona.policy.known import Known
from oborona.policy.load import Policy
from oborona.policy.pasts import Judgements, judge_pasts
from oborona.policy.reputed import (
    NOT_JUDGED,
    Pinned,
    Seen,
    pin_address,
    pins_of,
    with_reputation,
)
from oborona.policy.scan import Site
from oborona.policy.settling import read_known
from oborona.recheck.then import readable
from oborona.types import Proved, Shingle


def pieces_of(entry: Entry, late: Late | None) -> tuple[Shingle, ...]:
    """Return what is asked about: the message's pieces, what its unique pairs count, and what was
    found late.
    """
    distinct = [Shingle(*one) for one in entry.kept.distinct] if entry.kept else []
    return tuple(dict.fromkeys((*entry.shingles, *distinct, *(late.shingles if late else ()))))


async def facts_now(
    then: Facts, pieces: tuple[Shingle, ...], policy: Policy, site: Site, now: float
) -> tuple[Facts, tuple[str, ...]]:
    """Return the facts of then with the counts of now, and faults for the log.

    Args:
        then: as the journal has them (`recheck.then`).
        pieces: of the message (`pieces_of`).
        policy: in force.
        site: whose counters are read.
        now: Unix seconds.
    """
    known, faults = await read_known(site.counters, pieces, now, policy.compiled.timelines)
    return await with_counts(then, known, pieces, site, now, partial=bool(faults)), faults


async def with_counts(
    then: Facts,
    known: Known,
    pieces: tuple[Shingle, ...],
    site: Site,
    now: float,
    *,
    partial: bool = False,
) -> Facts:
    """Return the facts of then with counts that were read, and with the reputations that follow
    from them.

    The counts hold the message itself and its copies; neither is a past of its sender
    (`Known.since`).

    Args:
        then: as the journal has them.
        known: counts of the pieces.
        pieces: of the message.
        site: whose pins and judgements of time-lines count.
        now: Unix seconds.
        partial: not all counts could be read.
    """
    pinned = pins_of(pieces, site.pins, now)
    known = known.since(then.known)
    pin_address(known, pinned)
    who = who_then(then)
    judgements: Judgements = NOT_JUDGED
    if who is not None:
        judgements, _ = await judge_pasts(
            site.counters, known, who, site.hasher, site.pasts, now=now
        )
    return counted(then, known, who, site, pinned, judgements, partial=partial)


def who_then(then: Facts) -> Proved | None:
    """Return who was proved then; None where an older version did not say."""
    plain, unkept = readable(then)
    if "author" in unkept:
        return None
    return Proved(
        author=plain.author,
        author_domain=plain.author_domain,
        sender=plain.sender_proved,
        account=plain.login.lower(),
    )


def counted(
    then: Facts,
    known: Known,
    who: Proved | None,
    site: Site,
    pinned: Pinned,
    judgements: Judgements,
    *,
    partial: bool = False,
) -> Facts:
    """Return the facts of then with counts, and with the reputations that follow from them.

    Args:
        then: as the journal has them.
        known: counts of its pieces.
        who: was proved; None = not known.
        site: whose hasher is asked.
        pinned: what analysts say of its pieces.
        judgements: of time-lines.
        partial: not all counts could be read.
    """
    repip = repip_of(known, own=then.client_own)
    facts = with_mass(
        with_values(
            then, known=known, partial=partial, repip_flag=repip.flag.value, repip_share=repip.share
        )
    )
    if who is None:
        return facts
    plain, _ = readable(facts)
    return with_reputation(
        facts, Seen(who, site.hasher, plain.repentity_shared, pinned, plain.client_own, judgements)
    )
