"""What a month shows: who was refused, how soon a burst was, and how each day went."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import numpy as np

from benchmarks.traffic.connections import DAY_S, Flags, Kind
from benchmarks.traffic.month import Month

CRIES: Final = 20  # complaints and trap hits, from which a burst's reaction is measured
BURSTS: Final = (Kind.BURST, Kind.WARMED, Kind.SOLD)


class Share(NamedTuple):
    """How many of some connections were refused."""

    all: int
    refused: int

    @property
    def value(self) -> float:
        """0 to 1."""
        return self.refused / self.all if self.all else 0.0


class Reaction(NamedTuple):
    """Of one burst that had CRIES of them."""

    # from the last of these to the first refusal; 0: it was refused before; infinite: never, though
    # it went on for five minutes
    seconds: float
    passed: int  # messages let in before that


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one month, or of several."""

    caught: Share  # of spam, what the filter would have caught at once
    spam: Share
    good: Share
    kinds: dict[Kind, Share]
    senders: dict[Kind, int]  # different good ones that were refused at all
    days: list[tuple[Share, Share]]  # spam, good
    reactions: list[Reaction]
    bursts: int  # of all, with many complaints or few
    bursts_refused: int


def figures(month: Month) -> Figures:
    """Return what a month shows."""
    measured = month.mail.time >= month.since
    mail = month.mail.where(measured)
    refused, judged = month.outcome.refused[measured], month.fates.judged[measured]
    spam = mail.kind >= Kind.BOT
    day = ((mail.time - month.since) // DAY_S).astype(int)

    def share(which: Flags) -> Share:
        return Share(int(which.sum()), int(refused[which].sum()))

    bursts = sorted({int(one) for kind in BURSTS for one in mail.sender[mail.kind == kind]})
    stopped = {int(one) for one in mail.sender[refused]}
    return Figures(
        caught=Share(int(spam.sum()), int(judged[spam].sum())),
        spam=share(spam),
        good=share(~spam),
        kinds={kind: share(mail.kind == kind) for kind in Kind},
        senders={
            kind: len(set(mail.sender[refused & (mail.kind == kind)].tolist()))
            for kind in Kind
            if not kind.spam
        },
        days=[
            (share(spam & (day == one)), share(~spam & (day == one)))
            for one in range(int(day.max(initial=0)) + 1)
        ],
        reactions=reactions(month, bursts),
        bursts=len(bursts),
        bursts_refused=sum(one in stopped for one in bursts),
    )


def reactions(month: Month, senders: list[int]) -> list[Reaction]:
    """Return how soon those senders were refused who had CRIES complaints and trap hits, and went
    on.
    """
    mail, refused = month.mail, month.outcome.refused
    known_before = set(mail.sender[mail.time < month.since].tolist())
    cries: dict[int, list[float]] = {}
    for cry in month.outcome.cries:
        cries.setdefault(cry.sender, []).append(cry.time)
    found = []
    for sender in senders:
        if sender in known_before or len(cries.get(sender, ())) < CRIES:
            continue
        when = cries[sender][CRIES - 1]
        own = mail.sender == sender
        first = float(mail.time[own & refused].min(initial=np.inf))
        if not np.isfinite(first) and float(mail.time[own].max()) < when + 300:
            continue  # it was over
        passed = int((own & ~refused & (mail.time < first)).sum())
        found.append(Reaction(max(0.0, first - when), passed))
    return found
