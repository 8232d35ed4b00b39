"""Messages out of what an admin has at hand: a message file, an mbox, a Maildir, a folder of
message files, standard input.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from oborona.desk.owner import as_asker
from oborona.errors import OboronaError

# A line that parts two messages of an mbox: "From ann@a.example Fri Nov 20 10:00:00 2026", after an
# empty line.  The date is asked for, so that a sentence that begins with "From" parts nothing.
_SEPARATOR: Final = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From "
    rb"[^\n]{1,200}\d{1,2}:\d\d(?::\d\d)?[^\n]{0,40}\d{4}[^\n]{0,20}\r?\n"
)


class UnreadableMail(OboronaError):  # noqa: N818 - reads as what happened
    """A file or folder can't be read, or holds nothing to read."""


class MailSource(NamedTuple):
    """One message and where it came from."""

    name: str  # path; with #N for the N-th message of an mbox; - for standard input
    raw: bytes


def messages(path: Path) -> Iterator[MailSource]:
    """Yield each message of a file or folder, in order.

    A Maildir gives what is in cur and new; any other folder the files in it and below; what is
    neither file nor folder is passed over there. A file that begins with an mbox separator and
    holds a second one is an mbox; with one it is a message that somebody saved with its envelope
    line.

    Raises:
        Unread: it can't be read; of a folder, after all that can.
    """
    if str(path) == "-":
        yield MailSource("-", sys.stdin.buffer.read())
    elif _kind(path) == stat.S_IFDIR:
        yield from _below(path)
    else:
        yield from _split(_shown(path), _read(path))


def _below(folder: Path) -> Iterator[MailSource]:
    with as_asker():
        roots = (
            [folder / name for name in ("cur", "new")] if (folder / "cur").is_dir() else [folder]
        )
    empty, unread = True, list[UnreadableMail]()
    for root in roots:
        for file in _files(root, unread):
            if file.name.startswith("."):
                continue
            try:
                if _kind(file) != stat.S_IFREG:
                    continue
                raw = _read(file)
            except UnreadableMail as error:
                unread.append(error)
            else:
                empty = False
                yield from _split(_shown(file), raw)
    if unread:
        more = f" (and {len(unread) - 1} more in {folder})" if len(unread) > 1 else ""
        raise UnreadableMail(f"{unread[0]}{more}")
    if empty:
        raise UnreadableMail(f"{folder}: holds no message files")


def _shown(path: Path) -> str:
    """Return a path as text.

    Octets of it that are no UTF-8 as escapes, which JSON and terminals take.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


@as_asker()
def _files(root: Path, unread: list[UnreadableMail]) -> list[Path]:
    """Return what is in a folder and below, in order.

    Folders that can't be read are added to `unread`, those that vanish are not.
    """

    def note(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            unread.append(UnreadableMail(f"{error.filename}: {error.strerror}"))

    return sorted(
        Path(at, name) for at, _folders, names in os.walk(root, onerror=note) for name in names
    )


@as_asker()
def _kind(path: Path) -> int:
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP) and path.is_symlink():
            raise UnreadableMail(
                f"{path}: is a link that leads nowhere, to {path.readlink()}"
            ) from error
        raise UnreadableMail(f"{path}: {error.strerror}") from error


@as_asker()
def _read(path: Path) -> bytes:
    if _kind(path) != stat.S_IFREG:  # a pipe that nobody writes to would be waited for without end
        raise UnreadableMail(
            f"{path}: is neither a file nor a folder; write - to read standard input"
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableMail(f"{path}: {error.strerror}") from error


def _split(name: str, raw: bytes) -> Iterator[MailSource]:
    starts = list(_SEPARATOR.finditer(raw)) if raw.startswith(b"From ") else []
    if len(starts) < 2:
        yield MailSource(name, raw)
        return
    ends = [start.start() for start in starts[1:]] + [len(raw)]
    for number, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        # the empty line before the next separator belongs to it; ">From " was "From "
        body = re.sub(rb"(?m)^>(>*From )", rb"\1", raw[start.end() : end])
        yield MailSource(
            f"{name}#{number}",
            body[:-2]
            if body.endswith(b"\r\n\r\n")
            else body[:-1]
            if body.endswith(b"\n\n")
            else body,
        )
