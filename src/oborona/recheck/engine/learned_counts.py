"""What was learned of a message since it was judged, apart from what was merely counted: pure.

That is reports on its text, links, files and sender, and manual overrides (pins).  How often
anything was seen, and how often as spam, is taken as of then: later mail speaks for nobody.
"""

from __future__ import annotations

from typing import Final

from oborona.message.hashing import ShingleType
from oborona.policy.counts import FINGERPRINTS, MessageCounts
from oborona.policy.facts import Facts, with_values
from oborona.policy.reputation_facts import NOT_JUDGED, pin_address, pins_of
from oborona.policy.scan import ScanSite
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.prefilter import CARRIERS
from oborona.recheck.facts_at_delivery import readable
from oborona.recheck.facts_today import proved_at_delivery, with_fresh_counts
from oborona.types import Metric, Shingle, Window

SENDERS: Final = frozenset(
    map(
        int,
        (
            ShingleType.FROM,
            ShingleType.AUTHOR,
            ShingleType.PROVED_SENDER,
            ShingleType.ACCOUNT,
            ShingleType.MAIL_FROM,
        ),
    )
)
"""Types of pieces that are one sender's own: no domain, network or host, which others use as
well.
"""
TELLING: Final = frozenset(map(int, CARRIERS)) | frozenset(map(int, FINGERPRINTS)) | SENDERS
"""Types of pieces on which people's word is a word on the message."""

_SAID: Final = tuple(map(int, (Metric.COMPLAINTS, Metric.PARDONS, Metric.READS, Metric.TRAPS)))
_COMPLAINTS, _PARDONS = int(Metric.COMPLAINTS), int(Metric.PARDONS)
_FORTNIGHT: Final = int(Window.FORTNIGHT)
_WINDOWS: Final = (int(Window.DAY), _FORTNIGHT)


def refresh_learned(
    then: MessageCounts, now: MessageCounts, *, taken_back: bool
) -> tuple[MessageCounts, bool]:
    """Return the counts of then with people's words of now, and whether these are others.

    Args:
        then: what the message was judged by.
        now: of the same pieces, in the same order.
        taken_back: a word was taken back; else fewer complaints are those that grew older than two
            weeks, and count as ever.
    """
    rows: dict[int, list[list[list[int]]]] = {}
    differs = False
    for kind, before in then.rows.items():
        after = now.rows.get(kind, ())
        rows[kind] = totals = []
        for place, counted_then in enumerate(before):
            row = [list(counts) for counts in counted_then]
            if place < len(after) and kind in TELLING:
                for window in _WINDOWS:
                    for metric in _SAID:
                        count = after[place][window][metric]
                        if metric != _PARDONS and not taken_back:
                            count = max(count, row[window][metric])
                        differs |= count != row[window][metric]
                        row[window][metric] = count
            totals.append(row)
    return then.with_rows(rows), differs


def with_learned(
    then: Facts,
    counts: MessageCounts,
    pieces: tuple[Shingle, ...],
    site: ScanSite,
    now: float,
    *,
    cause: RecheckCause,
) -> Facts:
    """Return the facts of then with what people and analysts have said since, and nothing that was
    merely counted.

    Args:
        then: as the journal has them, with the signatures of now.
        counts: counts of now.
        pieces: of the message.
        site: whose pins count.
        now: Unix seconds.
        cause: why it is looked at.
    """
    pinned = pins_of(pieces, site.pins, now)
    before, differs = refresh_learned(then.known, counts, taken_back=cause is RecheckCause.PARDON)
    if not (differs or pinned or cause is RecheckCause.PIN):
        return then
    pin_address(before, pinned)
    facts = with_fresh_counts(then, before, proved_at_delivery(then), site, pinned, NOT_JUDGED)
    by_pin = pinned or cause is RecheckCause.PIN
    karma = readable(then)[0].karma
    if not by_pin and not _spoken_for(then.known, before) and facts.karma > karma:
        return with_values(facts, karma=then.karma, karma_why=then.karma_why)
    return facts


def _spoken_for(then: MessageCounts, now: MessageCounts) -> bool:
    """Tell whether people spoke for the sender, or no longer speak against him."""
    return any(
        now.most(kind, _FORTNIGHT, _PARDONS) > then.most(kind, _FORTNIGHT, _PARDONS)
        or now.most(kind, _FORTNIGHT, _COMPLAINTS) < then.most(kind, _FORTNIGHT, _COMPLAINTS)
        for kind in SENDERS
    )
