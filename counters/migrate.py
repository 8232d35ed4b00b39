"""A store of an older Oborona, brought to the format of this one.

    1 → 2   notes of the heaviest keys and of the doorkeeper are new; records stay as they are
    2 → 3   records may take back; made when the first one does, so that an older program may go on
            with a store in which none does

All steps are made in one transaction with the version they lead to: killed anywhere, the store is
of the old version or of the new. Only the writer migrates. A reader takes an older store as it is:
its records read the same since version 1; what is new is not there yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import lmdb

from oborona.counters.lmdb_store import TAKES_NOTHING, U32, VERSION_KEY
from oborona.errors import StoreError

Migration = Callable[
    ["lmdb.Transaction[bytes]"], None
]  # a string: it takes arguments for the type checker alone

MIGRATIONS: Final[Mapping[int, Migration | None]] = {1: None, 2: None}
"""Version → what makes the next one of it; None where nothing that is there changes."""


def migrate(
    txn: lmdb.Transaction[bytes],
    target: int = TAKES_NOTHING,
    migrations: Mapping[int, Migration | None] = MIGRATIONS,
) -> int:
    """Bring a store to a version; return the one it had, which may be that already.

    Args:
        txn: a write transaction on a store that has a version.
        target: a store that is beyond it stays as it is.
        migrations: the steps.

    Raises:
        StoreError: no step leads on from the store's version; nothing is to be committed then.
    """
    (oldest,) = U32.unpack(txn.get(VERSION_KEY, b""))
    for version in range(oldest, target):
        if version not in migrations:
            raise StoreError(
                f"nothing makes version {version + 1} of a counter store of version {version}"
            )
        step = migrations[version]
        if step is not None:
            step(txn)
    if oldest < target:
        txn.put(VERSION_KEY, U32.pack(target))
    return int(oldest)
