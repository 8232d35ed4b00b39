"""What a version of the feed that is offered leads to: pure."""

from __future__ import annotations

from enum import StrEnum

from oborona.desk.feed.manifest import FeedManifest
from oborona.desk.feed.record import FeedRecord


class FeedStep(StrEnum):
    """What is done about an offer."""

    TRIAL = "trial"  # it is put on trial, and waits for its time
    LIVE = "live"  # it judges
    WAITED = "waited"  # one that has waited judges
    WAITS = "waits"  # one waits; newer ones wait behind it
    DROPPED = "dropped"  # one that waited was withdrawn, and nothing takes its place
    SHIPPED = "shipped"  # the program that ships has all of it, and is newer: it goes
    HELD = "held"  # it was rolled back
    NOTHING = "nothing"  # it is in force

    @property
    def takes_files(self) -> bool:
        """Whether the files of the offer are needed."""
        return self in (FeedStep.TRIAL, FeedStep.LIVE)


def next_step(
    record: FeedRecord,
    offered: FeedManifest,
    moment: float,
    *,
    now: bool,
    shadowed: bool,
    shipped: bool,
) -> FeedStep:
    """Return what is to be done.

    Args:
        record: what is known.
        offered: by the feed.
        moment: Unix seconds.
        now: who asks wants the newest to judge at once.
        shadowed: new versions are tried before.
        shipped: what ships is newer and has all of it.
    """
    waiting, version = record.waiting, offered.version
    dropped = waiting is not None and waiting.version in offered.withdrawn
    if waiting is not None and not dropped and not (now and version > waiting.version):
        return FeedStep.WAITED if now or moment >= waiting.until else FeedStep.WAITS
    idle = FeedStep.DROPPED if dropped else FeedStep.NOTHING
    if shipped:
        return FeedStep.SHIPPED if record.live or dropped else idle
    if version == record.live:
        return idle
    if version <= record.held and not now:
        return idle if dropped else FeedStep.HELD
    # what its maker has withdrawn does harm for as long as it judges
    at_once = now or not shadowed or record.live in offered.withdrawn
    return FeedStep.LIVE if at_once else FeedStep.TRIAL
