"""The shares that ship, over a mailing whose bounces and complaints come when they come: hours and
days after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from oborona.accounts.directory import AccountDirectory
from oborona.accounts.limits.decision import MessageAmounts, rule_on_limits
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.limits.reader import read_limits
from oborona.accounts.limits.reported_counts import bounce_pairs
from oborona.accounts.limits.subjects import facts_of, subject_shingle
from oborona.counters.memory import MemoryCounters
from oborona.message.delivery_status import FailedRecipient
from oborona.message.hashing import Hasher
from oborona.policy.accounting import record_sent
from oborona.policy.fact_table import SCHEMA
from oborona.policy.limit_table import LimitSubject
from oborona.policy.load import Policy, load_policy
from oborona.types import Amounts, Client, CountedPieces, CounterPrefix, Envelope, Shingle

DAY: Final = 86_400.0
HOUR: Final = 3600.0
NOW: Final = 1_795_000_000.0 // DAY * DAY + 10 * HOUR
HASHER: Final = Hasher(bytes(32))
NOBODY: Final = AccountDirectory()
NOTHING: Final = MessageAmounts(messages=0, recipients=0, octets=0)


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load_policy(Path(__file__).parents[3] / "etc/policy.d", SCHEMA)


class Mailer:
    """An account that sends, and of which others tell."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._memory = LimitMemory()
        self._counters = MemoryCounters()
        self._bounced = 0

    def sends(self, recipients: int, at: float) -> None:
        """Count a message that was taken."""
        record_sent((self._account(),), recipients, 9_000, self._counters, now=at)

    def complained(self, times: int, at: float) -> None:
        """Count words of people, as the trainer does."""
        for _ in range(times):
            pieces = CountedPieces(shingles=(self._account(),), pairs=())
            self._counters.add(pieces, Amounts(complaints=1), at, CounterPrefix.OUT)

    async def over_said(self, at: float) -> set[str]:
        """Return the limits on what people say that it is over."""
        return await self._over(at, NOTHING, said=True)

    async def bounces(self, unknown: int, at: float, *, of: int = 1) -> set[str]:
        """Have recipients without a mailbox come back, each of a message of `of` recipients; return
        the limits that it is over at the last.
        """
        over: set[str] = set()
        for _ in range(unknown):
            self._bounced += 1
            adds = MessageAmounts(bounces=1, unknown_users=1)
            over = await self._over(at, adds, said=False, recipients=of)
            failed = (FailedRecipient(f"x{self._bounced}@b.example", "5.1.1", unknown=True),)
            for only in (False, True):
                pairs = bounce_pairs("ann", self._bounced, failed, HASHER, unknown=only)
                pieces = CountedPieces(shingles=(), pairs=tuple(pairs))
                self._counters.add(pieces, Amounts(seen=1), at, CounterPrefix.OUT)
        return over

    async def _over(
        self, at: float, adds: MessageAmounts, *, said: bool, recipients: int = 1
    ) -> set[str]:
        plan = self._memory.plan(self._policy)
        wanted = plan.said if said else plan.bounced
        envelope = self._envelope(recipients)
        readings = await read_limits(
            self._memory, wanted, envelope, HASHER, self._counters, NOBODY, at
        )
        ruling = rule_on_limits(readings, adds, facts_of(envelope, NOBODY, at))
        assert not ruling.faults
        return {passed.limit.name for passed in ruling.passed}

    def _envelope(self, recipients: int = 1) -> Envelope:
        return Envelope(
            client=Client(ip="192.0.2.7"),
            sender="ann@a.example",
            recipients=tuple(f"r{number}@b.example" for number in range(recipients)),
            login="ann",
            own=True,
        )

    def _account(self) -> Shingle:
        found = subject_shingle(LimitSubject.ACCOUNT, self._envelope(), HASHER, NOBODY)
        assert found is not None
        return found


@pytest.fixture
def mailer(shipped: Policy) -> Mailer:
    return Mailer(shipped)


async def test_complaints_of_a_rare_mailing_come_over_days_and_are_judged_by_it(
    mailer: Mailer,
) -> None:
    """0.06 % in all is what large providers call good, on whichever day it is said."""
    mailer.sends(50_000, NOW)
    for day, number in enumerate((12, 11, 7)):
        mailer.complained(number, NOW + day * DAY + 2 * HOUR)
        assert await mailer.over_said(NOW + day * DAY + 2 * HOUR) == set(), day


@pytest.mark.parametrize(
    ("sent", "complaints", "over"),
    [
        (50_000, 50, set()),
        (50_000, 51, {"OWN_COMPLAINTS"}),
        (50_000, 151, {"OWN_COMPLAINTS", "OWN_COMPLAINTS_MANY"}),
        (100, 9, set()),  # ten at least
        (100, 10, {"OWN_COMPLAINTS", "OWN_COMPLAINTS_MANY"}),
    ],
)
async def test_complaints_are_a_share_of_what_was_sent(
    mailer: Mailer, sent: int, complaints: int, over: set[str]
) -> None:
    mailer.sends(sent, NOW)
    mailer.complained(complaints, NOW + 30 * HOUR)
    assert await mailer.over_said(NOW + 30 * HOUR) == over


async def test_an_account_that_was_quiet_is_judged_by_its_burst(mailer: Mailer) -> None:
    for day in range(10):
        mailer.sends(40, NOW - (10 - day) * DAY)
    mailer.sends(4_000, NOW)
    mailer.complained(13, NOW + HOUR)
    assert await mailer.over_said(NOW + HOUR) == {"OWN_COMPLAINTS", "OWN_COMPLAINTS_MANY"}


async def test_recipients_without_a_mailbox_that_come_back_late_are_no_list_that_was_bought(
    mailer: Mailer,
) -> None:
    """Servers that put mail off tell of some of 10,000 recipients hours later."""
    mailer.sends(10_000, NOW)
    assert await mailer.bounces(12, NOW + 3 * HOUR) == set()
    assert await mailer.bounces(12, NOW + DAY) == set()


@pytest.mark.parametrize(
    ("sent", "unknown", "over"),
    [
        (49, 20, set()),  # of fifty at least
        (50, 5, set()),
        (50, 6, {"OWN_UNKNOWN_USERS"}),
        (500, 50, set()),
        (500, 51, {"OWN_UNKNOWN_USERS"}),
    ],
)
async def test_every_tenth_recipient_without_a_mailbox_is_told(
    mailer: Mailer, sent: int, unknown: int, over: set[str]
) -> None:
    mailer.sends(sent, NOW)
    assert await mailer.bounces(unknown, NOW + 60) == over


async def test_a_bounce_may_be_faster_than_the_count_of_its_message(mailer: Mailer) -> None:
    assert await mailer.bounces(6, NOW, of=60) == {"OWN_UNKNOWN_USERS"}
