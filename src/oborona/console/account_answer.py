"""What the desk tells of the site's own senders, as far as pages show it."""

from __future__ import annotations

import msgspec


class SenderCustomer(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers for an account."""

    id: str
    name: str = ""
    contact: str = ""


class SenderNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """A network of an account."""

    network: str
    role: str = "host"


class SenderTrust(msgspec.Struct, frozen=True, kw_only=True):
    """The word of a person for an account."""

    by: str
    until: float
    why: str


class SenderBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Why mail of an account is not taken."""

    state: str
    until: float
    why: str
    by: str = ""
    incident: int = 0


class SenderAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account."""

    id: str
    name: str = ""
    since: float = 0.0
    first_seen: float = 0.0
    rating: int
    customer: SenderCustomer | None = None
    logins: list[str] = []
    networks: list[SenderNetwork] = []
    trust: SenderTrust | None = None
    block: SenderBlock | None = None


class SenderStanding(msgspec.Struct, frozen=True, kw_only=True):
    """An account, and what it may do now."""

    account: SenderAccount
    state: str
    trusted: bool


class SenderPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some accounts."""

    accounts: list[SenderStanding]
    next: str | None = None


class SenderDeed(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody did to an account."""

    at: float
    by: str
    what: str
    until: float = 0.0
    why: str = ""


class SenderDetails(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of an account."""

    standing: SenderStanding
    deeds: list[SenderDeed] = []


class SenderPenalty(msgspec.Struct, frozen=True, kw_only=True):
    """What a test takes from a rating."""

    test: str
    points: int
    say: str
    mode: str
    at: float
    until: float


class SenderRating(msgspec.Struct, frozen=True, kw_only=True):
    """What a rating is made of."""

    rating: int
    penalties: list[SenderPenalty] = []


class HeldOutgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What is held of outgoing mail."""

    at: float
    number: int = 0
    oldest: float = 0.0
    accounts: list[tuple[str, int]] = []


class HeldOutgoingAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The same; None = it was never written down."""

    held: HeldOutgoing | None = None
