"""The journal, for look-ups of the messages that feedback is about.

For one thread without an event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from oborona import state_files
from oborona.errors import StoreError
from oborona.feedback.processing.ports import JournaledMessage
from oborona.journal.entry import CopyDelivery, JournalEntry, LateFindings
from oborona.journal.queries import JournalReader
from oborona.policy.accounting import is_counted
from oborona.policy.personal_list_match import PERSONAL
from oborona.recheck.moves import MoveState, MoveStore
from oborona.reputation.personal import mail_address
from oborona.stores.pins.store import PinStore
from oborona.types import Action, Verdict


class FeedbackJournal:
    """Messages as the journal and the moves of rechecks know them; to be closed.

    Args:
        state: the state folder; its journal may come later.
        journal: name of the journal's file there.
    """

    def __init__(self, state: Path, journal: str) -> None:
        self._state = state
        self._path = state / journal
        self._runner = asyncio.Runner()
        self._reader: JournalReader | None = None
        self._moves: MoveStore | None = None
        self._pins: PinStore | None = None

    def close(self) -> None:
        """Let the files go."""
        self._runner.run(self._closed())
        self._runner.close()
        for store in (self._moves, self._pins):
            if store is not None:
                store.close()

    def get(self, idents: Sequence[int]) -> dict[int, JournaledMessage]:
        """Return the messages that it has; none where there is no journal yet.

        Raises:
            StoreError: it can't be read now.
        """
        if not idents or not self._path.exists():
            return {}
        return self._runner.run(self._get(list(dict.fromkeys(idents))))

    def find(self, message_id: str, person: str) -> int | None:
        """Return the newest message of a Message-ID that went to a person.

        None where there is none.

        Raises:
            StoreError: it can't be read now.
        """
        if not self._path.exists():
            return None
        return self._runner.run(self._find(message_id, person))

    async def _get(self, idents: Sequence[int]) -> dict[int, JournaledMessage]:
        messages = {}
        for ident in idents:
            message = await self._looked_up(ident)
            if message is not None:
                messages[ident] = message
        return messages

    async def _find(self, message_id: str, person: str) -> int | None:
        reader = await self._open_reader()
        try:
            for ident in await reader.find(message_id=message_id):
                entry = await reader.get(ident)
                if entry is not None and person in _readers(entry, await reader.went(ident)):
                    return ident
        except StoreError:
            await self._closed()
            raise
        return None

    async def _looked_up(self, ident: int) -> JournaledMessage | None:
        reader = await self._open_reader()
        try:
            entry = await reader.get(ident)
            if entry is None:
                return None
            passed = entry.verdict is Action.ACCEPT
            return self._journaled_message(
                entry, None if passed else await reader.late(ident), await reader.went(ident)
            )
        except StoreError:  # it may have been set aside: the next call opens what is there
            await self._closed()
            raise

    async def _open_reader(self) -> JournalReader:
        if self._reader is not None and not self._reader.in_place():
            await self._closed()
        if self._reader is None:
            self._reader = await JournalReader.open(self._path)
        return self._reader

    async def _closed(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(StoreError):
                await reader.close()

    def _journaled_message(
        self, entry: JournalEntry, late: LateFindings | None, went: Sequence[CopyDelivery]
    ) -> JournaledMessage:
        filed = any(delivery.spam for delivery in went) or self._moved(entry.id)
        return JournaledMessage(
            id=entry.id,
            time=entry.time,
            verdict=Action.SPAM if filed else entry.verdict,
            message_id=entry.message_id,
            recipients=_readers(entry, went),
            facts=entry.facts,
            shingles=entry.shingles,
            counted_spam=_counted_spam(entry) and not self._forgiven(entry.id),
            late=() if late is None else late.shingles,
            late_time=0.0 if late is None else late.time,
        )

    def _moved(self, ident: int) -> bool:
        """Tell whether the second look put a copy into a spam folder."""
        if self._moves is None:
            if not (self._state / state_files.MOVES).exists():
                return False
            self._moves = MoveStore(self._state / state_files.MOVES, make=False)
        return any(
            move.state is MoveState.DONE and move.undoes is None for move in self._moves.of(ident)
        )

    def _forgiven(self, ident: int) -> bool:
        """Tell whether an analyst took back what the verdict counted."""
        if self._pins is None:
            if not (self._state / state_files.PINS).exists():
                return False
            self._pins = PinStore(self._state / state_files.PINS, make=False)
        return self._pins.taken_back(ident)


def _readers(entry: JournalEntry, went: Sequence[CopyDelivery]) -> frozenset[str]:
    """Return whom a message was for: its envelope's recipients, and those that aliases have become
    at the delivery door.
    """
    named = (*entry.recipients, *(delivery.recipient for delivery in went))
    return frozenset(filter(None, map(mail_address, named)))


def _counted_spam(entry: JournalEntry) -> bool:
    """Tell whether the verdict counted a message as spam; False where that is not known."""
    if entry.kept is not None and entry.kept.site is not None:
        action, decided_by = entry.kept.site
    elif entry.decided_by == PERSONAL:
        return False
    else:
        action, decided_by = entry.verdict, entry.decided_by
    verdict = Verdict(action=action, score=entry.score, line=entry.line, decided_by=decided_by)
    return action in (Action.SPAM, Action.REJECT) and is_counted(verdict)
