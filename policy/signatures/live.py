"""The signatures in force in one process: those of the policy's files and those of the store, in one book that follows both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from oborona.message.model import Message
from oborona.policy.signatures.book import Book
from oborona.policy.signatures.matched import Matched
from oborona.policy.signatures.model import Signature


class LiveSignatures:
    """A `Signatures` that changes while it is used; the one who judges sees the old book or the new one, whole.

    Args:
        files: of the policy, by id.
        stored: of the store.

    Attributes:
        book: in use.
    """

    def __init__(self, files: Mapping[str, Signature], stored: Iterable[Signature] = ()) -> None:
        self._files = files
        self.book = Book.of([*files.values(), *stored])

    def find(self, message: Message, now: float) -> Matched:
        """Return those in force that a message has; see `Signatures.find`."""
        return self.book.find(message, now)

    def follow_files(
        self, files: Mapping[str, Signature], *, rest: Callable[[], None] = lambda: None
    ) -> bool:
        """Take the signatures of another policy; return whether anything changed.

        Args:
            files: by id.
            rest: called between steps, to let others run.
        """
        if files is self._files:
            return False
        gone = self._files.keys() - files.keys()
        self.book = self.book.with_changes(files.values(), gone, rest=rest)
        self._files = files
        return True

    def follow_store(
        self,
        changed: Iterable[Signature],
        gone: Iterable[str],
        *,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        """Take what changed in the store; arguments as of `Book.with_changes`."""
        self.book = self.book.with_changes(changed, gone, rest=rest)

    def settle(self, now: float, *, rest: Callable[[], None] = lambda: None) -> None:
        """Join what came piece by piece; arguments as of `Book.merged`."""
        self.book = self.book.merged(now, rest=rest)
