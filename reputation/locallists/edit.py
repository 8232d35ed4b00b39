"""Edits of list files as text, entry by entry, which keep comments, order and all other lines;
pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oborona.reputation.locallists.entry import entry


class EditedList(NamedTuple):
    """A list file after a change."""

    raw: bytes
    changed: tuple[str, ...]  # entries that were added, or removed, in their normal form
    same: tuple[str, ...]  # that were there already, or were not there


class ListFileLine(NamedTuple):
    """One entry as it stands in a file."""

    entry: str  # in its normal form
    comment: str


def normal_entry(text: str) -> str:
    """Return an entry in its normal form; empty for a comment or an empty line.

    Raises:
        ValueError: it is none, in words for an admin.
    """
    parsed = entry(text)
    if parsed is None:
        return ""
    shown = str(parsed)
    return shown.removesuffix("/128" if ":" in shown else "/32")


def lines(raw: bytes) -> Iterable[ListFileLine]:
    """Yield the entries of a list file; lines that can't be used are passed over."""
    for line in _texts(raw):
        normal = _normal_or_empty(line)
        if normal:
            yield ListFileLine(normal, line.partition("#")[2].strip())


def with_entries(raw: bytes, texts: Sequence[str], note: str) -> EditedList:
    """Return a list file with some entries more.

    Args:
        raw: the file; empty = a new one.
        texts: entries as an admin writes them.
        note: a comment beside each; empty = none.

    Raises:
        ValueError: a text is no entry; it says which.
    """
    present = {normal for line in _texts(raw) if (normal := _normal_or_empty(line))}
    new, same = list[str](), list[str]()
    for text in texts:
        normal = _require_entry(text)
        (same if normal in present else new).append(normal)
        present.add(normal)
    ended = raw if not raw or raw.endswith(b"\n") else raw + b"\n"
    beside = f"  # {_comment(note)}" if note.strip() else ""
    more = "".join(f"{line}{beside}\n" for line in new)
    return EditedList(ended + more.encode(), tuple(new), tuple(same))


def without_entries(raw: bytes, texts: Sequence[str]) -> EditedList:
    """Return a list file without some entries; all lines that hold one go, and nothing else.

    Raises:
        ValueError: a text is no entry; it says which.
    """
    is_held = {_require_entry(text): False for text in texts}
    rest = list[bytes]()
    for line in raw.splitlines(keepends=True):
        normal = _normal_or_empty(line.decode("utf-8", "replace").rstrip("\r\n"))
        if normal in is_held:
            is_held[normal] = True
        else:
            rest.append(line)
    removed = tuple(text for text, held in is_held.items() if held)
    return EditedList(
        b"".join(rest), removed, tuple(text for text, held in is_held.items() if not held)
    )


def _texts(raw: bytes) -> Iterable[str]:
    return raw.decode("utf-8", "replace").splitlines()


def _normal_or_empty(line: str) -> str:
    try:
        return normal_entry(line)
    except ValueError:
        return ""


def _require_entry(text: str) -> str:
    shown = "".join(letter if letter.isprintable() else "?" for letter in text.strip()[:60])
    try:
        normal = "" if "#" in text or len(text.splitlines()) > 1 else normal_entry(text)
    except ValueError as fault:
        raise ValueError(f'"{shown}" {fault}') from None
    if not normal:
        raise ValueError(f'"{shown}" is no address, network, name or mail address')
    return normal


def _comment(note: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in note).strip()[:200]
