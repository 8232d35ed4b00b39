"""Which mail of banned accounts is put on hold in a mail server's queue, and which is let go.

A thief's mail that waits for its delivery goes on, whatever was said of the account since.  So what
an account has in the queue is held while it is banned, and just that is let go when it is open
again.  What is written down of a message before it is held, and taken away after it is let go,
makes a run that was killed harmless: the next one goes on from it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec


class AccountMail(msgspec.Struct, frozen=True, kw_only=True):
    """A message in the queue."""

    queue_id: str
    since: float  # Unix seconds, when it came; mail servers use ids again
    held: bool
    account: str  # that sent it; empty = none that is banned


class QueueHold(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is held because its account is banned."""

    queue_id: str
    since: float  # Unix seconds, when it came
    account: str
    seen: bool = False  # on hold, and not to be let go: if it is not there, a person let it go


class HoldPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with a queue: each is written down as not seen before it is done."""

    hold: tuple[QueueHold, ...]  # and seen when it was done
    release: tuple[QueueHold, ...]  # and forgotten when it was done
    forget: tuple[str, ...]  # queue ids of messages that are gone


def plan_holds(
    queue: Sequence[AccountMail], banned: Collection[str], holds: Sequence[QueueHold]
) -> HoldPlan:
    """Return what is to be done.

    What was on hold before its account was banned is left alone, and so is what a person let go
    while it is.

    Args:
        queue: all of it.
        banned: accounts.
        holds: that were written down.
    """
    noted = {hold.queue_id: hold for hold in holds}
    hold, release = list[QueueHold](), list[QueueHold]()
    there = set[str]()
    for mail in queue:
        known = noted.get(mail.queue_id)
        if known is not None and known.since != mail.since:
            known = None  # of a message before it
        if known is None:
            if mail.account in banned and not mail.held:
                hold.append(
                    QueueHold(queue_id=mail.queue_id, since=mail.since, account=mail.account)
                )
                there.add(mail.queue_id)
            continue
        there.add(mail.queue_id)
        if known.account not in banned:
            release.append(msgspec.structs.replace(known, seen=False))
        elif not known.seen:
            hold.append(known)
    return HoldPlan(
        hold=tuple(hold),
        release=tuple(release),
        forget=tuple(ident for ident in noted if ident not in there),
    )
