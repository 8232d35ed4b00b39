"""File ownership for those who write to the daemon's files: a file that root creates must
belong to the daemon's user, or the daemon can't open it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def as_owner_of(folder: Path) -> Iterator[None]:
    """When root asks, go on as the owner of a folder within; anybody else stays who they are.

    Files that are named on the command line are read by `as_asker`, also within.
    """
    owner = folder.stat() if os.geteuid() == 0 and folder.exists() else None
    if owner is None or owner.st_uid == 0:
        yield
        return
    group = os.getegid()
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)


@contextmanager
def as_asker() -> Iterator[None]:
    """Within `as_owner_of`, go on as who asked: what root may read is read, though the daemon's
    user may not.
    """
    owner, group = os.geteuid(), os.getegid()
    if os.getuid() != 0 or owner == 0:
        yield
        return
    os.seteuid(0)
    os.setegid(os.getgid())
    try:
        yield
    finally:
        os.setegid(group)
        os.seteuid(owner)
