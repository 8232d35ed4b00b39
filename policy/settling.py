"""What a scan reads of the counters, and what is added to them once its answer is given."""

from __future__ import annotations

from oborona.counters.window import Timeline
from oborona.errors import StoreError, StorePartial
from oborona.policy.history import REPIP_BAD
from oborona.policy.known import Known, lines_wanted
from oborona.policy.ports import CounterReader, CounterWriter
from oborona.types import Action, Amounts, Pieces, Prefix, Shingle, Verdict


def counts(verdict: Verdict) -> bool:
    """Tell whether a message with this verdict is counted."""
    return verdict.action is not Action.TEMPFAIL and verdict.decided_by != REPIP_BAD


def settle(pieces: Pieces, verdict: Verdict, counters: CounterWriter, *, now: float) -> None:
    """Count a message once its answer is given; one that was put off is counted when it comes again.

    What memory alone has decided is not counted: it would feed on itself.
    """
    if counts(verdict):
        spam = verdict.action in (Action.SPAM, Action.REJECT)
        counters.add(pieces, Amounts(seen=1, spam=int(spam)), now)


def settle_put_off(shingle: Shingle, counters: CounterWriter, *, now: float) -> None:
    """Remember that a message was put off."""
    counters.add(Pieces(shingles=(shingle,), pairs=()), Amounts(seen=1), now, Prefix.GREY)


async def read_known(
    counters: CounterReader,
    wanted: tuple[Shingle, ...],
    now: float,
    timelines: frozenset[int] = frozenset(),
) -> tuple[Known, tuple[str, ...]]:
    """Return what is counted of some shingles, and faults for the log.

    Args:
        counters: the store.
        wanted: the shingles.
        now: Unix seconds.
        timelines: types whose rhythm rules ask for.
    """
    try:
        totals = await counters.read(wanted, now)
    except StorePartial as error:
        return Known(wanted, error.totals), (f"counters: {error}",)
    except StoreError as error:
        return Known(away=True), (f"counters: {error}",)
    asked_for = lines_wanted(wanted, totals, timelines) if timelines else ()
    if not asked_for:
        return Known(wanted, totals), ()
    lines: dict[int, list[Timeline]] = {}
    try:
        for shingle, line in zip(asked_for, await counters.timelines(asked_for, now), strict=True):
            lines.setdefault(shingle.type, []).append(line)
    except StoreError as error:
        return Known(wanted, totals), (f"counters: {error}",)
    return Known(wanted, totals, lines=lines), ()
