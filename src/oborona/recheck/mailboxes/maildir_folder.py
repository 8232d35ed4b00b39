"""One folder of a Maildir as files: list its messages, move one to another folder.

    new/NAME            never listed by a mail program
    cur/NAME:2,FLAGS    listed; S seen, R answered, F flagged, T deleted, P passed on; small letters
                        are keywords of Dovecot's

Folders are opened once and used by their descriptor, never through a symbolic link, since their
owner may be another user.  A rename names the file with its flags and fails if these have changed:
no message is moved that was opened meanwhile.  A message that we moved is known by its name: ",O=m"
behind Dovecot's and Courier's own marks; programs give a copy that a person makes another name.
The file has an extended attribute, too.  Such a copy keeps it if it is made as a hard link and the
file system has them.

Source: D. J. Bernstein, "Using maildir format"; Sam Varshavchik, "Maildir++"; Dovecot, "Maildir
Mailbox Format".
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Self

from imapclient.imap_utf7 import decode, encode

from oborona.recheck.mailboxes.located_copy import RECENT, LocatedCopy, same_folder
from oborona.recheck.mailboxes.model import HEADER, MOVED

MARK: Final = ",O=m"
ATTRIBUTE: Final = "user.oborona.moved"
HEAD: Final = 64 * 1024  # bytes of a message in which its headers are looked for
PARTS: Final = ("new", "cur", "tmp")
KEYWORDS: Final = "dovecot-keywords"  # "0 Name" a line; the first letter is a
FLAGS: Final = {
    "S": "\\Seen", "R": "\\Answered", "F": "\\Flagged", "T": "\\Deleted", "P": "$Forwarded", "D": "\\Draft",
}  # fmt: skip

_OPEN: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FIELD: Final = re.compile(rb"(?im)^(%s|Message-ID):((?:[^\n]|\n[ \t])*)" % HEADER.encode())


class MaildirFile(NamedTuple):
    """One message."""

    part: str  # "new" or "cur"
    name: str
    found: LocatedCopy
    mras_id: str  # values of its headers, "" where it has none
    message_id: str


class MaildirFolder:
    """One folder of a Maildir; close it, or use it as a context.

    Args:
        root: descriptor of the Maildir.
        name: as IMAP has it.
        inside: its folder in the Maildir, where that is known and the name is not.

    Raises:
        FileNotFoundError: there is none.
        OSError: it is none, or not ours to see.
    """

    def __init__(self, root: int, name: str, inside: str = "") -> None:
        self.name = name
        self._parts: dict[str, int] = {}
        self._folder = os.open(inside or _inside(name), _OPEN, dir_fd=root)
        try:
            for part in PARTS:
                self._parts[part] = os.open(part, _OPEN, dir_fd=self._folder)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of it."""
        for folder in (self._folder, *self._parts.values()):
            os.close(folder)
        self._parts.clear()

    def since(self, time: float) -> Iterator[MaildirFile]:
        """Return the messages that are not older than a time.

        Args:
            time: Unix seconds.
        """
        keywords = self._keywords()
        for part in ("new", "cur"):
            with os.scandir(self._parts[part]) as entries:
                names = [entry.name for entry in entries if not entry.name.startswith(".")]
            for name in names:
                file = self._file(part, name, time, keywords)
                if file is not None:
                    yield file

    def _file(
        self, part: str, name: str, since: float, keywords: Sequence[str]
    ) -> MaildirFile | None:
        try:
            if os.stat(name, dir_fd=self._parts[part], follow_symlinks=False).st_mtime < since:
                return None
            handle = os.open(
                name,
                os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                dir_fd=self._parts[part],
            )
        except OSError:  # it went meanwhile, or is a link
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            head = os.pread(handle, HEAD, 0)
            marked = _marked(handle) or MARK in name
        finally:
            os.close(handle)
        end = re.search(rb"\r?\n\r?\n", head)
        fields = {
            key.lower(): value.strip().decode("latin-1")
            for key, value in reversed(_FIELD.findall(head[: end.start() + 1] if end else head))
        }
        flags = [FLAGS.get(flag) or _keyword(flag, keywords) for flag in name.partition(":2,")[2]]
        flags += [RECENT] if part == "new" else []
        flags += [MOVED] if marked else []
        return MaildirFile(
            part,
            name,
            LocatedCopy.of(self.name, flags),
            fields.get(HEADER.lower().encode(), ""),
            fields.get(b"message-id", ""),
        )

    def _keywords(self) -> list[str]:
        """Return the names that Dovecot's small letters stand for."""
        try:
            handle = os.open(
                KEYWORDS, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder
            )
        except OSError:
            return []
        with os.fdopen(handle, encoding="utf-8", errors="replace") as file:
            lines = file.read(HEAD).splitlines()
        names = dict(line.split(" ", 1) for line in lines if " " in line)
        return [names.get(str(number), "") for number in range(26)]

    def take(self, file: MaildirFile, target: MaildirFolder) -> bool:
        """Take a message to another folder; return whether it was still what it was found to be.

        Args:
            file: of this folder.
            target: of the same Maildir.

        Raises:
            OSError: not permitted, no room, another file system.
        """
        base, colon, flags = file.name.partition(":")
        name = f"{base}{'' if MARK in base else MARK}{colon}{''.join(one for one in flags if not one.islower())}"
        source_fd, target_fd = self._parts[file.part], target._parts[file.part]
        try:
            handle = os.open(
                file.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=source_fd
            )
        except FileNotFoundError:
            return False
        try:
            os.rename(file.name, name, src_dir_fd=source_fd, dst_dir_fd=target_fd)
            with suppress(OSError):  # a file system without them
                os.setxattr(handle, ATTRIBUTE, b"1")
        except FileNotFoundError:
            return False
        finally:
            os.close(handle)
        return True


def make_folder(root: int, name: str) -> None:
    """Make a folder as Maildir++ has it, for the Maildir's owner.

    Args:
        root: descriptor of the Maildir.
        name: as IMAP has it; it may be there already.

    Raises:
        OSError: not permitted.
    """
    owner = os.fstat(root)
    mode = stat.S_IMODE(owner.st_mode)
    inside = _inside(name)
    with suppress(FileExistsError):
        os.mkdir(inside, mode, dir_fd=root)
    folder = os.open(inside, _OPEN, dir_fd=root)
    try:
        for part in PARTS:
            with suppress(FileExistsError):
                os.mkdir(part, mode, dir_fd=folder)
            _give(part, folder, owner)
        os.close(
            os.open(
                "maildirfolder", os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder
            )
        )
        _give("maildirfolder", folder, owner)
    finally:
        os.close(folder)
    _give(inside, root, owner)


def _give(name: str, folder: int, owner: os.stat_result) -> None:
    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_uid != owner.st_uid:
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=folder, follow_symlinks=False)


def folders(root: int) -> list[tuple[str, str]]:
    """Return the folders of a Maildir: the name of each as IMAP has it, and where in the Maildir it
    is.
    """
    listing = [("INBOX", ".")]
    with os.scandir(root) as entries:
        for inside in sorted(entry.name for entry in entries if entry.name.startswith(".")):
            with suppress(ValueError):  # a name that IMAP can't have
                listing.append((decode(inside[1:].encode("ascii")).replace(".", "/"), inside))
    return listing


def _inside(name: str) -> str:
    """Return where in a Maildir a folder is."""
    if same_folder(name, "INBOX"):
        return "."
    parts = name.split("/")
    if not all(part and "." not in part and part.isprintable() for part in parts):
        raise FileNotFoundError(f"{name!r} is no name of a folder")
    return "." + str(encode(".".join(parts)), "ascii")


def _marked(handle: int) -> bool:
    try:
        return bool(os.getxattr(handle, ATTRIBUTE))
    except OSError:
        return False


def _keyword(letter: str, keywords: Sequence[str]) -> str:
    place = ord(letter) - ord("a")
    return keywords[place] if 0 <= place < len(keywords) else ""
