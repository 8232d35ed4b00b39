"""Mail that people have sorted: a folder with `ham/` and `spam/` in it, or an index with
`label path` in each line.

`clean` takes off what was written after delivery: such headers tell where a message was collected,
which a filter at the door never sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oborona.cli.mailboxes import MailSource
from oborona.cli.sorted_mail import HAM, SPAM, index_mail, seconds
from oborona.feedback.final.backtest import fields, undo_delivery

SIDE_FILES: Final = (".json", ".md", ".yml", ".idx")  # beside messages, and none themselves


@dataclass(frozen=True, slots=True)
class Labelled:
    """A message and what people say of it."""

    path: str
    spam: bool
    raw: bytes
    # Unix seconds by its newest Received, else by its Date; 0 where neither can be read
    arrived: float


def folder(root: Path) -> Iterator[tuple[str, bool]]:
    """Return the messages of all folders below `root` whose name holds ham or spam: path and
    whether it is spam.

    Raises:
        ValueError: there are none of one kind.
    """
    found: list[tuple[str, bool]] = []
    for path in sorted(root.rglob("*")):
        kinds = [
            SPAM in part.lower()
            for part in path.relative_to(root).parts[:-1]
            if _kind(part) is not None
        ]
        if (
            kinds
            and path.is_file()
            and path.suffix not in SIDE_FILES
            and not path.name.startswith(".")
        ):
            found.append((str(path), kinds[-1]))
    if len({spam for _, spam in found}) < 2:
        raise ValueError(f"{root} has no folder of ham and folder of spam with messages in them")
    yield from found


def _kind(part: str) -> bool | None:
    words = re.split(r"[^a-z]+", part.lower())
    return True if SPAM in words else False if HAM in words else None


def read(where: Path, *, clean: bool) -> list[Labelled]:
    """Return the messages of a folder, or of an index.

    Args:
        where: a folder for `folder`, or a file of `label path` lines as the product reads it.
        clean: as they came to the door; see the head of this file.

    Raises:
        ValueError: a folder has none of one kind.
        Unread: a line of an index is no `label path`, by its number; or a file can't be read.
    """
    found = (
        index_mail(where)
        if where.is_file()
        else ((MailSource(path, Path(path).read_bytes()), spam) for path, spam in folder(where))
    )
    return [
        Labelled(
            source.name,
            spam,
            undo_delivery(source.raw) if clean else source.raw,
            arrived(source.raw),
        )
        for source, spam in found
    ]


def arrived(raw: bytes) -> float:
    """Return when a message was received, by the time in its newest Received field that has one.

    Else by its Date.
    """
    date = 0.0
    for name, value in _fields(raw):
        if name == b"received":
            if time := seconds(_text(value.rpartition(b";")[2])):
                return time
        elif name == b"date" and not date:
            date = seconds(_text(value))
    return date


def _fields(raw: bytes) -> list[tuple[bytes, bytes]]:
    return [(match[1].lower(), match[2]) for match in fields(raw)]


def _text(value: bytes) -> str:
    return value.decode("ascii", "replace")
