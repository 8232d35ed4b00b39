"""What event processing needs: the journal, people's own lists, the book of signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from oborona.feedback.personal_entries import LabelOrigin
from oborona.reputation.personal import PersonalEntry
from oborona.types import Action, Shingle


class JournaledMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's data of a message."""

    id: int
    time: float  # Unix seconds
    verdict: Action
    message_id: str = ""
    recipients: frozenset[str] = frozenset()  # mail addresses in normal form
    facts: Mapping[str, Any] = {}
    shingles: tuple[Shingle, ...] = ()  # as they were counted; empty: forgotten
    counted_spam: bool = False  # its verdict counted it as spam
    late: tuple[Shingle, ...] = ()  # found after the answer, and counted with the verdict
    late_time: float = 0.0  # Unix seconds, when that was


class JournalLookup(Protocol):
    """The journal."""

    def get(self, idents: Sequence[int]) -> dict[int, JournaledMessage]:
        """Return the messages that it has.

        Raises:
            StoreError: it can't be read now.
        """
        ...

    def find(self, message_id: str, person: str) -> int | None:
        """Return the newest message of a Message-ID that went to a person.

        None where there is none.

        Raises:
            StoreError: it can't be read now.
        """
        ...


class PersonalListStore(Protocol):
    """People's own lists."""

    def asked_for(self, person: str, origin: LabelOrigin, before: float) -> bool:
        """Tell whether a person wanted mail from there, by what they had said or done before a
        time, Unix seconds.

        Raises:
            StoreError: they can't be read now.
        """
        ...

    def say(
        self, person: str, word: int, entries: Sequence[PersonalEntry], *, replaced: int, now: float
    ) -> None:
        """Write down what follows from a word, in the place of what followed from another.

        Twice is once.

        Raises:
            StoreError: it can't be written now.
        """
        ...

    def take_back(self, words: Sequence[int]) -> None:
        """Remove what followed from words.

        Raises:
            StoreError: it can't be written now.
        """
        ...


class PersonVerdicts(Protocol):
    """What event logs say of persons."""

    def caught_days(self, person: str, now: float) -> int:
        """Return on how many days of the last month a person was caught.

        Args:
            person: mail address in normal form; empty = nobody, who never is.
            now: Unix seconds.
        """
        ...


class NoVerdicts:
    """A site without event logs, or one that does not heed them."""

    def caught_days(self, person: str, now: float) -> int:
        """Return that a person was never caught."""
        return 0


class ProposalSink(Protocol):
    """The book of signatures, as a receiver of proposals."""

    def propose(self, spam: Sequence[bytes], reason: str, now: float) -> list[str]:
        """Propose signatures that messages have in common; return the names of those that are new.

        Args:
            spam: messages as they were handed in.
            reason: for whoever decides about them.
            now: Unix seconds.

        Raises:
            StoreError: it can't be written now.
        """
        ...
