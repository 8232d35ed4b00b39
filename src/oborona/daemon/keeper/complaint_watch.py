"""The keeper tries limits on complaints and traps when a label was counted against mail of an
account: the account may send nothing more by which they would be tried.

    labels that were counted → the journal's entry of each → its login → counts → who is over: log,
    metric, and an excess of the account, for the inspector

How far it has come stands in a file of its own, written after the excesses: a kill between the two
has some told again, which are the same incident.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.accounts.excess import ExcessSink
from oborona.accounts.limits.decision import MessageAmounts, rule_on_limits
from oborona.accounts.limits.memory import LimitMemory
from oborona.accounts.limits.reader import read_limits
from oborona.accounts.limits.report import excess_of, report_passed
from oborona.accounts.limits.subjects import facts_of
from oborona.atomic_file import write_atomically
from oborona.daemon.keeper.followed_directory import FollowedDirectory
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.doorbell import Doorbell
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_outbox import LabelCountNews, LabelOutbox
from oborona.journal.entry import JournalEntry
from oborona.journal.entry_finder import LazyEntryFinder
from oborona.message.hashing import Hasher
from oborona.policy.local_clients import direction_of_pieces
from oborona.policy.ports import CounterReader
from oborona.telemetry.log import event
from oborona.telemetry.trouble import TroubleNotice
from oborona.types import Client, CounterPrefix, Envelope, Stage

MERGED_S: Final = 2.0  # until the writer of the counters has what was handed over
AT_ONCE: Final = 500  # labels
_NOTHING: Final = MessageAmounts(messages=0, recipients=0, octets=0)

log = logging.getLogger("oborona.accounts")


class ComplaintWatch:
    """The watch of one keeper.

    Args:
        state: state folder.
        counters: gives them for a while.
        policy: whose limits are tried; asked when there is something to try.
        excesses: on the way to the inspector.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        counters: Callable[[], AbstractContextManager[CounterReader]],
        policy: Callable[[], PolicyInForce],
        excesses: ExcessSink,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._counters = counters
        self._labels = state / state_files.FEEDBACK
        self._place = state / state_files.COMPLAINTS_HEARD
        self._policy = policy
        self._excesses = excesses
        self._clock = clock
        self._memory = LimitMemory()
        self._journal = LazyEntryFinder(state / state_files.JOURNAL)
        self._accounts = FollowedDirectory(
            state / state_files.ACCOUNTS, log, "limits on complaints"
        )
        self._connection: FeedbackConnection | None = None
        self._waits = False  # there is something to do though no label comes
        self._hasher: Hasher | None = None
        self._trouble = TroubleNotice(
            "limits on complaints wait", "limits on complaints are tried again"
        )

    async def run(self) -> None:
        """Try them, for ever."""
        with Doorbell(self._labels, sqlite=True, anyway=lambda: self._waits) as bell:
            while True:
                await bell.rung()
                await self.step()

    async def step(self) -> None:
        """Try them on what is new; trouble is said once."""
        with self._trouble.noted():
            await self._look()
        if self._trouble.now:
            self._waits = True
            self._let_go()

    async def close(self) -> None:
        """Let the stores go."""
        self._let_go()
        self._accounts.close()
        await self._journal.close()

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _look(self) -> None:
        if self._connection is None:
            if not self._labels.exists():
                return
            self._connection = FeedbackConnection(self._labels, make=False)
        outbox = LabelOutbox(self._connection)
        place = self._known_place()
        if place is None or place > outbox.newest():  # from now on, or another file
            self._note(outbox.newest())
            return
        merged = self._clock() - MERGED_S
        labels = outbox.news(place, AT_ONCE)
        self._waits = bool(labels)  # for the counters, or for their turn
        news = [label for label in labels if label.time <= merged]
        if not news:
            return
        await self._try({label.journal: label for label in news if _is_against(label)})
        self._note(news[-1].place)

    async def _try(self, against: dict[int | None, LabelCountNews]) -> None:
        """Try limits on the accounts whose messages labels are against."""
        senders: dict[str, JournalEntry] = {}
        for number in against:
            entry = None if number is None else await self._journal.get(number)
            if entry is not None and entry.login:
                senders[entry.login.lower()] = entry
        for entry in senders.values():
            await self._try_account(entry)

    async def _try_account(self, entry: JournalEntry) -> None:
        policy = self._policy().latest()
        wanted = self._memory.plan(policy).said
        if not wanted.limits:
            return
        if self._hasher is None:
            self._hasher = Hasher(secret.load(self._state).shingles)
        now, accounts = self._clock(), self._accounts.latest()
        envelope = Envelope(
            client=Client(ip=entry.client_ip),
            sender=entry.sender,
            recipients=entry.recipients,
            login=entry.login,
            own=True,
        )
        with self._counters() as counters:
            readings = await read_limits(
                self._memory, wanted, envelope, self._hasher, counters, accounts, now
            )
        ruling = rule_on_limits(readings, _NOTHING, facts_of(envelope, accounts, now))
        for fault in ruling.faults:
            event(log, logging.WARNING, "fault", what=f"limit {fault}")
        for passed in ruling.passed:
            self._excesses.take(excess_of(passed, envelope, entry.id, now))
        report_passed(ruling, envelope, entry.id, Stage.RECHECK)

    def _known_place(self) -> int | None:
        try:
            return int(self._place.read_text())
        except (FileNotFoundError, ValueError):  # a file that says nothing begins anew
            return None

    def _note(self, place: int) -> None:
        write_atomically(self._place, str(place).encode())


def _is_against(label: LabelCountNews) -> bool:
    """Tell whether a label was counted against a message that an account sent."""
    spam = label.source is LabelSource.TRAP or label.kind is LabelKind.SPAM
    return (
        spam
        and label.wanted
        and label.journal is not None
        and direction_of_pieces(label.pieces) is CounterPrefix.OUT
    )
