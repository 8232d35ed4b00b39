"""People's own lists, as the processing of feedback reads and writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oborona import state_files
from oborona.feedback.personal_entries import LabelOrigin
from oborona.reputation.personal import EntryAction, PersonalEntry, PersonalEntryKind, mail_address
from oborona.stores.persons.store import PersonStore


class PersonalLists:
    """The store of persons; opened when first asked for, to be closed.

    Args:
        state: the state folder.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / state_files.PERSONS
        self._store: PersonStore | None = None

    def close(self) -> None:
        """Let the file go."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def asked_for(self, person: str, origin: LabelOrigin, before: float) -> bool:
        """Tell whether a person wanted mail from there, by what they had said or done before a
        time, Unix seconds.

        Raises:
            StoreError: the store can't be read.
        """
        if not self._path.exists():
            return False
        author, sender = mail_address(origin.proved.author), mail_address(origin.proved.sender)
        keys = {
            (PersonalEntryKind.ADDRESS, author),
            (PersonalEntryKind.SENDER, sender),
            (PersonalEntryKind.DOMAIN, origin.proved.author_domain),
            (PersonalEntryKind.LIST, origin.list_id if origin.list_domain else ""),
        }
        return any(
            entry.time < before
            and not entry.expired(before)
            and entry.value
            and (entry.kind, entry.value) in keys
            and (
                entry.side is EntryAction.CONTACT
                or (entry.side is EntryAction.ALLOW and entry.beside in ("", origin.list_domain))
            )
            for entry in self._open_store().of(person).entries
        )

    def say(
        self, person: str, word: int, entries: Sequence[PersonalEntry], *, replaced: int, now: float
    ) -> None:
        """Write down what follows from a word, in the place of what followed from another.

        Twice is once.

        Raises:
            StoreError: the store can't be written.
        """
        self._open_store().say(person, word, entries, replaced=replaced, now=now)

    def take_back(self, words: Sequence[int]) -> None:
        """Remove what followed from words.

        Raises:
            StoreError: the store can't be written.
        """
        if words and self._path.exists():
            self._open_store().take_back(words)

    def _open_store(self) -> PersonStore:
        if self._store is None:
            self._store = PersonStore(self._path)
        return self._store
