"""Logins that failed, as the mail server reports them that asks for passwords: counted for the
account, and put under limits at once.

Strangers make them, and not the account: what is passed is told, and an inspector bans nobody for
it.  Names that no account has are guessed, too, and not all mail servers tell which these are: they
are counted, and told by nobody.
"""

from __future__ import annotations

import logging

from oborona.accounts.account import AccountState
from oborona.accounts.limits.report import report_passed
from oborona.accounts.limits.reported_counts import failed_logins_key
from oborona.doors.login_attempt import LoginAttempt
from oborona.session.limit_report import hand_over_excesses
from oborona.session.outgoing_limits import account_of, rule_on_failed_login
from oborona.session.services import SessionServices
from oborona.telemetry.log import event
from oborona.types import (
    Amounts,
    Client,
    CountedPieces,
    CounterPrefix,
    Envelope,
    Metric,
    Stage,
    Window,
)

log = logging.getLogger("oborona.accounts")


class LoginWatch:
    """A `LoginObserver`.

    Args:
        services: of the worker.
    """

    def __init__(self, services: SessionServices) -> None:
        self._services = services

    def forbids(self, login: str) -> bool:
        """Tell whether an account is banned."""
        block = self._services.accounts.of(login, self._services.clock())
        return block is not None and block.state is AccountState.BANNED

    async def failed(self, attempt: LoginAttempt) -> bool:
        """Count a login that failed, and try limits on it; never raises."""
        try:
            await self._count(attempt)
        except Exception:
            log.exception("fault in counting a failed login")  # which nobody's login hangs on
            return False
        return True

    async def _count(self, attempt: LoginAttempt) -> None:
        services, now = self._services, self._services.clock()
        envelope = Envelope(client=Client(ip=attempt.address), login=attempt.login, own=True)
        ruling = await rule_on_failed_login(services, services.policy.current, envelope, now)
        key = failed_logins_key(attempt.login.lower(), services.site.hasher)
        pieces = CountedPieces(shingles=(key,), pairs=())
        services.counters.add(pieces, Amounts(seen=1), now, CounterPrefix.OUT)
        services.written(now)
        event(
            log,
            logging.INFO,
            "failed login",
            login=attempt.login,
            client=attempt.address,
            protocol=attempt.protocol,
        )
        if ruling.passed and await self._is_account(envelope, now):
            hand_over_excesses(services, ruling, envelope, None, now)
            report_passed(ruling, envelope, services.numbers.next(now), Stage.CONNECT)

    async def _is_account(self, envelope: Envelope, now: float) -> bool:
        """Tell whether there is such an account: it was imported, or has sent mail lately."""
        services = self._services
        if services.known_accounts.sender(envelope.login, "") is not None:
            return True
        keys = (account_of(services, envelope),)
        (row,) = await services.site.counters.read(keys, now, CounterPrefix.SENT)
        return row[Window.FORTNIGHT][Metric.SEEN] > 0
