"""Which files the policy is made of, in words: what ships, and what is the admin's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from oborona.desk.policy.origins import whose
from oborona.policy.folders import FileOwner, PolicyFolders
from oborona.policy.load import Policy


def files(policy: Policy) -> Iterator[str]:
    """Yield a line on each of the folders, on the feed's if it holds anything."""
    folders = policy.folders
    by_owner: dict[FileOwner, list[str]] = {owner: [] for owner in FileOwner}
    for name in policy.files:
        by_owner[folders.whose(Path(name))].append(Path(name).name)
    if folders.shipped is None:
        yield (
            f"shipped: none, by paths.shipped_policy; yours: {folders.own}: "
            f"{_count(by_owner[FileOwner.OWN])}"
        )
        return
    yield f"shipped: {folders.shipped}: {_count(by_owner[FileOwner.SHIPPED])}"
    if by_owner[FileOwner.FEED]:
        yield f"feed: {folders.feed}: {', '.join(by_owner[FileOwner.FEED])}"
    if folders.own is None:
        yield "yours: none, paths.policy is the folder that ships; put what is yours into another"
    elif not folders.is_own_there():
        yield f"yours: {folders.own} is not there; what ships is in force alone"
    else:
        own, instead = by_owner[FileOwner.OWN], by_owner[FileOwner.INSTEAD]
        named = [
            ", ".join(own),
            f"instead of shipped ones: {', '.join(instead)}" if instead else "",
        ]
        yield (
            f"yours: {folders.own}: "
            f"{'; '.join(filter(None, named)) or 'no files; what ships is in force alone'}"
        )


def place(folders: PolicyFolders, where: str) -> str:
    """Return a place of a policy file, `FILE:LINE`, with whose file it is.

    What is no such place as it is.
    """
    path, _, line = where.rpartition(":")
    of = whose(folders, where)
    if of is None:
        return where
    return f"{of}: {Path(path).name if of in (FileOwner.SHIPPED, FileOwner.FEED) else short(path)}:{line}"


def short(path: str) -> str:
    """Return a path as seen from the current folder, where that is shorter."""
    return min(os.path.relpath(path), path, key=len)


def _count(names: list[str]) -> str:
    return f"{len(names)} file{'s' * (len(names) != 1)}"
