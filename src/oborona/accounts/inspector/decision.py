"""What becomes of an account that went over a limit: one table, and what holds a ban back.

    trusted?  rating                line        then
    yes                             trusted     it is written down
    no        `confident` and more  confident   it is written down
    no        `ban` and more        duty        an alert; after several in a week it is limited
    no        below `ban`           ban         an alert, and it is banned

The limit itself holds, refuses or puts off at once, whoever it is: that protects.  This judges the
account.  Every block has an end, and one command takes it back.  For what strangers can do to
anybody none is banned or limited.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from oborona.accounts.account import AccountState, NetworkRole

NEVER_BANNED: Final = frozenset({NetworkRole.RELAY, NetworkRole.MX})


class IncidentLine(StrEnum):
    """Between which lines an account was."""

    TRUSTED = "trusted"
    CONFIDENT = "confident"
    DUTY = "duty"
    BAN = "ban"


class HeldBack(StrEnum):
    """Why an account is not banned whose rating is below the line."""

    NOTHING = ""
    ROLE = "its address is a relay or mail exchanger"
    STRANGERS = "strangers can do that to anybody"
    UNKNOWN = "nothing is known of how long it has been here"
    MANY = "too many accounts were banned within an hour"


class InspectorRules(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a site."""

    confident: int = 70
    ban: int = 30
    many_incidents: int = 3
    ban_s: float = 24 * 3600.0
    limited_s: float = 24 * 3600.0
    most_bans_an_hour: int = 5
    second_after_s: float = 30 * 60.0  # that nobody looks after an incident


class AccountSituation(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an account that went over a limit."""

    trusted: bool
    rating: int
    incidents_week: int  # of the duty's line, this one included
    bans_hour: int  # of the inspector, of all accounts
    known_since: float  # Unix seconds; 0 = nobody knows
    role: NetworkRole = NetworkRole.HOST  # of the address that sent
    by_strangers: bool = False  # what is too much is not its own doing


class InspectorDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done."""

    line: IncidentLine
    alert: bool = False
    state: AccountState = AccountState.OPEN  # that the account gets; open: it keeps its own
    until: float = 0.0  # Unix seconds, of the state
    held_back: HeldBack = HeldBack.NOTHING


def decide_incident(
    situation: AccountSituation, rules: InspectorRules, now: float
) -> InspectorDecision:
    """Return what becomes of an account that is over a limit at Unix time `now`."""
    if situation.trusted:
        return InspectorDecision(line=IncidentLine.TRUSTED)
    if situation.rating >= rules.confident:
        return InspectorDecision(line=IncidentLine.CONFIDENT)
    if situation.rating < rules.ban:
        held_back = _held_back(situation, rules)
        if held_back is HeldBack.NOTHING:
            return InspectorDecision(
                line=IncidentLine.BAN,
                alert=True,
                state=AccountState.BANNED,
                until=now + rules.ban_s,
            )
        return InspectorDecision(line=IncidentLine.DUTY, alert=True, held_back=held_back)
    if situation.incidents_week >= rules.many_incidents and not situation.by_strangers:
        return InspectorDecision(
            line=IncidentLine.DUTY,
            alert=True,
            state=AccountState.LIMITED,
            until=now + rules.limited_s,
        )
    return InspectorDecision(line=IncidentLine.DUTY, alert=True)


def _held_back(situation: AccountSituation, rules: InspectorRules) -> HeldBack:
    if situation.by_strangers:
        return HeldBack.STRANGERS
    if situation.role in NEVER_BANNED:
        return HeldBack.ROLE
    if not situation.known_since:
        return HeldBack.UNKNOWN
    if situation.bans_hour >= rules.most_bans_an_hour:
        return HeldBack.MANY
    return HeldBack.NOTHING
