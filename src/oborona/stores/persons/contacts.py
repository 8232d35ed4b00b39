"""Whom our own people write to: gathered as their mail is let through, written down together, after
the answer and beside the loop.

A message to more than `MOST_RECIPIENTS` teaches nothing, nor does one that was not let through to
the inbox; a person gets at most `store.WRITTEN_A_DAY` new contacts a day.  So a stolen password
makes few contacts, and what these send is still no better than a friend's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Final, Literal

from oborona.errors import StoreError
from oborona.metrics import Counter
from oborona.reputation.personal import mail_address
from oborona.stores.persons.follower import untagged
from oborona.stores.persons.store import PersonStore
from oborona.telemetry.log import event
from oborona.types import Action, Envelope, Verdict

WRITE_S: Final = 0.5  # between writes
AGAIN_S: Final = 5.0  # from one that failed to the next
MOST_RECIPIENTS: Final = 20  # of a message that a person writes to people
MOST_WAITING: Final = 10_000  # contacts in memory: what comes on top of them is not learned
LEARNED: Final = Counter("oborona_contacts_learned", "Contacts learned from outgoing mail.", ())

log = logging.getLogger("oborona.personal")

Learned = Literal["login", "sender", "none"]


class ContactLearner:
    """Learns contacts in one worker.

    Args:
        path: the store's file; begun when there is the first contact.
        learned: from whose outgoing mail; as `personal.contacts` says.
    """

    def __init__(self, path: Path, learned: Learned) -> None:
        self._path = path
        self._learned = learned
        self._waiting: dict[str, dict[str, None]] = {}  # person → addresses
        self._number = 0  # of addresses that wait
        self._learned_any = asyncio.Event()
        self._trouble = ""

    def learn_contacts(self, envelope: Envelope, verdict: Verdict, _now: float) -> None:
        """Take note of a message, whoever sent it."""
        if not envelope.login or self._learned == "none" or verdict.action is not Action.ACCEPT:
            return
        address = mail_address(envelope.sender)
        # else joe+shop@ would be somebody, without the lists of joe@
        person = untagged(address) or address
        if not person or len(envelope.recipients) > MOST_RECIPIENTS or self._number >= MOST_WAITING:
            return
        theirs = (address, person, person.rpartition("@")[0])
        if self._learned == "login" and envelope.login.lower() not in theirs:
            return
        recipients_waiting = self._waiting.setdefault(person, {})
        before = len(recipients_waiting)
        for recipient in envelope.recipients:
            contact = mail_address(recipient)
            if contact and contact not in (person, address):
                recipients_waiting[contact] = None
        self._number += len(recipients_waiting) - before
        self._learned_any.set()

    async def watch(self) -> None:
        """Write down what waits, for ever."""
        while True:
            await self._learned_any.wait()
            await asyncio.sleep(WRITE_S)
            self._learned_any.clear()
            letters, self._waiting, self._number = self._waiting, {}, 0
            if not await asyncio.to_thread(self._write, letters):
                self._wait_again(letters)
                await asyncio.sleep(AGAIN_S)

    def close(self) -> None:
        """Write down what still waits; what can't be written at the end is lost."""
        if self._waiting:
            self._write(self._waiting)
            self._waiting = {}

    def _wait_again(self, letters: dict[str, dict[str, None]]) -> None:
        """Let wait what could not be written, as far as there is room."""
        for person, addresses in letters.items():
            if self._number >= MOST_WAITING:
                return
            waiting = self._waiting.setdefault(person, {})
            before = len(waiting)
            waiting.update(addresses)
            self._number += len(waiting) - before
        self._learned_any.set()

    def _write(self, letters: dict[str, dict[str, None]]) -> bool:
        """Write it down; return whether it could be."""
        try:
            with PersonStore(self._path) as store:
                LEARNED.inc(by=store.written(letters, now=time.time()))
        except StoreError as error:
            if not self._trouble:
                event(log, logging.ERROR, "contacts are not learned", error=error)
            self._trouble = str(error)
            return False
        if self._trouble:
            event(log, logging.WARNING, "contacts are learned again")
            self._trouble = ""
        return True
