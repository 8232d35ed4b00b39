"""A site as a process sees it that stays: its settings as they were at its start, its policy as it
is now.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from oborona import state_files
from oborona.desk.configured_site import SiteSource
from oborona.desk.site import Site
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PolicyCache
from oborona.policy.signatures import SignatureBook
from oborona.policy.watch import FolderState, folder_state
from oborona.sqlite_file import PARTS, part_of

FileStamp = tuple[int, int, int]  # inode, octets, nanoseconds of its last change


class FollowedSite(Site):
    """A site whose policy is read again when its files have changed; for any number of threads.

    Args:
        source: of the settings, which are read once.
        notice: gets what is wrong and stops nothing.
    """

    def __init__(self, source: SiteSource, notice: Callable[[str], None]) -> None:
        super().__init__(source, notice)
        self._lock = threading.Lock()
        self._cache = PolicyCache()
        self._read_state: FolderState | None = None
        self._book_lock = threading.Lock()
        self._book: SignatureBook | None = None
        self._book_of: tuple[Policy, tuple[FileStamp, ...]] | None = None

    def policy(self) -> Policy:
        """The policy of the files as they are now, checked."""
        with self._lock:
            state = folder_state(self.policy_folders)
            if self._policy is None or state != self._read_state:
                self._policy = load_policy(self.policy_folders, SCHEMA, self._cache)
                self._read_state = state
            return self._policy

    def signatures(self) -> SignatureBook:
        """The signatures in force; the book of them is kept, as making it takes a quarter of a
        second.
        """
        policy = self.policy()
        stamps = tuple(
            _stamp(part_of(self.state / state_files.SIGNATURES, suffix)) for suffix in PARTS
        )
        with self._book_lock:
            before, then = self._book_of or (None, ())
            if self._book is None or before is not policy or then != stamps:
                self._book, self._book_of = super().signatures(), (policy, stamps)
            return self._book


def _stamp(path: Path) -> FileStamp:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
