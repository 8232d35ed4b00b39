"""A site as a process sees it that stays: its settings as they were at its start, its policy as it
is now, and what judging takes from its files and stores, read again when these have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, cast

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.journal.words.day_files import DayFiles
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.signatures import SignatureBook
from oborona.policy.watch import FolderState, folder_state
from oborona.reputation.pins import PinTable
from oborona.sqlite_file import PARTS, part_of
from oborona.stores.final_model import FollowedFinalModel

KEPT_DAYS: Final = 32  # search files: those of a fortnight, for two who search at once
FileStamp = tuple[int, int, int]  # inode, octets, nanoseconds of its last change
T = TypeVar("T")


class FollowedSite(Site):
    """A site whose policy is read again when its files have changed; for any number of threads.

    Args:
        source: of the settings, which are read once.
        notice: gets what is wrong and stops nothing.
    """

    def __init__(self, source: SiteSource, notice: Callable[[str], None]) -> None:
        super().__init__(source, self._noticing(notice))
        self._noticed = 0
        self._lock = threading.Lock()
        self._cache = PolicyCache()
        self._read_state: FolderState | None = None
        self._made_lock = threading.Lock()
        self._made: dict[str, _MadeOfStore] = {}
        self._final: FollowedFinalModel | None = None
        self._search_files = DayFiles(KEPT_DAYS)

    def policy(self) -> Policy:
        """The policy of the files as they are now, checked."""
        with self._lock:
            state = folder_state(self.policy_folders)
            if self._policy is None or state != self._read_state:
                self._policy = load_policy(self.policy_folders, SCHEMA, self._cache)
                self._read_state = state
            return self._policy

    @property
    def search_files(self) -> DayFiles:
        """Who opens the search files of the journal, and keeps them open."""
        return self._search_files

    def signatures(self) -> SignatureBook:
        """The signatures in force; the book of them is kept, as making it takes a quarter of a
        second.
        """
        return self._kept(state_files.SIGNATURES, super().signatures, self.policy())

    def pins(self) -> PinTable:
        """The pins in force, kept: they end by themselves."""
        return self._kept(state_files.PINS, super().pins)

    def final(self) -> FollowedFinalModel:
        """The final model in force, kept, as reading one takes milliseconds; what is wrong with it
        is a notice.
        """
        with self._made_lock:
            if self._final is None:
                self._final = super().final()
            elif self._final.look() and self._final.error is not None:
                self.notice(f"{self._final.error}; judged without it")
            return self._final

    def _kept(self, store: str, make: Callable[[], T], policy: Policy | None = None) -> T:
        """Return what is made of a store, as long as that and the policy stay what they are; what
        there was a notice of is made anew.
        """
        stamps = tuple(_stamp(part_of(self.state / store, suffix)) for suffix in PARTS)
        with self._made_lock:
            before = self._made.get(store)
            if before and before.stamps == stamps and before.policy is policy:
                return cast("T", before.made)
            noticed, made = self._noticed, make()
            if self._noticed == noticed:
                self._made[store] = _MadeOfStore(made, stamps, policy)
            return made

    def _noticing(self, notice: Callable[[str], None]) -> Callable[[str], None]:
        def count(text: str) -> None:
            self._noticed += 1
            notice(text)

        return count


class _MadeOfStore(NamedTuple):
    made: object
    stamps: tuple[FileStamp, ...]
    policy: Policy | None


def _stamp(path: Path) -> FileStamp:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
