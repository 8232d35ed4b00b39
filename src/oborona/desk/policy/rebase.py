"""A draft that began before the policy was changed, brought to what is there now: three-way, by
file.
"""

from __future__ import annotations

import msgspec

from oborona.stores.policy_versions.digests import FileSet


class DraftConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A file that both have changed.

    Args:
        file: its name.
        base: its text when the draft began; None = it was not there.
        draft: of the draft.
        current: of the policy now.
    """

    file: str
    base: str | None
    draft: str | None
    current: str | None


class RebasedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a draft on another base.

    Args:
        files: all of them; of a conflict the draft's.
        taken: names of files that are as the policy has them now.
        conflicts: files that both have changed, each in its own way.
    """

    files: dict[str, bytes]
    taken: tuple[str, ...]
    conflicts: tuple[DraftConflict, ...]


def rebase(base: FileSet, draft: FileSet, current: FileSet) -> RebasedFiles:
    """Return a draft's files on what is there now.

    Args:
        base: files that the draft began from.
        draft: its files.
        current: files of the policy now.
    """
    files, taken, conflicts = dict[str, bytes](), list[str](), list[DraftConflict]()
    for name in sorted({*base, *draft, *current}):
        old, mine, now = base.get(name), draft.get(name), current.get(name)
        kept = mine
        if mine == old and now != mine:
            kept = now
            taken.append(name)
        elif now not in (old, mine):
            conflicts.append(
                DraftConflict(file=name, base=_text(old), draft=_text(mine), current=_text(now))
            )
        if kept is not None:
            files[name] = kept
    return RebasedFiles(files=files, taken=tuple(taken), conflicts=tuple(conflicts))


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")
