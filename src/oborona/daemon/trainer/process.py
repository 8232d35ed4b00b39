"""The runner of the event processor in the trainer's process: it opens the stores, and logs each
trouble once.

A store that can't be used stops nothing else: feedback waits in the log of events, and the store is
tried again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.config import Settings
from oborona.daemon.trainer.journal import FeedbackJournal
from oborona.daemon.trainer.lists import PersonalLists
from oborona.daemon.trainer.proposals import SignatureProposer
from oborona.daemon.trainer.turn import TrainerTurn
from oborona.errors import StoreError, StoreVersion
from oborona.eventlog.person_verdicts import opened_verdicts
from oborona.feedback.events.log import EventLog
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.entry_witness import EntryWitness
from oborona.feedback.processing.event_message import SiteHashing
from oborona.feedback.processing.event_processor import EventProcessor, EventRetention
from oborona.message.hashing import Hasher
from oborona.metrics import Gauge
from oborona.telemetry.log import event

AGAIN_S: Final = 10.0  # before stores in trouble are tried again
DAY_S: Final = 86_400.0
WAITING: Final = Gauge(
    "oborona_events_waiting",
    "Events that are written down and not decided yet, or whose effects are missing.",
    (),
)
AGE: Final = Gauge(
    "oborona_events_age_seconds",
    "How long the first of these events has waited; 0 where none waits.",
    (),
)
TROUBLE: Final = Gauge(
    "oborona_events_trouble",
    "1 while nothing that people say is decided because a store is away.",
    (),
)

log = logging.getLogger("oborona.trainer")


class EventProcessorRunner:
    """The event processor of a state folder; for one thread, to be closed.

    Args:
        settings: of the site.
        state: the state folder.
        site: our authserv-id.
        turn: whose turn it is; where it is another machine's, this one says what its journal knows.
        monotonic: seconds that never go back.

    Attributes:
        trouble: why nothing is decided now; empty = it is.
    """

    def __init__(
        self,
        settings: Settings,
        state: Path,
        site: str,
        turn: TrainerTurn,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._state = state
        self._site = site
        self.turn = turn
        self._monotonic = monotonic
        self._opened: tuple[ExitStack, EventProcessor | EntryWitness, EventLog] | None = None
        self._again_at = float("-inf")
        self._mine = turn.is_mine()  # whose turn the stores were opened for
        self.trouble = ""
        WAITING.set_function(lambda: {(): self.waiting()})
        AGE.set_function(lambda: {(): self.age_s()})
        TROUBLE.set_function(lambda: {(): bool(self.trouble)})

    def step(self) -> bool:
        """Do a little of what there is to do; return whether there is more.

        Raises:
            StoreVersion: a store was written by a newer Oborona.
        """
        mine = self.turn.is_mine()
        if mine is not self._mine:
            self.close()
            self._mine, self._again_at = mine, float("-inf")
        if self._monotonic() < self._again_at:
            return False
        try:
            if self._opened is None:
                if not (self._state / state_files.EVENTS).exists():  # nobody has said anything yet
                    return False
                self._opened = self._open() if mine else self._open_witness()
            busy = self._opened[1].step()
        except StoreVersion:
            raise
        except StoreError as error:
            if str(error) != self.trouble:
                event(log, logging.ERROR, "reports wait to be decided", error=error)
            self.trouble = str(error)
            self._again_at = self._monotonic() + AGAIN_S
            self.close()
            return False
        if self.trouble:
            event(log, logging.WARNING, "reports are decided again")
            self.trouble = ""
        return busy

    def waiting(self) -> int:
        """Return how many events are not decided, or lack effects; 0 while that can't be read."""
        if self._opened is None:
            return 0
        try:
            return sum(self._opened[2].waiting())
        except StoreError:
            return 0

    def age_s(self) -> float:
        """Return how long the first of them has waited; 0 while that can't be read."""
        if self._opened is None:
            return 0.0
        try:
            first = self._opened[2].first_waiting()
        except StoreError:
            return 0.0
        return 0.0 if first is None else max(0.0, time.time() - first)

    def close(self) -> None:
        """Let the stores go."""
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened[0].close()

    def _open_witness(self) -> tuple[ExitStack, EntryWitness, EventLog]:
        with ExitStack() as stack:
            events = stack.enter_context(EventLog(self._state / state_files.EVENTS))
            journal = FeedbackJournal(self._state, state_files.JOURNAL)
            stack.callback(journal.close)
            return stack.pop_all(), EntryWitness(events, journal), events

    def _open(self) -> tuple[ExitStack, EventProcessor, EventLog]:
        learning = self._settings.learning
        keys = secret.load(self._state)
        hasher = Hasher(keys.shingles)
        with ExitStack() as stack:
            events = stack.enter_context(EventLog(self._state / state_files.EVENTS))
            words = stack.enter_context(LabelStore(self._state / state_files.FEEDBACK))
            self.turn.hold(events)
            self.turn.hold(words)
            journal, lists = (
                FeedbackJournal(self._state, state_files.JOURNAL),
                PersonalLists(self._state),
            )
            stack.callback(journal.close)
            stack.callback(lists.close)
            believer = EventProcessor(
                events,
                words,
                journal=journal,
                lists=lists,
                proposer=SignatureProposer(self._settings, self._state, hasher)
                if learning.proposing_people
                else None,
                keys=SiteHashing(
                    hasher=hasher,
                    feedback=keys.feedback,
                    site=self._site,
                    regions=tuple(self._settings.site.regions.split()),
                ),
                kept=EventRetention(
                    raw_s=learning.raw_days * DAY_S, events_s=learning.retention_days * DAY_S
                ),
                verdicts=stack.enter_context(opened_verdicts(self._settings, self._state)),
                person_weight=learning.person_weight,
                people=learning.proposing_people,
                monotonic=self._monotonic,
            )
            return stack.pop_all(), believer, events
