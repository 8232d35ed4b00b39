"""Mailboxes that are Maildirs on this machine, by renaming files: for mail servers without a better
interface.

A message in new/ was never listed by a mail program.  A rename that names it there moves it, or
fails as it is there no longer; there is no race.

Limits: the process needs write access.  A Maildir has no keywords of its own, so OboronaMoving and
OboronaMoved are in no file: if a person brings a message back by a program that copies octets, or
from a file system without extended attributes, it looks like a delivery.  A connected mail program
sees the message come and go.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Final

from oborona.recheck.mailboxes.located_copy import (
    EARLIER_S,
    LocatedCopy,
    MoveGuard,
    carries,
    expected_result,
    group_items,
    move_result,
    reason_unsearchable,
    result_elsewhere,
    same_folder,
)
from oborona.recheck.mailboxes.maildir_folder import (
    MaildirFile,
    MaildirFolder,
    folders,
    make_folder,
)
from oborona.recheck.mailboxes.model import MailboxItem, MoveOutcome, MoveResult

FOLDERS: Final = 200  # looked into, at most, for what is nowhere else
TRIES: Final = 3  # of a rename whose file had another name by then
NEVER: Final = (errno.EXDEV, errno.ENOTDIR, errno.ELOOP, errno.EROFS)
"""Why files can't be renamed, today or tomorrow: another file system, a link."""

_Visit = Callable[[Sequence[MailboxItem]], list[MoveResult]]


class MaildirMailboxes:
    """Mailboxes of this machine; see `Mailboxes`.

    Args:
        place: the Maildir of a user, as an absolute path.
        guard: what else keeps a message where it is.
        connections: Maildirs that are looked into at once, at most.
        deadline_s: for one of them.
    """

    def __init__(
        self, place: Callable[[str], str], guard: MoveGuard, *, connections: int, deadline_s: float
    ) -> None:
        self._place = place
        self._guard = guard
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(connections, "maildir")
        self._free = asyncio.Semaphore(connections)
        self._closed = False

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Tell what `move` would do, and change nothing that anybody can see."""
        return await self._visit_mailboxes(letters, partial(self._looked, source=source))

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Move what nobody has opened."""
        if same_folder(source, target):
            raise ValueError(f"from {source} to {target} is no move")
        return await self._visit_mailboxes(
            letters, partial(self._moved, source=source, target=target, force=force)
        )

    async def close(self) -> None:
        """Let go of threads."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _visit_mailboxes(
        self, letters: Sequence[MailboxItem], visit: _Visit
    ) -> list[MoveResult]:
        """Look into every letter's Maildir."""
        done: list[MoveResult | None] = [reason_unsearchable(letter) for letter in letters]
        fit = [place for place, result in enumerate(done) if result is None]

        async def some(places: Sequence[int]) -> None:
            answers = await self._visit([letters[place] for place in places], visit)
            for place, answer in zip(places, answers, strict=True):
                done[place] = answer

        groups = group_items([letters[place] for place in fit], lambda letter: letter.user)
        await asyncio.gather(*(some([fit[place] for place in group]) for group in groups.values()))
        return [result or MoveResult(MoveOutcome.BUSY) for result in done]

    async def _visit(self, letters: Sequence[MailboxItem], visit: _Visit) -> list[MoveResult]:
        """Look into one Maildir, in a thread."""
        async with self._free:
            if self._closed:
                return [MoveResult(MoveOutcome.BUSY, "mailboxes are closed")] * len(letters)
            thread = asyncio.get_running_loop().run_in_executor(self._threads, visit, letters)
            try:
                async with asyncio.timeout(self._deadline_s):
                    return await thread
            except TimeoutError:
                result = MoveResult(
                    MoveOutcome.BUSY, f"its files can't be read within {self._deadline_s:g} s"
                )
            except FileNotFoundError as error:
                result = MoveResult(
                    MoveOutcome.UNABLE, f"no such mailbox or folder: {error.filename or error}"
                )
            except PermissionError as error:
                result = MoveResult(MoveOutcome.UNABLE, f"not permitted: {error.filename or error}")
            except OSError as error:
                result = MoveResult(
                    MoveOutcome.UNABLE if error.errno in NEVER else MoveOutcome.BUSY,
                    f"{error.filename or 'mailbox'}: {error.strerror or error}",
                )
            return [result] * len(letters)

    def _looked(self, letters: Sequence[MailboxItem], *, source: str) -> list[MoveResult]:
        with ExitStack() as stack:
            root = self._root(letters[0].user, stack)
            letter_files = _files(stack.enter_context(MaildirFolder(root, source)), letters)
            done = [
                expected_result([file.found for file in files], self._guard)
                for files in letter_files
            ]
            return _completed(root, letters, done, looked=True)

    def _moved(
        self, letters: Sequence[MailboxItem], *, source: str, target: str, force: bool
    ) -> list[MoveResult]:
        with ExitStack() as stack:
            root = self._root(letters[0].user, stack)
            source_folder = stack.enter_context(MaildirFolder(root, source))
            target_folder: MaildirFolder | None = None
            for _ in range(TRIES):
                letter_files = _files(source_folder, letters)
                going = [
                    file
                    for files in letter_files
                    for file in files
                    if file.found.stays(self._guard, force=force) is None
                ]
                if not going:
                    break
                target_folder = target_folder or self._folder(root, target, stack)
                moved = [file for file in going if source_folder.take(file, target_folder)]
                letter_files = [
                    [file for file in files if file not in moved] for files in letter_files
                ]
                if len(moved) == len(going):
                    break
            target_folder = target_folder or _existing(root, target, stack)
            arrived = (
                _files(target_folder, letters)
                if target_folder is not None
                else [[] for _ in letters]
            )
            done = [
                move_result(
                    [file.found for file in (*left, *came)],
                    source,
                    target,
                    self._guard,
                    force=force,
                )
                for left, came in zip(letter_files, arrived, strict=True)
            ]
            return _completed(root, letters, done, looked=False)

    def _root(self, user: str, stack: ExitStack) -> int:
        root = os.open(self._place(user), os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, root)
        return root

    def _folder(self, root: int, name: str, stack: ExitStack) -> MaildirFolder:
        make_folder(root, name)
        return stack.enter_context(MaildirFolder(root, name))


def _existing(root: int, name: str, stack: ExitStack) -> MaildirFolder | None:
    try:
        return stack.enter_context(MaildirFolder(root, name))
    except FileNotFoundError:
        return None


def _files(folder: MaildirFolder, letters: Sequence[MailboxItem]) -> list[list[MaildirFile]]:
    """Return the copies of each letter in a folder, in one walk."""
    letter_files: list[list[MaildirFile]] = [[] for _ in letters]
    for file in folder.since(min(letter.delivered for letter in letters) - EARLIER_S):
        for place, letter in enumerate(letters):
            if file.mras_id and carries(letter, file.mras_id, file.message_id):
                letter_files[place].append(file)
    return letter_files


def _completed(
    root: int, letters: Sequence[MailboxItem], done: Sequence[MoveResult | None], *, looked: bool
) -> list[MoveResult]:
    """Answer for letters that were in no folder that was looked into."""
    lost = [letter for letter, result in zip(letters, done, strict=True) if result is None]
    if not lost:
        return [result for result in done if result is not None]
    copy_lists: list[list[LocatedCopy]] = [[] for _ in lost]
    for name, inside in folders(root)[:FOLDERS]:
        try:
            with MaildirFolder(root, name, inside) as folder:
                for copies, files in zip(copy_lists, _files(folder, lost), strict=True):
                    copies += [file.found for file in files]
        except OSError:  # no folder of mail, or not ours
            continue
    rest = iter([result_elsewhere(copies, looked=looked) for copies in copy_lists])
    return [result or next(rest) for result in done]
