"""The `[[limit]]` tables of policy files: how much our own people and machines may send.

[[limit]]
name   = "HOURLY_RECIPIENTS"
each   = "account"
count  = "recipients"
window = "hour"
limit  = "max(200, 5 * usual)"
then   = "hold"
unless = "login == 'newsletter@example.org'"
mode   = "shadow"

`limit` and `unless` are expressions over `LIMIT_FACTS`.  What is counted where, and when a limit is
passed, stands in `oborona.accounts.limits`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.named_tables import MAX_TEXT, Enabled, Name, TableSort, Why
from oborona.types import RuleMode

MAX_LIMITS: Final = 100  # each costs a part of a microsecond for every message of our own
MAX_AMOUNT: Final = 10**12  # of octets in a fortnight, a hundred times what people send
MAX_SAY: Final = 200  # characters: one line of an SMTP reply, with its reference and contact


class LimitSubject(StrEnum):
    """Whose mail a limit adds up."""

    ACCOUNT = "account"  # of one login
    DOMAIN = "domain"  # of all logins of one domain together
    CUSTOMER = "customer"  # of all accounts that one customer answers for
    ADDRESS = "address"  # of one client address, with a login or without
    NETWORK = "network"  # of the narrowest network of an account around the client
    ALL = "all"  # of all our people and machines together


class LimitCount(StrEnum):
    """What a limit counts."""

    MESSAGES = "messages"  # that were taken
    RECIPIENTS = "recipients"  # of messages that were taken
    OCTETS = "octets"  # of messages that were taken
    NEW_RECIPIENTS = "new_recipients"  # whom the account had not written to for two weeks
    FIRST_CONTACTS = "first_contacts"  # messages none of whose recipients had mail from the sender
    ADDRESSES = "addresses"  # client addresses of the account, each once a day
    COUNTRIES = "countries"  # that these are in, each once a day
    SPAM = "spam"  # messages judged to be spam, refused ones included
    BOUNCES = "bounces"  # recipients whom messages did not reach, as their servers say
    UNKNOWN_USERS = "unknown_users"  # those of them who have no mailbox
    COMPLAINTS = "complaints"  # believed words of people that a message was spam
    FAILED_LOGINS = "failed_logins"  # wrong passwords, as the mail server that asked for them says
    TRAPS = "traps"  # messages to addresses that no person uses


class LimitWindow(StrEnum):
    """How far back a limit looks, in the windows of the counters."""

    RECENT = "recent"  # ten minutes
    HOUR = "hour"
    DAY = "day"
    FORTNIGHT = "fortnight"


class LimitAction(StrEnum):
    """What becomes of a message that passes a limit; mildest first."""

    ALERT = "alert"  # it goes on
    TEMPFAIL = "tempfail"  # 451: it comes again
    HOLD = "hold"  # taken, and held until somebody releases it
    REFUSE = "refuse"  # 550

    @property
    def order(self) -> int:
        """0 for alert to 3 for refuse: the gravest of several is done."""
        return _ORDER[self]


_ORDER: Final = {action: order for order, action in enumerate(LimitAction)}


class LimitTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[limit]]` table; this is their only list."""

    name: Name
    each: (
        Annotated[
            LimitSubject,
            Meta(
                description="Whose mail is added up: of one login, of the logins of a domain, or "
                "the accounts of a customer, together, of one client address, of an account's "
                "network, or of all of ours."
            ),
        ]
        | UnsetType
    ) = UNSET
    count: (
        Annotated[
            LimitCount,
            Meta(description="What is counted; messages, recipients and octets as accepted."),
        ]
        | UnsetType
    ) = UNSET
    window: (
        Annotated[
            LimitWindow,
            Meta(description="How far back: ten minutes, an hour, a day, fourteen days."),
        ]
        | UnsetType
    ) = UNSET
    limit: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=MAX_AMOUNT,
                description="So much is allowed; what goes beyond passes the limit. A text is a "
                "formula: a number of login, domain, client.ip, sender, recipients, sent, "
                "sent_most, elsewhere, usual, age_days, trusted, rating, age, customer.",
                extra={
                    "allowed": 'a number, or a formula in quotes, such as "max(200, 5 * usual)"'
                },
            ),
        ]
        | Annotated[str, Meta(max_length=MAX_TEXT)]
        | UnsetType
    ) = UNSET
    then: (
        Annotated[
            LimitAction,
            Meta(
                description="What becomes of a message beyond it: alert lets it go and says so, "
                "tempfail puts it off, hold keeps it until somebody decides, refuse tells the "
                "sender."
            ),
        ]
        | UnsetType
    ) = UNSET
    unless: (
        Annotated[
            str,
            Meta(max_length=MAX_TEXT, description="A condition under which it does not hold."),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: logged and counted, does nothing.")]
        | UnsetType
    ) = UNSET
    say: (
        Annotated[
            str,
            Meta(
                max_length=MAX_SAY,
                pattern=r"\A[ -$&-~]*\Z",
                description="What the sender is told, in the place of the usual words.",
                extra={"allowed": f"printable ASCII without %, at most {MAX_SAY} characters"},
            ),
        ]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


LIMITS: Final = TableSort(
    "limit",
    "limit",
    LimitTable,
    MAX_LIMITS,
    (("each",), ("count",), ("window",), ("limit",), ("then",)),
)
