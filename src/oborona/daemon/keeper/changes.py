"""Changes since the last look that may alter the verdict on delivered messages: people's feedback,
signatures, pins, the policy.

Each source is followed by a cursor that its store gives and `recheck.db` keeps, so that a restart
misses nothing; changes from before the first recheck are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from oborona import state_files
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.errors import StoreError
from oborona.feedback.connection import FeedbackConnection
from oborona.feedback.label import LabelKind
from oborona.feedback.label_outbox import LabelOutbox
from oborona.journal.index.pieces import indexed_pieces
from oborona.message.hashing import Hasher
from oborona.policy.signatures.model import Signature
from oborona.recheck.engine.model import RecheckCause
from oborona.recheck.engine.signature_changes import SignatureChanges, shingles_of
from oborona.recheck.moves import MoveStore
from oborona.sqlite_file import SharedSqliteFile
from oborona.stores.pins.store import PinStore
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import Shingle

AT_ONCE: Final = 200  # words of one look
# words of the last so many seconds are news for a process that begins: who was killed may not have
# come to them
AGAIN_S: Final = 600.0
# signatures that came lately; beyond, the oldest are as if they had always been there
MOST_FRESH: Final = 50_000

_Store = TypeVar("_Store", bound=SharedSqliteFile)


class RecheckTrigger(NamedTuple):
    """A change that may alter the verdict on delivered messages."""

    cause: RecheckCause
    pieces: tuple[Shingle, ...]  # messages that carry any of these; none = all
    echo: bool = False  # counts of it may be on their way


class ChangeWatcher:
    """Follows what changes; one thread at a time looks.

    Args:
        state: state folder.
        moves: keeps the cursors.
        policy: in force.
        hasher: holds the site's secret.
        window_s: signatures older than this were looked for in all mail that may still be moved.
        clock: Unix seconds.
    """

    def __init__(
        self,
        state: Path,
        moves: MoveStore,
        policy: PolicyInForce,
        hasher: Hasher,
        *,
        window_s: float,
        clock: Callable[[], float],
    ) -> None:
        self._state = state
        self._moves = moves
        self._policy = policy
        self._hasher = hasher
        self._window_s = window_s
        self._clock = clock
        self._words: FeedbackConnection | None = None
        self._signatures: SignatureStore | None = None
        self._pins: PinStore | None = None
        self._fresh: dict[str, Signature] = {}
        self._gone: set[str] = set()
        self._signed = SignatureChanges({}, hasher)
        self._noted = ""  # version of the policy whose change was told
        self.failed: StoreError | None = None  # of the last look

    @property
    def signed(self) -> SignatureChanges:
        """The signatures that came or went lately."""
        return self._signed

    def look(self) -> list[RecheckTrigger]:
        """Return what has changed.

        Where a store can't be read (`failed`), what it has is told later, and the others are told
        all the same.
        """
        triggers: list[RecheckTrigger] = []
        self.failed = None
        for part in (self._of_policy, self._of_words, self._of_signatures, self._of_pins):
            try:
                triggers += list(part())
            except StoreError as error:
                self.failed = self.failed or error
        return triggers

    def close(self) -> None:
        """Let the stores go."""
        for store in (self._words, self._signatures, self._pins):
            if store is not None:
                store.close()
        self._words = self._signatures = self._pins = None

    def _of_policy(self) -> Iterator[RecheckTrigger]:
        before = self._policy.current
        changed = self._policy.look()
        policy = self._policy.current
        if policy is None:
            return
        if changed and before is not None:
            self._file_signatures(before.signatures, policy.signatures)
        if policy.version == self._noted:
            return
        number = int(policy.version, 16)
        cursor = self._moves.cursor("policy", -1)
        if cursor not in (-1, number):
            yield RecheckTrigger(RecheckCause.POLICY, ())
        self._moves.set_cursor("policy", number)
        self._noted = policy.version

    def _of_words(self) -> Iterator[RecheckTrigger]:
        new = self._words is None
        self._words = _open_if_present(
            self._words, self._state / state_files.FEEDBACK, FeedbackConnection
        )
        if self._words is None:
            return
        ledger = LabelOutbox(self._words)
        place = self._moves.cursor("words", -1)
        if place < 0 or place > ledger.newest():
            self._moves.set_cursor("words", ledger.newest())
            return
        if new:
            lately = "SELECT ifnull(min(place), ?) FROM news WHERE time >= ?"
            ((first,),) = self._words.rows(lately, (place + 1, self._clock() - AGAIN_S))
            place = min(place, first - 1)
        news = ledger.news(place, AT_ONCE)
        for label in news:
            against = label.wanted is (label.kind is LabelKind.SPAM)
            cause = RecheckCause.WORD if against else RecheckCause.PARDON
            if pieces := indexed_pieces(label.pieces):
                yield RecheckTrigger(cause, pieces, echo=True)
        if news:
            self._moves.set_cursor("words", news[-1].place)

    def _of_signatures(self) -> Iterator[RecheckTrigger]:
        new = self._signatures is None
        self._signatures = _open_if_present(
            self._signatures, self._state / state_files.SIGNATURES, SignatureStore
        )
        if self._signatures is None:
            return
        if new:
            lately = self._clock() - self._window_s
            self._fresh |= {
                row.signature.id: row.signature
                for row in self._signatures.all(SignatureState.ACTIVE)
                if row.signature.created >= lately
            }
            self._sign()
        version, cursor = self._signatures.version(), self._moves.cursor("signatures", -1)
        if 0 <= cursor < version:
            changes = self._signatures.since(cursor, self._clock())
            removed = [self._signatures.get(name).signature for name in changes.gone]
            for signature in removed:
                self._fresh.pop(signature.id, None)
                self._gone.add(signature.id)
            for signature in changes.active:
                self._fresh[signature.id] = signature
                self._gone.discard(signature.id)
            self._sign()
            pieces = [
                shingle
                for signature in (*changes.active, *removed)
                for shingle in shingles_of(signature, self._hasher)
            ]
            if pieces:
                yield RecheckTrigger(RecheckCause.SIGNATURE, tuple(pieces))
        if cursor != version:
            self._moves.set_cursor("signatures", version)

    def _of_pins(self) -> Iterator[RecheckTrigger]:
        self._pins = _open_if_present(self._pins, self._state / state_files.PINS, PinStore)
        if self._pins is None:
            return
        version, cursor = self._pins.version(), self._moves.cursor("pins", -1)
        if 0 <= cursor < version:
            changes = self._pins.since(cursor, self._clock())
            pieces = (*(Shingle(pin.type, pin.hash) for pin in changes.pins), *changes.gone)
            if pieces:
                yield RecheckTrigger(
                    RecheckCause.PIN, pieces, echo=True
                )  # the book of pins is followed beside us
        if cursor != version:
            self._moves.set_cursor("pins", version)

    def _file_signatures(
        self, before: Mapping[str, Signature], now: Mapping[str, Signature]
    ) -> None:
        self._fresh |= {
            name: signature for name, signature in now.items() if before.get(name) != signature
        }
        self._gone |= before.keys() - now.keys()
        self._sign()

    def _sign(self) -> None:
        for name in list(self._fresh)[: max(0, len(self._fresh) - MOST_FRESH)]:
            del self._fresh[name]
        self._signed = SignatureChanges(dict(self._fresh), self._hasher, frozenset(self._gone))


def _open_if_present(store: _Store | None, path: Path, kind: type[_Store]) -> _Store | None:
    """Return a store, opened where it was not; None where there is none yet."""
    if store is not None:
        return store
    if not path.exists():
        return None
    return kind(path, make=False)
