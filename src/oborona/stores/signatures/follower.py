"""A worker's signatures: kept as its policies and the store say, and their hits brought to the
store.

How the store is followed `oborona.stores.followed_store` tells. When nothing has changed for a
while, what came piece by piece is joined.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from oborona.doorbell import Doorbell
from oborona.metrics import Counter, Gauge
from oborona.policy.load import Policy
from oborona.policy.load_cache import PublishedPolicy
from oborona.policy.signatures import LiveSignatures, Signature, SignatureBook
from oborona.stores.followed_store import StoreFollower
from oborona.stores.signatures.rows import SignatureStoreChanges
from oborona.stores.signatures.store import SignatureStore
from oborona.telemetry.log import event
from oborona.types import RuleMode

FLUSH_S: Final = 3.0  # between writes of hits
# without a change: an import in parts is over, and what came in small pieces is joined
SETTLED_S: Final = 30.0
SURVEY_S: Final = 60.0  # between counts of those that have expired meanwhile
REST_S: Final = 0.005  # between two segments that are made: the loop answers meanwhile
SIGNATURES: Final = Gauge(
    "oborona_signatures",
    "Signatures that the worker holds; live and shadow are looked for, broken can't be used.",
    ("state",),
)
HITS: Final = Counter(
    "oborona_signature_hits", "Signatures found in messages, each once.", ("flag", "mode")
)
STALE: Final = Gauge(
    "oborona_signatures_stale",
    "1 while the store of signatures can't be used and what was known stays.",
    (),
)

log = logging.getLogger("oborona.signatures")

_Counts = dict[str, tuple[int, float]]
"""How often each signature was found, and when last, Unix seconds."""


class FollowedSignatures:
    """The signatures of a worker; a `Signatures` of its scans.

    Args:
        path: the store's file.

    Attributes:
        numbers: of signatures: live, shadow, expired, broken; no older than `SURVEY_S`.
    """

    def __init__(self, path: Path) -> None:
        self._store: StoreFollower[SignatureStore, SignatureStoreChanges] = StoreFollower(
            path,
            SignatureStore,
            SignatureStore.since,
            log=log,
            failing="signatures of the store stay as they were",
            well="signatures of the store are read again",
        )
        self._path = path
        self._hits: _Counts = {}
        self._found = asyncio.Event()  # hits wait
        self._broken: frozenset[str] = frozenset()  # that the log has named
        # when the book last changed, monotonic; None = it is settled
        self._changed: float | None = None
        self._surveyed = 0.0  # monotonic
        self._building = threading.Lock()  # of the books
        self._live = LiveSignatures({})
        self._begun = False
        self._looked_at = self._live.book
        self.numbers: dict[str, int] = {}
        SIGNATURES.set_function(
            lambda: {(state,): number for state, number in self.numbers.items()}
        )
        STALE.set_function(lambda: {(): self.stale})

    @property
    def number(self) -> int:
        """How many signatures are in force, or would be had they not expired."""
        return len(self._live.book)

    @property
    def stale(self) -> bool:
        """The store can't be read or written now: what was known stays."""
        return self._store.stale

    def begin(
        self, files: Mapping[str, Signature], published: PublishedPolicy | None = None
    ) -> None:
        """Read everything at once, before there is mail.

        Args:
            files: the signatures of the policy in use, by id.
            published: what was made ready before the fork; its book serves where the policy is the
                same and the store has nothing.
        """
        changes = self._changes()
        stored = changes.active if changes is not None else ()
        same = published is not None and published.policy.signatures is files
        book = published.book if published is not None and same and not stored else None
        self._live = LiveSignatures(files, stored, book=book)
        self._looked_at, self._begun = self._live.book, True
        self._say_broken()
        self._survey()

    def prepare(self, following: Policy, current: Policy | None) -> None:
        """Make the signatures of a policy ready, in a thread, before it is in force."""
        if not self._begun or current is None:
            return
        with self._building:
            if self._live.hold(following.signatures, current.signatures, rest=_rest):
                self._say_broken()

    def under(self, files: Mapping[str, Signature]) -> SignatureBook:
        """Return the signatures in force with a policy; see `Signatures.under`."""
        return self._live.under(files)

    def count(self, signatures: Iterable[Signature], now: float) -> None:
        """Count that signatures were found, at Unix time `now`."""
        for signature in signatures:
            self._hits[signature.id] = (self._hits.get(signature.id, (0, 0.0))[0] + 1, now)
            HITS.inc(signature.flag, signature.mode)
            self._found.set()

    async def watch(self) -> None:
        """Follow files and store, and write hits, for ever."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._follow())
            both.create_task(self._write())

    async def _follow(self) -> None:
        with Doorbell(self._path, sqlite=True, anyway=self._unsettled) as bell:
            while True:
                await bell.rung()
                await asyncio.to_thread(self.look)

    async def _write(self) -> None:
        while True:
            await self._found.wait()
            await asyncio.sleep(FLUSH_S)
            self._found.clear()
            await self._flush()
            if self._hits:  # they could not be written
                self._found.set()

    def _unsettled(self) -> bool:
        """Whether there is something to do though the store has not changed: it can't be read, a
        book that changed lately is to settle, or some may have expired.
        """
        return (
            self.stale
            or self._changed is not None
            or self._live.book is not self._looked_at
            or time.monotonic() - self._surveyed >= SURVEY_S
        )

    async def _flush(self) -> None:
        counts, self._hits = self._hits, {}  # in the loop, where they are counted
        if counts and not await asyncio.to_thread(self._write_hits, counts):
            for name, (count, last) in counts.items():
                more, later = self._hits.get(name, (0, last))
                self._hits[name] = (count + more, max(last, later))

    def look(self) -> None:
        """Take what has changed, or settle when nothing has for a while."""
        changes = self._changes()
        with self._building:
            if changes is not None and (changes.whole or changes.active or changes.gone):
                self._take(changes)
            now, before = time.monotonic(), self._looked_at
            if self._live.book is not before:
                self._changed = now
            elif self._changed is not None and now - self._changed >= SETTLED_S:
                self._live.settle(time.time(), rest=_rest)
                self._changed = None
            self._looked_at = self._live.book
        if self._live.book is not before or now - self._surveyed >= SURVEY_S:
            self._survey()

    def _take(self, changes: SignatureStoreChanges) -> None:
        if changes.whole:  # another store, or one that could not be read before
            signature = {signature.id for signature in changes.active}
            changes.gone.extend(self._live.of_store - signature)
        self._live.follow_store(changes.active, changes.gone, rest=_rest)
        event(
            log,
            logging.INFO,
            "signatures changed",
            version=changes.version,
            changed=len(changes.active),
            gone=len(changes.gone),
            number=self.number,
        )
        self._say_broken()

    def _survey(self) -> None:
        book, now = self._live.book, time.time()
        self._surveyed = time.monotonic()
        expired = sum(signature.expired(now) for signature in book.live.values())
        shadow = sum(
            signature.mode is RuleMode.SHADOW and not signature.expired(now)
            for signature in book.live.values()
        )
        broken = len(book.broken)
        live = max(0, len(book) - expired - shadow - broken)
        self.numbers = {"live": live, "shadow": shadow, "expired": expired, "broken": broken}

    def close(self) -> None:
        """Write the last hits and let the store go; hits that can't be written now are lost."""
        if self._hits:
            self._write_hits(self._hits)
        self._store.close()

    def _write_hits(self, counts: _Counts) -> bool:
        """Write hits; return whether they could be."""
        return self._store.write(lambda store: store.add_hits(counts))

    def _say_broken(self) -> None:
        """Name the signatures that can't be used by this version, each once."""
        broken = self._live.book.broken
        for name in broken.keys() - self._broken:
            event(log, logging.ERROR, "signature not used", signature=name, error=broken[name])
        self._broken = frozenset(broken)

    def _changes(self) -> SignatureStoreChanges | None:
        """Return what has changed in the store since the last time.

        None where nothing has, or it can't be read.
        """
        changes = self._store.changes()
        if changes is not None:
            for name, why in changes.unknown.items():
                event(log, logging.ERROR, "signature not used", signature=name, error=why)
        return changes


def _rest() -> None:
    time.sleep(REST_S)
