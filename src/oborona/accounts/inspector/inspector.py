"""The inspector at work: takes excesses, rates the account, decides, and writes all of it down.

    excess → account (known by its first excess, if by nothing else) → does it belong to an incident
    that is open? → rating of this moment → decision → incident, actions and state at once

In shadow mode, or of a limit in shadow mode, decisions are written and nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Final

import msgspec

from oborona.accounts.account import Account, AccountRecord, NetworkRole
from oborona.accounts.excess import STRANGERS_DO, Excess, check_excess
from oborona.accounts.excess_runs import ExcessRun
from oborona.accounts.incidents.store import INSPECTOR, IncidentStore
from oborona.accounts.inspector.decision import (
    AccountSituation,
    HeldBack,
    IncidentLine,
    InspectorDecision,
    InspectorRules,
    decide_incident,
)
from oborona.accounts.store.ratings import rate_account
from oborona.config.inspector import InspectorSettings
from oborona.policy.account_tests import AccountTests

MINUTE_S, HOUR_S = 60.0, 3600.0
_DONE: Final = {
    IncidentLine.TRUSTED: "it is trusted",
    IncidentLine.CONFIDENT: "its rating leaves no doubt",
    IncidentLine.DUTY: "a person decides",
    IncidentLine.BAN: "it is banned",
}


class Inspector:
    """An `ExcessSink`; for one thread at a time.

    Args:
        store: the file of accounts.
        tests: of the policy in force, asked at each excess.
        rules: the lines of the site.
        live: decisions are carried out; else they are written alone.
        clock: Unix seconds.
    """

    def __init__(
        self,
        store: IncidentStore,
        tests: Callable[[], AccountTests],
        rules: InspectorRules,
        *,
        live: bool,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._tests = tests
        self._rules = rules
        self._live = live
        self._clock = clock

    def take(self, excess: Excess) -> None:
        """Judge an excess, and write down what follows.

        Raises:
            WrongExcess: as of `check_excess`.
            StoreError: it can't be written down.
        """
        check_excess(excess)
        now = self._clock()
        account = self._account(excess.account, now)
        if self._store.joined(excess, account.id) is not None:
            return
        rating = rate_account(self._store, account, self._tests(), now).value
        week, bans = self._store.counts(account.id, now)
        registered = account.registration.time if account.registration else 0.0
        situation = AccountSituation(
            trusted=account.trusted(now),
            rating=rating,
            incidents_week=week + 1,
            bans_hour=bans,
            known_since=account.since or registered,
            role=role_of(account, excess.address),
            by_strangers=excess.metric in STRANGERS_DO,
        )
        decision = decide_incident(situation, self._rules, now)
        shadow = excess.shadow or not self._live
        self._store.open_incident(
            excess,
            account,
            decision,
            rating=rating,
            say=_say(decision, rating, shadow=shadow),
            told=f"{excess.metric} over the limit {excess.limit}"[:200],
            shadow=shadow,
            second_at=now + self._rules.second_after_s,
            now=now,
        )

    def take_run(self, run: ExcessRun) -> None:
        """Judge excesses that are one run; see `take`."""
        self.take(run.first)
        account = self._store.find(run.first.account)
        if run.times > 1 and account is not None:
            latest = msgspec.structs.replace(run.first, at=run.last, value=run.value)
            self._store.joined(latest, account.id, times=run.times - 1)

    def _account(self, name: str, now: float) -> Account:
        account = self._store.find(name)
        if account is not None:
            return account
        born = AccountRecord(id=name.lower(), logins=(name.lower(),))
        self._store.put([born], by=INSPECTOR, now=now)
        account = self._store.find(name)
        assert account is not None, "it was put a moment ago, and only people forget accounts"
        return account


def inspector_rules(settings: InspectorSettings) -> InspectorRules:
    """Return the lines that a site has set."""
    return InspectorRules(
        confident=settings.confident,
        ban=settings.ban,
        many_incidents=settings.many_incidents,
        ban_s=settings.ban_hours * HOUR_S,
        limited_s=settings.ban_hours * HOUR_S,
        most_bans_an_hour=settings.most_bans_an_hour,
        second_after_s=settings.second_after_min * MINUTE_S,
    )


def role_of(account: Account, address: str) -> NetworkRole:
    """Return what the machine at an address of an account is: of the narrowest network."""
    try:
        sender = ip_address(address)
    except ValueError:
        return NetworkRole.HOST
    around = [
        (ip_network(of.network).prefixlen, of.role)
        for of in account.networks
        if sender in ip_network(of.network)
    ]
    return max(around, key=lambda one: one[0])[1] if around else NetworkRole.HOST


def _say(decision: InspectorDecision, rating: int, *, shadow: bool) -> str:
    words = f"rating {rating}: {_DONE[decision.line]}"
    if decision.held_back is not HeldBack.NOTHING:
        words += f"; it is not banned, for {decision.held_back}"
    if decision.line is IncidentLine.DUTY and decision.until:
        words += "; until then it is limited"
    return f"{words} (shadow: nothing is done)" if shadow else words
