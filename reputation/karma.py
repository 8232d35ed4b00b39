"""Karma: one number for who stands behind a message, -100 to 100, from all that is remembered.

Its parts add up to it.

    part       at trust -100    at +100
    account      -50             +50     the login, of our own people
    author       -50             +50     the address in From, proved
    sender       -25             +50     MAIL FROM, proved; for a message only where it has no
                 proved author
    domain       -25             +25     the author's domain, proved
    address      -25             +25     of the client (RepIP)
    network      -10             +10     its /24 or /64
    system        -5              +5     its autonomous system
    entities     -50               0     the worst link, telephone, wallet, attachment, picture

What is around a sender speaks for him no louder than his own past does: what domain, address,
network and system add above 0 is at most what account, author or sender adds.  So nobody is good at
first sight, wherever he writes from; and who writes another's name into From, which proves nothing,
gains nothing by it.  What speaks against a message counts whoever it is about.

Nothing known is 0.  A further pardon or good message never lowers karma, a further spam verdict,
complaint or trap hit never raises it.  An analyst's pin stands in the place of the trust of what it
speaks of: good 100, poor -50, bad -100, unknown 0.
"""

from __future__ import annotations

from typing import Final

import msgspec

from oborona.reputation.entity import EntityStanding
from oborona.reputation.flag import ReputationFlag

ACCOUNT: Final = 50.0  # points at a trust of 100
AUTHOR: Final = 50.0
SENDER: Final = 50.0
SENDER_BAD: Final = 25.0  # at a trust of -100
DOMAIN: Final = 25.0
ADDRESS: Final = 25.0
NETWORK: Final = 10.0
SYSTEM: Final = 5.0
ENTITIES: Final = 50.0
LEAST: Final = 0.5  # points; what is less is not told
PINNED: Final = {
    ReputationFlag.GOOD: 100.0,
    ReputationFlag.UNKNOWN: 0.0,
    ReputationFlag.POOR: -50.0,
    ReputationFlag.BAD: -100.0,
}
"""The trust that a pin gives."""


_Part = tuple[str, float, EntityStanding]


class KarmaPart(msgspec.Struct, frozen=True):
    """What one reputation adds to karma."""

    name: str
    points: float
    say: str = ""


class Karma(msgspec.Struct, frozen=True, kw_only=True):
    """One number from all reputations."""

    value: int = 0  # -100 to 100
    # heaviest first; together they may be more than what `value` is cut to
    parts: tuple[KarmaPart, ...] = ()

    @property
    def say(self) -> str:
        """The parts in words: `author +31 (2 spam of 90), entities -12 (...)`."""
        return ", ".join(
            f"{part.name} {part.points:+.0f}{f' ({part.say})' if part.say else ''}"
            for part in self.parts
        )


class KarmaInputs(msgspec.Struct, frozen=True, kw_only=True):
    """All that karma is made of; what is not proved, or not known, stands for nothing."""

    account: EntityStanding = EntityStanding()
    author: EntityStanding = EntityStanding()
    sender: EntityStanding = EntityStanding()
    domain: EntityStanding = EntityStanding()
    address: EntityStanding = EntityStanding()
    network: EntityStanding = EntityStanding()
    system: EntityStanding = EntityStanding()
    entities: EntityStanding = EntityStanding()
    has_author: bool = False  # there is a proved author, known or not


def karma(of: KarmaInputs) -> Karma:
    """Return the karma of who stands behind a message.

    Args:
        of: what is remembered.
    """
    sender = min(of.sender.trust, 0.0) if of.has_author else of.sender.trust
    past = vouched = 0.0
    own: list[_Part] = []
    around: list[_Part] = []
    # most of what may stand behind a message is not known, and costs a look
    for name, trust, good, bad, by in (
        ("account", of.account.trust, ACCOUNT, ACCOUNT, of.account),
        ("author", of.author.trust, AUTHOR, AUTHOR, of.author),
        ("sender", sender, SENDER, SENDER_BAD, of.sender),
        ("entities", min(of.entities.trust, 0.0), 0.0, ENTITIES, of.entities),
    ):
        if trust:
            points = trust / 100 * (good if trust > 0 else bad)
            past += max(points, 0.0)
            own.append((name, points, by))
    for name, by, most in (
        ("domain", of.domain, DOMAIN),
        ("address", of.address, ADDRESS),
        ("network", of.network, NETWORK),
        ("system", of.system, SYSTEM),
    ):
        if by.trust:
            points = by.trust / 100 * most
            vouched += max(points, 0.0)
            around.append((name, points, by))
    loudest = min(1.0, past / vouched) if vouched else 1.0
    parts = own + [
        (name, points * loudest if points > 0 else points, by) for name, points, by in around
    ]
    total = sum([points for _, points, _ in parts])
    telling = sorted(
        [part for part in parts if abs(part[1]) >= LEAST], key=lambda part: -abs(part[1])
    )
    return Karma(
        value=round(max(-100.0, min(100.0, total))),
        parts=tuple([KarmaPart(name, points, by.say) for name, points, by in telling]),
    )
