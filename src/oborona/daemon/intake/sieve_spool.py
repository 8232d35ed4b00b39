"""What Dovecot left in the spool while nobody answered on the socket: one file for each thing that
a person did, taken in their order.

    what=complaint          the arguments of the script, one a line
    user=joe
    (empty line)
    the message

Mailbox users can put files there and see none (etc/dovecot/oborona-spool).  A file goes when it is
written down, or says nothing that we know; when nothing can be written down it stays.  Taken twice,
because we were killed between, it is known by its name and time.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import pwd
import random
import stat
import time
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from oborona.daemon.intake.event_sink import EventSink
from oborona.daemon.intake.sieve_codec import MAX_HEAD, arguments
from oborona.errors import PeerError, StoreError
from oborona.feedback.events.message_reference import event_of
from oborona.feedback.events.model import MOST_RAW
from oborona.telemetry.log import event as say

LOOK_S: Final = 5.0  # between looks
AT_ONCE: Final = 50  # files taken together: 50 MiB at worst
MOST: Final = 10_000  # files of one look, the rest waits for the next
# of them that could not be read before, by chance: they stand behind all others
MOST_AGAIN: Final = 50
MOST_OF_ONE: Final = 1000  # of them of one owner: nobody fills the look of all others
# a file under a name that begins with a dot is being written; older, whoever wrote it is gone
SETTLED_S: Final = 600.0
DOOR: Final = "spool"  # its name in metrics

log = logging.getLogger("oborona.intake")


class _File(NamedTuple):
    path: Path
    time: float  # Unix seconds
    key: bytes
    mark: tuple[int, int]  # inode, and when it was last changed


class _SpooledAction(NamedTuple):
    words: dict[str, str]
    raw: bytes


class SieveSpool:
    """Takes what lies in one folder.

    Args:
        folder: the spool.
        sink: takes events.
        key: of the site, for signatures.
        template: of persons' addresses.
    """

    def __init__(self, folder: Path, sink: EventSink, *, key: bytes, template: str) -> None:
        self._folder = folder
        self._sink = sink
        self._key = key
        self._template = template
        self._trouble = ""
        self._unreadable: set[tuple[int, int]] = set()  # marks of files that could not be read

    async def follow(self) -> None:
        """Take what comes, until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("fault in looking at the spool")
            await asyncio.sleep(LOOK_S)

    async def look(self) -> int:
        """Take what lies there; return how many files were tried."""
        loop = asyncio.get_running_loop()
        try:
            files, marks = await loop.run_in_executor(
                None, _list, self._folder, time.time(), frozenset(self._unreadable)
            )
        except OSError as error:
            self._say(f"{self._folder}: {error.strerror}")
            return 0
        self._unreadable &= marks
        if not files and not self._unreadable:
            self._say("")
        tried = 0
        for start in range(0, len(files), AT_ONCE):
            some = files[start : start + AT_ONCE]
            read = await loop.run_in_executor(None, _read_all, some)
            # handed in in their order: a pardon may stand behind a complaint
            results = await asyncio.gather(*map(self._take, some, read))
            tried += sum(results)
            if not all(results):
                break  # nothing can be written down: the next look tries again
        return tried

    async def _take(self, file: _File, action: _SpooledAction | OSError | PeerError) -> bool:
        """Take one file; return whether the next may be tried."""
        try:
            if isinstance(action, OSError):
                self._say(f"{file.path}: {action.strerror}")
                self._unreadable.add(file.mark)
                return True  # it stays; those behind it are taken
            if isinstance(action, PeerError):
                raise action
            event = event_of(
                action.words, action.raw, key=self._key, template=self._template, now=file.time
            )
        except PeerError as error:
            self._sink.refuse(DOOR, "broken")
            say(
                log,
                logging.WARNING,
                "a file of the spool is of no use",
                file=file.path.name,
                error=error,
            )
        else:
            if not event.key:
                event = msgspec.structs.replace(event, key=file.key)
            try:
                await self._sink.take(event)
            except StoreError:
                return False
        await asyncio.get_running_loop().run_in_executor(None, _remove, file.path)
        return True

    def _say(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            say(log, logging.ERROR, "the spool can't be read", error=trouble)
        self._trouble = trouble


def _list(
    folder: Path, now: float, but: Collection[tuple[int, int]]
) -> tuple[list[_File], set[tuple[int, int]]]:
    """Return the files to take, oldest first, behind them some that could not be read before, and
    all marks of these that are still there.

    What is left of a writer that died is removed.

    Args:
        folder: the spool.
        now: Unix seconds.
        but: marks of files that could not be read.

    Raises:
        OSError: the folder can't be read.
    """
    files: list[_File] = []
    retries: list[_File] = []
    owners: Counter[int] = Counter()
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it went
            if not stat.S_ISREG(status.st_mode):
                continue
            if not entry.name.startswith("."):
                mark = status.st_ino, status.st_ctime_ns
                tried_before = mark in but
                owners[status.st_uid] += not tried_before
                if not tried_before and (len(files) == MOST or owners[status.st_uid] > MOST_OF_ONE):
                    continue
                name = f"{entry.name} {status.st_ino} {status.st_mtime_ns}".encode(
                    "utf-8", "surrogateescape"
                )
                key = hashlib.blake2b(name, digest_size=16, person=b"oborona spool").digest()
                (retries if tried_before else files).append(
                    _File(Path(entry.path), min(status.st_mtime, now), key, mark)
                )
            elif now - status.st_mtime > SETTLED_S:
                _remove(Path(entry.path))
    some = random.sample(retries, min(MOST_AGAIN, len(retries)))
    return [*sorted(files, key=lambda file: file.time), *some], {file.mark for file in retries}


def _read_all(files: Sequence[_File]) -> list[_SpooledAction | OSError | PeerError]:
    """Return what each file says, or why it says nothing."""
    actions: list[_SpooledAction | OSError | PeerError] = []
    for file in files:
        try:
            actions.append(_read(file.path))
        except (OSError, PeerError) as error:
            actions.append(error)
    return actions


def _read(path: Path) -> _SpooledAction:
    """Return what a file says.

    Raises:
        OSError: it can't be read.
        PeerError: it says nothing.
    """
    with os.fdopen(
        os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
    ) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            # a reader of ours may be made to read it
            raise PeerError("it lies in another place, too")
        octets = file.read(MAX_HEAD + 2 + MOST_RAW)
    head, blank, raw = octets.partition(b"\n\n")
    if not blank or len(head) > MAX_HEAD:
        raise PeerError("it has no arguments")
    words = arguments(head.split(b"\n"))
    _check_owner(words.get("user", ""), status.st_uid)
    return _SpooledAction(words, raw)


def _check_owner(user: str, owner: int) -> None:
    """Refuse words in the name of somebody who has an account on this machine, from a file of
    another account.

    Where mailboxes have no accounts, all files are of Dovecot's user for mail, and this tells
    nothing.

    Raises:
        PeerError: they are another's.
    """
    try:
        account = pwd.getpwnam(user).pw_uid
    except (KeyError, ValueError, UnicodeError):
        return
    if owner not in {account, 0}:
        raise PeerError(
            f"it is of the user with id {owner}, and speaks for {user[:100]!r}, who has "
            f"id {account}"
        )


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        say(
            log,
            logging.WARNING,
            "a file of the spool can't be removed",
            file=path.name,
            error=error,
        )
