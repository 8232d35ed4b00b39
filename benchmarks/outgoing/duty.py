"""The people of the site: they switch limits on, look after alerts and at what is held, and are
right whenever they look.
"""

from __future__ import annotations

import heapq
import math
from random import Random

from benchmarks.outgoing.letter import DAY_S, HOUR_S, is_workday
from benchmarks.outgoing.site import CONTENT, MAILING, START, Site
from benchmarks.outgoing.world import DAYS, LEARNING, World
from oborona.accounts.account import AccountBlock, AccountState, Trust
from oborona.accounts.incidents.incident import IncidentVerdict

BY = "duty"
WAKES, SLEEPS = 8.0, 22.0  # hours


class Duty:
    """Whoever looks after the site.

    Args:
        site: it is.
        world: says how soon they come.
        seed: of their chance.

    Attributes:
        ticks: moments at which they come, seconds from the first midnight.
        excused: accounts that they let write to many.
        begun: accounts that have sent spam, which whoever looks sees.
    """

    def __init__(self, site: Site, world: World, seed: int) -> None:
        self._site, self._world = site, world
        self._rng = Random(f"duty {seed}")  # noqa: S311 - no secret
        self._alerted: list[tuple[float, str]] = []  # when somebody looks after an account
        self._last = 0  # incident that they were told of
        self._held: dict[str, set[str]] = {}  # by account: what held its mail
        self.excused: set[str] = set()
        self.begun: set[str] = set()
        rounds = [
            (day + hour / 24) * DAY_S
            for day in range(DAYS)
            for hour in (world.rounds if is_workday(day) else world.rounds[:1])
        ]
        # alerts are asked for every five minutes
        self.ticks = [*rounds, *(step * 300.0 for step in range(DAYS * 288))]
        self._rounds = set(rounds)

    def held(self, login: str, by: str) -> None:
        """Note that mail of an account is held, and by what."""
        self._held.setdefault(login, set()).add(by)

    def come(self, at: float) -> None:
        """Look at what is there, at seconds from the first midnight."""
        site = self._site
        if at >= LEARNING * DAY_S and not site.policies.live:
            self._switch_on(at)
        for incident in site.store.after(self._last):
            self._last = incident.id
            if incident.line in ("duty", "ban") and site.policies.live:
                heapq.heappush(self._alerted, (self._looks_at(at), incident.account))
        while self._alerted and self._alerted[0][0] <= at:
            self._look(heapq.heappop(self._alerted)[1], at)
        if at in self._rounds:
            held, self._held = self._held, {}
            for login in sorted(held):
                self._look(
                    login, at, mailer=MAILING in held[login], content=held[login] == {CONTENT}
                )

    def _switch_on(self, at: float) -> None:
        """Excuse whom the limits would have held in the weeks before, and make them live."""
        site = self._site
        for incident in site.store.incidents():
            if incident.then == "hold":
                self._look(incident.account, at)
        site.policies.live = True
        site.policies.load()

    def _looks_at(self, at: float) -> float:
        at += self._rng.lognormvariate(math.log(self._world.alert_h), 1.0) * HOUR_S
        hour = at % DAY_S / HOUR_S
        if hour < WAKES:
            return at // DAY_S * DAY_S + WAKES * HOUR_S
        return at if hour < SLEEPS else (at // DAY_S + 1) * DAY_S + WAKES * HOUR_S

    def _look(
        self, account: str, at: float, *, mailer: bool = False, content: bool = False
    ) -> None:
        """Look after an account.

        Args:
            account: its login.
            at: seconds from the first midnight.
            mailer: a mailing of it was held.
            content: its mail was held for nothing but its content.
        """
        site, now = self._site, START + at
        spammer = site.senders.spammers.get(account)
        spam = account in self.begun
        verdict = IncidentVerdict.SPAM if spam else IncidentVerdict.NOT_SPAM
        for incident in site.store.incidents(account=account, closed=False):
            site.store.close_incident(incident.id, verdict, by=BY, note="", now=now)
        if spam and spammer is not None and not spammer.closed:
            spammer.closed = True
            if spammer.kind != "stolen":  # of a stolen one the password is changed
                for login in [
                    each for each, who in site.senders.spammers.items() if who is spammer
                ]:
                    block = AccountBlock(
                        account=login, state=AccountState.BANNED, until=0.0, why="spam", by=BY
                    )
                    site.store.block(block, now=now)
            else:
                site.store.unblock(account, by=BY, why="its password was changed", now=now)
        elif not spam and not content and account not in self.excused:
            self.excused.add(account)
            site.store.trust(account, Trust(by=BY, at=now, until=0.0, why="it is theirs"))
        if not spam and mailer and account not in site.policies.mailers:
            site.policies.mailers.add(account)
            site.policies.load()
        site.accounts_changed()
