"""What the counters know for the limits of one message."""

from __future__ import annotations

from oborona.accounts.limits.decision import LimitReading
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.limits.plan import SENT, LimitReads
from oborona.accounts.limits.usual import UNKNOWN_PAST, AccountPast, account_past
from oborona.accounts.sending_account import KnownAccounts
from oborona.counters.window import DAY_S
from oborona.message.hashing import Hasher
from oborona.message.unique_pairs import account_pairs, account_place
from oborona.policy.counts import MessageCounts, is_elsewhere
from oborona.policy.ports import CounterReader
from oborona.policy.reputation_facts import elsewhere
from oborona.types import CounterPrefix, Envelope, Metric, Shingle, Window


async def count_new_recipients(
    envelope: Envelope, hasher: Hasher, counters: CounterReader, now: float
) -> int:
    """Return how many recipients of a message its account has not written to for two weeks, of a
    thousand at most.

    Args:
        envelope: of the message.
        hasher: holds the site's secret.
        counters: the store; one read.
        now: Unix seconds.

    Raises:
        StoreError: they can't be asked, or not for all.
    """
    if not envelope.login:
        return 0
    pairs = account_pairs(envelope.login.lower(), envelope, hasher)
    if not pairs:
        return 0
    rows = await counters.read(tuple(pair.both for pair in pairs), now, CounterPrefix.OUT)
    return sum(not row[Window.FORTNIGHT][Metric.SEEN] for row in rows)


async def read_place(
    envelope: Envelope,
    hasher: Hasher,
    counters: CounterReader,
    now: float,
    known: MessageCounts | None = None,
) -> bool | None:
    """Return whether an account sends from where it is not known; None without a login.

    Args:
        envelope: of the message.
        hasher: holds the site's secret.
        counters: the store; one read where the message was not scanned.
        now: Unix seconds.
        known: the message's own counts, where it was scanned.

    Raises:
        StoreError: they can't be asked.
    """
    if known is not None and not known.away:
        return elsewhere(known)
    place = account_place(envelope, hasher)
    if not place:
        return None
    (row,) = await counters.read(place, now, CounterPrefix.OUT)
    return is_elsewhere(row)


async def read_limits(
    memory: LimitMemory,
    wanted: LimitReads,
    envelope: Envelope,
    hasher: Hasher,
    counters: CounterReader,
    accounts: KnownAccounts,
    now: float,
    known: MessageCounts | None = None,
) -> list[LimitReading]:
    """Return the limits that are for a message, with what the counters know.

    Args:
        memory: of the process; gets what is read once a day.
        wanted: the limits.
        envelope: of the message.
        hasher: holds the site's secret.
        counters: the store; one read for each prefix that the limits ask for.
        accounts: of the site.
        now: Unix seconds.
        known: the message's own counts, where it was scanned: what they have is not read again.

    Raises:
        StoreError: they can't be asked, or not for all.
    """
    shingles = [piece.shingle(envelope, hasher, accounts) for piece in wanted.pieces]
    scanned = {} if known is None or known.away else known.rows
    found: list[dict[int, list[list[int]]]] = []  # [read][piece]
    for prefix, of in wanted.reads:
        pieces = {piece: shingle for piece in of if (shingle := shingles[piece]) is not None}
        if prefix in wanted.scanned and all(one.type in scanned for one in pieces.values()):
            found.append({piece: scanned[one.type][0] for piece, one in pieces.items()})
        elif pieces:
            rows = await counters.read((*pieces.values(),), now, prefix)
            found.append(dict(zip(pieces, rows, strict=True)))
        else:
            found.append({})
    day = int(now // DAY_S)
    readings: list[LimitReading] = []
    for limit, read, piece, window, metric, place, sent in wanted.limits:
        shingle = shingles[piece]
        if shingle is None:
            continue
        past, taken, largest = UNKNOWN_PAST, 0, 0
        if limit.asks_past:
            past = memory.past(place, shingle, day) or await _past(
                memory, counters, shingle, (place, wanted.reads[read][0], metric), now
            )
        if sent is not None:
            row = found[sent[0]][sent[1]]
            taken = row[window][Metric.SEEN]
            if limit.asks_sent_most:
                who = shingles[sent[1]]
                assert who is not None, "its row was read"
                before = memory.past(SENT, who, day) or await _past(
                    memory, counters, who, (SENT, wanted.reads[sent[0]][0], Metric.SEEN), now
                )
                largest = max(row[Window.DAY][Metric.SEEN], before.largest)
        counted = found[read][piece][window][metric]
        readings.append(LimitReading(limit, counted, past, taken, largest))
    return readings


async def _past(
    memory: LimitMemory,
    counters: CounterReader,
    shingle: Shingle,
    place: tuple[int, CounterPrefix, int],
    now: float,
) -> AccountPast:
    """Read somebody's earlier days, and keep them for the day.

    Args:
        memory: of the process.
        counters: the store.
        shingle: who it is.
        place: of what is counted: its number among all, its prefix and its metric.
        now: Unix seconds.
    """
    number, prefix, metric = place
    (line,) = await counters.timelines([shingle], now, prefix)
    past = account_past([counts[metric] for counts in line.days])
    memory.keep(number, shingle, int(now // DAY_S), past)
    return past
