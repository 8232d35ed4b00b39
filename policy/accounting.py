"""What a scan reads from the counters, and what it adds to them before its answer goes out."""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.counters.window import Timeline
from oborona.errors import StoreError, StorePartial
from oborona.message import unique_pairs
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.shingles import envelope_shingles
from oborona.policy.counts import MessageCounts, timelines_to_read
from oborona.policy.history import REPIP_BAD
from oborona.policy.local_clients import is_own, opposite
from oborona.policy.memory_age import ALL_MAIL
from oborona.policy.ports import CounterAdder, CounterCorrector, CounterReader
from oborona.types import (
    Action,
    Amounts,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Location,
    ProvedIdentity,
    Shingle,
    UniquePair,
    Verdict,
)

CONTACTING: Final = frozenset(
    {
        ShingleType.CLIENT_IP,
        ShingleType.CLIENT_NETWORK,
        ShingleType.AUTHOR,
        ShingleType.AUTHOR_DOMAIN,
        ShingleType.PROVED_SENDER,
        ShingleType.ACCOUNT,
    }
)
"""Whose first contacts are written down."""
_OWN_CONTACTING: Final = frozenset({ShingleType.ACCOUNT})
"""The same of mail of our own people: an author whom one of them names is no stranger's past."""
REFUSABLE: Final = frozenset(
    {
        ShingleType.CLIENT_IP,
        ShingleType.CLIENT_NETWORK,
        ShingleType.AS_NUMBER,
        ShingleType.MAIL_FROM,
    }
)
"""Of whom it is written down that they were refused."""


_ALL: Final = CountedPieces(shingles=(ALL_MAIL,), pairs=())


def is_counted(verdict: Verdict) -> bool:
    """Tell whether a message with this verdict is counted."""
    return verdict.action is not Action.TEMPFAIL and verdict.decided_by != REPIP_BAD


def vouching_pairs(
    envelope: Envelope,
    sender: ProvedIdentity,
    counts: MessageCounts,
    verdict: Verdict,
    hasher: Hasher,
) -> tuple[UniquePair, ...]:
    """Return the pair by which the author of a message vouches for its client's address: one who
    was proved and known before, with mail that is no spam.

    Args:
        envelope: of the message.
        sender: sent it.
        counts: its counts, as it was judged.
        verdict: that is counted.
        hasher: holds the site's secret.
    """
    if not sender.author or verdict.action is not Action.ACCEPT or is_own(envelope):
        return ()
    return (
        unique_pairs.known_author_pair(envelope.client.ip, sender.author, hasher)
        if counts.author_is_known()
        else ()
    )


def record_verdict(
    pieces: CountedPieces,
    verdict: Verdict,
    counters: CounterAdder,
    *,
    now: float,
    first: bool | None = False,
    vouching: tuple[UniquePair, ...] = (),
    prefix: CounterPrefix = CounterPrefix.IN,
) -> None:
    """Count a message that is about to be answered.

    One that is put off is counted when it comes again.

    What memory alone has decided is not counted: it would feed on itself.  That it was refused is
    written beside the counts, where no judgement reads it.

    Args:
        pieces: of the message.
        verdict: that it got.
        counters: the store.
        now: Unix seconds.
        first: none of its recipients had mail from its sender for two weeks.
        vouching: of its author, for its client's address.
        prefix: the message's direction.
    """
    if is_counted(verdict):
        spam = verdict.action in (Action.SPAM, Action.REJECT)
        if vouching:
            pieces = msgspec.structs.replace(pieces, pairs=pieces.pairs + vouching)
        counters.add(pieces, Amounts(seen=1, spam=int(spam)), now, prefix)
        counters.add(_ALL, Amounts(seen=1), now)
        if first:
            types = _OWN_CONTACTING if prefix is CounterPrefix.OUT else CONTACTING
            _count_seen(pieces.shingles, types, counters, now, CounterPrefix.FIRST)
    elif verdict.decided_by == REPIP_BAD:
        _count_seen(pieces.shingles, REFUSABLE, counters, now, CounterPrefix.REFUSED)


def record_unseen(
    pieces: CountedPieces,
    counters: CounterAdder,
    *,
    now: float,
    first: bool,
    prefix: CounterPrefix,
) -> None:
    """Count a message of our own people of which the envelope alone is known; nothing of it tells
    how far back the memory of judged mail reaches.

    Args:
        pieces: of its envelope.
        counters: the store.
        now: Unix seconds.
        first: none of its recipients had mail from its account for two weeks.
        prefix: the message's direction.
    """
    counters.add(pieces, Amounts(seen=1), now, prefix)
    if first:
        _count_seen(pieces.shingles, _OWN_CONTACTING, counters, now, CounterPrefix.FIRST)


def record_refused(
    envelope: Envelope, hasher: Hasher, location: Location, counters: CounterAdder, *, now: float
) -> None:
    """Write down that a client or sender was refused before its content: beside the counts, where
    no judgement reads it.
    """
    _count_seen(
        envelope_shingles(envelope, hasher, location).shingles,
        REFUSABLE,
        counters,
        now,
        CounterPrefix.REFUSED,
    )


def _count_seen(
    shingles: tuple[Shingle, ...],
    types: frozenset[int],
    counters: CounterAdder,
    now: float,
    prefix: CounterPrefix,
) -> None:
    pieces = tuple(shingle for shingle in shingles if shingle.type in types)
    counters.add(CountedPieces(shingles=pieces, pairs=()), Amounts(seen=1), now, prefix)


def record_sent(
    subjects: tuple[Shingle, ...],
    recipients: int,
    size: int,
    counters: CounterAdder,
    *,
    now: float,
) -> None:
    """Count an outgoing message that is taken, for each of those whose limits it uses up.

    Args:
        subjects: whoever sent it.
        recipients: of it.
        size: octets of the message.
        counters: the store.
        now: Unix seconds.
    """
    if not subjects:
        return
    pieces = CountedPieces(shingles=subjects, pairs=())
    counters.add(pieces, Amounts(seen=1), now, CounterPrefix.SENT)
    counters.add(pieces, Amounts(seen=recipients), now, CounterPrefix.RECIPIENTS)
    counters.add(pieces, Amounts(seen=size), now, CounterPrefix.OCTETS)


def record_place(
    place: tuple[Shingle, ...], counters: CounterAdder, *, left: bool, now: float
) -> None:
    """Count what became of an account's message, for the address that it came from.

    Args:
        place: of the message, as `account_place` has it.
        counters: the store.
        left: it was taken, and is not held.
        now: Unix seconds.
    """
    if place:
        amounts = Amounts(seen=1, spam=int(not left))
        counters.add(CountedPieces(shingles=place, pairs=()), amounts, now, CounterPrefix.OUT)


def record_new_recipients(
    account: Shingle, number: int, counters: CounterAdder, *, now: float
) -> None:
    """Count recipients whom an account had not written to for two weeks.

    They are counted with the pairs by which the next message finds them known, whatever the answer
    is: else a client that was refused would come again with the same list, and pass.

    Args:
        account: who wrote to them.
        number: of them.
        counters: the store.
        now: Unix seconds.
    """
    pieces = CountedPieces(shingles=(account,), pairs=())
    counters.add(pieces, Amounts(seen=number), now, CounterPrefix.NEW_RECIPIENTS)


def undo_verdict(
    shingles: tuple[Shingle, ...],
    action: Action,
    counters: CounterCorrector,
    at: float,
    prefix: CounterPrefix = CounterPrefix.IN,
) -> None:
    """Take back what a verdict counted as spam, for a message that is none; that it was seen stays.

    Args:
        shingles: of the message, as they were counted.
        action: of the verdict, which was counted.
        counters: the store.
        at: Unix seconds under which it was counted.
        prefix: the message's direction.
    """
    if action in (Action.SPAM, Action.REJECT):
        counters.take_back(shingles, Amounts(spam=1), at, prefix)


def record_greylisted(shingle: Shingle, counters: CounterAdder, *, now: float) -> None:
    """Remember that a message was put off."""
    counters.add(
        CountedPieces(shingles=(shingle,), pairs=()), Amounts(seen=1), now, CounterPrefix.GREY
    )


async def read_counts(
    counters: CounterReader,
    shingles: tuple[Shingle, ...],
    now: float,
    timelines: frozenset[int] = frozenset(),
    prefix: CounterPrefix = CounterPrefix.IN,
    across: frozenset[int] = frozenset(),
) -> tuple[MessageCounts, tuple[str, ...]]:
    """Return what is counted of some shingles, and faults for the log.

    Args:
        counters: the store.
        shingles: the shingles.
        now: Unix seconds.
        timelines: types whose rhythm rules ask for.
        prefix: the message's direction.
        across: types of which rules ask for the counts of the other direction, too.
    """
    counts, faults = await _read_direction(counters, shingles, now, timelines, prefix)
    if across:
        asked = tuple(shingle for shingle in shingles if shingle.type in across)
        counts.across, more = await _read_direction(
            counters, asked, now, frozenset(), opposite(prefix)
        )
        faults += more
    return counts, faults


async def _read_direction(
    counters: CounterReader,
    shingles: tuple[Shingle, ...],
    now: float,
    timelines: frozenset[int],
    prefix: CounterPrefix,
) -> tuple[MessageCounts, tuple[str, ...]]:
    try:
        totals = await counters.read(shingles, now, prefix)
    except StorePartial as error:
        return MessageCounts(shingles, error.totals), (f"counters: {error}",)
    except StoreError as error:
        return MessageCounts(away=True), (f"counters: {error}",)
    asked_for = timelines_to_read(shingles, totals, timelines) if timelines else ()
    if not asked_for:
        return MessageCounts(shingles, totals), ()
    lines: dict[int, list[Timeline]] = {}
    try:
        known = await counters.timelines(asked_for, now, prefix)
        for shingle, line in zip(asked_for, known, strict=True):
            lines.setdefault(shingle.type, []).append(line)
    except StoreError as error:
        return MessageCounts(shingles, totals), (f"counters: {error}",)
    return MessageCounts(shingles, totals, lines=lines), ()
