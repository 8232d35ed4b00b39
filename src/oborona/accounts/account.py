"""Who sends from here: accounts, the customers who answer for them, and how they came to be."""

from __future__ import annotations

from enum import StrEnum

import msgspec

FULL_RATING = 100
"""The rating of an account that nothing speaks against."""


class AccountState(StrEnum):
    """What an account may do."""

    OPEN = "open"
    LIMITED = "limited"  # its mail is put off
    BANNED = "banned"  # its mail is refused


class NetworkRole(StrEnum):
    """What the machines of a network are; relays and mail exchangers are never banned."""

    HOST = "host"
    RELAY = "relay"
    MX = "mx"
    NAT = "nat"


class AccountNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """A network whose machines are an account's."""

    network: str  # canonical text, such as 192.0.2.0/28
    role: NetworkRole = NetworkRole.HOST


class Customer(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers for accounts."""

    id: str
    name: str = ""
    contact: str = ""


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of how an account came to be; empty texts are not known."""

    time: float = 0.0  # Unix seconds; 0 = not known
    address: str = ""  # that it was made from, canonical text
    country: str = ""  # of the address, ISO 3166-1 alpha-2, upper case
    mail: str = ""
    phone: str = ""  # as it was given
    user_name: str = ""
    payment: str = ""  # such as card, virtual card, paypal; lower case
    payment_country: str = ""
    source: str = ""  # that told us


class AccountRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An account as a source of registrations tells it."""

    id: str
    logins: tuple[str, ...]  # lower case
    customer: Customer | None = None
    name: str = ""
    since: float = 0.0  # Unix seconds; 0 = not known
    networks: tuple[AccountNetwork, ...] = ()
    registration: Registration | None = None


class Trust(msgspec.Struct, frozen=True, kw_only=True):
    """The word of a person that an account is what it seems to be: it is never banned."""

    by: str
    at: float  # Unix seconds
    until: float  # Unix seconds; 0 = for ever
    why: str

    def in_force(self, now: float) -> bool:
        """Tell whether it counts at Unix time `now`."""
        return self.until == 0.0 or now < self.until


class AccountBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Why mail of an account is not taken."""

    account: str
    state: AccountState  # limited or banned
    until: float  # Unix seconds; 0 = until a person says
    why: str  # told to the sender
    by: str = ""
    incident: int = 0  # 0 = a person did it

    def in_force(self, now: float) -> bool:
        """Tell whether it counts at Unix time `now`."""
        return self.until == 0.0 or now < self.until


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account, as the store knows it."""

    id: str
    name: str
    since: float  # Unix seconds, when it was made; 0 = not known
    first_seen: float  # Unix seconds, when it was first told
    rating: int
    customer: Customer | None
    logins: tuple[str, ...]
    networks: tuple[AccountNetwork, ...]
    registration: Registration | None
    trust: Trust | None  # in force or over
    block: AccountBlock | None  # in force or over

    @property
    def customer_id(self) -> str:
        """Who answers for it; empty: nobody."""
        return "" if self.customer is None else self.customer.id

    def is_of(self, scope: str) -> bool:
        """Tell whether it is a customer's; all accounts are of the empty one."""
        return not scope or self.customer_id == scope

    def trusted(self, now: float) -> bool:
        """Tell whether a person's trust is in force at Unix time `now`."""
        return self.trust is not None and self.trust.in_force(now)

    def state(self, now: float) -> AccountState:
        """Return what it may do at Unix time `now`."""
        if self.block is None or not self.block.in_force(now):
            return AccountState.OPEN
        return self.block.state
