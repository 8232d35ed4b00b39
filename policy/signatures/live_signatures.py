"""The signatures in force in one process: those of the policy's files and those of the store, in
books that follow both.

There is a book for the policy in use, and one for the policy that comes next: a message is judged
by the book of the policy that it is judged by. One thread at a time may change them, any number may
look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from oborona.message.model import Message
from oborona.policy.signatures.book import SignatureBook
from oborona.policy.signatures.finder import SignatureMatches
from oborona.policy.signatures.model import Signature

Files = Mapping[str, Signature]


class LiveSignatures:
    """`Signatures` that change while they are used.

    The one who judges sees the old book or the new one, whole.

    Args:
        files: of the policy, by id.
        stored: of the store.
        book: of both, where there is one already.
    """

    def __init__(
        self, files: Files, stored: Iterable[Signature] = (), *, book: SignatureBook | None = None
    ) -> None:
        self._books: tuple[tuple[Files, SignatureBook], ...] = (
            (files, book or SignatureBook.of([*files.values(), *stored])),
        )  # the newest last

    @property
    def book(self) -> SignatureBook:
        """The book of the newest policy."""
        return self._books[-1][1]

    @property
    def of_store(self) -> set[str]:
        """The ids of those that are in no file of any policy held."""
        return {name for files, book in self._books for name in book.live.keys() - files.keys()}

    def under(self, files: Files) -> SignatureBook:
        """Return the book of a policy; see `Signatures.under`."""
        books = self._books
        for source, book in books:
            if source is files:
                return book
        newest, book = books[-1]  # of a policy that was, for what is looked at late
        return book.with_changes(files.values(), newest.keys() - files.keys())

    def find(self, message: Message, now: float) -> SignatureMatches:
        """Return those of the newest policy that a message has; see `SignatureBook.find`."""
        return self.book.find(message, now)

    def hold(
        self, files: Files, current: Files, *, rest: Callable[[], None] = lambda: None
    ) -> bool:
        """Have the books of two policies, and of no others; return whether anything changed.

        Args:
            files: of the policy that comes next.
            current: of the one in use.
            rest: called between steps, to let others run.
        """
        if self._books[-1][0] is files and all(
            source is files or source is current for source, _ in self._books
        ):
            return False
        book = self.under(current)
        following = book.with_changes(files.values(), current.keys() - files.keys(), rest=rest)
        before = self.book
        self._books = (
            ((current, book), (files, following)) if files is not current else ((files, book),)
        )
        return self.book is not before

    def follow_store(
        self,
        changed: Iterable[Signature],
        removed: Iterable[str],
        *,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        """Take what changed in the store; arguments as of `SignatureBook.with_changes`."""
        changed, removed = tuple(changed), tuple(removed)
        self._change(lambda book: book.with_changes(changed, removed, rest=rest))

    def settle(self, now: float, *, rest: Callable[[], None] = lambda: None) -> None:
        """Join what came piece by piece; arguments as of `SignatureBook.merged`."""
        self._change(lambda book: book.merged(now, rest=rest))

    def _change(self, change: Callable[[SignatureBook], SignatureBook]) -> None:
        done: dict[int, SignatureBook] = {}
        for _, book in self._books:
            if id(book) not in done:
                done[id(book)] = change(book)
        self._books = tuple((files, done[id(book)]) for files, book in self._books)
