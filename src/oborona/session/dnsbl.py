"""The DNS lists of a worker: all queried at once, trusted while they are healthy, probed
periodically.

Each worker probes for itself, so that it learns how a list answers on the path that its own queries
take.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from oborona.dns import DnsAnswer, DnsAsker, DnsType
from oborona.metrics import Counter, Gauge
from oborona.reputation.dnsbl import (
    DnsblFailure,
    DnsblHealth,
    DnsblInputs,
    DnsblListing,
    DnsblQuestion,
    DnsblState,
    DnsblStateChange,
    DnsList,
    questions,
    read,
)
from oborona.reputation.networks import NetworkSet
from oborona.telemetry.log import event
from oborona.telemetry.status import ListStatus

PROBE_S: Final = 1.0  # between looks at which probes are due
AT_START_S: Final = 3.0  # a worker waits so long for the first probes before it serves

HEALTHY: Final = Gauge(
    "oborona_dns_list_healthy",
    "1 while the worker trusts a DNS list; at 0 the list counts nothing.",
    ("list",),
)
QUESTIONS: Final = Counter(
    "oborona_dns_list_questions", "Questions to a DNS list by outcome.", ("list", "outcome")
)

log = logging.getLogger("oborona.lists")


class DnsblResult(msgspec.Struct, frozen=True, kw_only=True):
    """What lists said of something."""

    listings: tuple[DnsblListing, ...] = ()
    unanswered: tuple[str, ...] = ()  # names of the lists that gave no answer


class _ListTally:
    """How often a list was asked, and what came of it."""

    __slots__ = ("asked", "listed", "unanswered")

    def __init__(self) -> None:
        self.asked = self.listed = self.unanswered = 0


class DnsblClient:
    """All lists of a worker's policy.

    Args:
        asker: for probes; it should have no budget.
        own: networks of the site.
        clock: seconds, monotonic.
        wall: Unix seconds, for people.
    """

    def __init__(
        self,
        asker: DnsAsker,
        own: NetworkSet,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        self._asker = asker
        self._own = own
        self._clock = clock
        self._wall = wall
        self._health = DnsblHealth()
        self._followed: tuple[DnsList, ...] = ()
        self._tallies: dict[str, _ListTally] = {}
        HEALTHY.set_function(
            lambda: {
                (list_state.name,): list_state.state is DnsblState.HEALTHY
                for list_state in self._health.states()
            }
        )
        QUESTIONS.set_function(self._questions)

    async def look(
        self, inputs: DnsblInputs, lists: Sequence[DnsList], asker: DnsAsker
    ) -> DnsblResult:
        """Ask all lists that are well about everything that is known, at once.

        Args:
            inputs: what is known and was not asked about before.
            lists: of the policy.
            asker: with the budget of the message.
        """
        to_ask = questions(lists, inputs, self._own, self._health.asks)
        if not to_ask:
            return DnsblResult()
        answers = await asyncio.gather(
            *(asker.ask(question.name, DnsType.A) for question in to_ask)
        )
        listings: list[DnsblListing] = []
        unanswered: list[str] = []
        for question, answer in zip(to_ask, answers, strict=True):
            self._note_answer(question, answer)
            tally = self._tallies.setdefault(question.list.name, _ListTally())
            tally.asked += 1
            match read(question, answer):
                case DnsblListing() as listing:
                    tally.listed += 1
                    listings.append(listing)
                case DnsblFailure(name=name):
                    tally.unanswered += 1
                    unanswered.append(name)
        return DnsblResult(listings=tuple(listings), unanswered=tuple(dict.fromkeys(unanswered)))

    async def watch(self, lists: Callable[[], tuple[DnsList, ...]]) -> None:
        """Probe the lists of the policy in use, for ever.

        Args:
            lists: those of the moment.
        """
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                task = asyncio.create_task(self.probe(lists()))
                running.add(task)
                task.add_done_callback(running.discard)
                await asyncio.sleep(PROBE_S)
        finally:
            for task in running:
                task.cancel()

    async def probe(self, lists: tuple[DnsList, ...]) -> None:
        """Ask the probes that are due.

        Each list is judged as soon as it has answered, whatever the others do.
        """
        if lists is not self._followed:
            self._followed = lists
            self._health.follow(lists)
        await asyncio.gather(*map(self._probe, self._health.due(self._clock())))

    async def _probe(self, question: DnsblQuestion) -> None:
        self._note_answer(question, await self._asker.ask(question.name, DnsType.A))

    def statuses(self) -> dict[str, ListStatus]:
        """Return how every list does."""
        by_list = {}
        for list_state in self._health.states():
            since = self._wall() - (self._clock() - list_state.since) if list_state.since else 0.0
            by_list[list_state.name] = ListStatus(
                state=list_state.state.value, since=since, why=list_state.why
            )
        return by_list

    def _questions(self) -> dict[tuple[str, str], int]:
        """Return how often each list was asked, by what it said."""
        counts = {}
        for list_state in self._health.states():
            tally = self._tallies.get(list_state.name, _ListTally())
            counts[list_state.name, "listed"] = tally.listed
            counts[list_state.name, "unanswered"] = tally.unanswered
            counts[list_state.name, "unlisted"] = tally.asked - tally.listed - tally.unanswered
        return counts

    def _note_answer(self, question: DnsblQuestion, answer: DnsAnswer) -> None:
        changed = self._health.heard(question, answer, self._clock())
        if changed is not None:
            _say(changed)


def _say(changed: DnsblStateChange) -> None:
    if changed.state is DnsblState.SICK:
        event(
            log,
            logging.WARNING,
            "DNS list counts nothing until it is well",
            list=changed.name,
            why=changed.why,
        )
    else:
        event(log, logging.INFO, "DNS list is well", list=changed.name)
