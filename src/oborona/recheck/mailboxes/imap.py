r"""Mailboxes of any IMAP server, by a master user who may enter all of them.

Each mailbox is visited in a thread, on one connection for some of its letters.  A letter is first
marked OboronaMoving, unless its flags have changed since it was found (UNCHANGEDSINCE, if the
server has CONDSTORE), then checked once more and moved; in the target the mark becomes
OboronaMoved.  A visit that was cut off leaves OboronaMoving, and repeating it completes the move.

Limits: a reader who opens the letter between the last look and the move, one round trip, has seen a
message that is in the spam folder then.  The other messages of the folder lose \Recent; Dovecot
runs IMAPSieve scripts for a master user's moves, too, and OboronaMoving tells these from a
person's.  Servers without \Recent (IMAP4rev2) count all messages as listed: nothing is moved there
unless listed messages may be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from imapclient.exceptions import IMAPClientAbortError, IMAPClientError, LoginError

from oborona.errors import PeerError
from oborona.recheck.mailboxes.imap_session import (
    ImapCopy,
    ImapServer,
    ImapSession,
    ImapUnsupported,
    no_room,
)
from oborona.recheck.mailboxes.located_copy import (
    LocatedCopy,
    MoveGuard,
    expected_result,
    group_items,
    move_result,
    reason_unsearchable,
    result_elsewhere,
    same_folder,
)
from oborona.recheck.mailboxes.model import MOVED, MOVING, MailboxItem, MoveOutcome, MoveResult
from oborona.recheck.mailboxes.requests import LINGER_S, MailServerRequests

NO_LOGIN: Final = ("[AUTHENTICATIONFAILED]", "[AUTHORIZATIONFAILED]", "[EXPIRED]", "[NOPERM]")
"""Codes of a server that does not let somebody in; whatever else a login ends with may pass.

Source: RFC 5530.
"""

_Step = Callable[[ImapSession, Sequence[MailboxItem]], list[MoveResult]]


class ImapMailboxes:
    """Mailboxes of one server; see `Mailboxes`.

    Args:
        server: to connect to.
        guard: what else keeps a message where it is.
        connections: at once, at most.
        deadline_s: for one visit.
    """

    def __init__(
        self, server: ImapServer, guard: MoveGuard, *, connections: int, deadline_s: float
    ) -> None:
        self._server = server
        self._guard = guard
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(connections, "imap")
        self._requests = MailServerRequests(connections, deadline_s=deadline_s)
        # the server has known the master user once: a login that fails is the user's affair
        self._let_in = False

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Tell what `move` would do, and change nothing that anybody can see."""
        return await self._visit_mailboxes(
            letters, partial(_look, source=source, guard=self._guard)
        )

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Move what nobody has opened."""
        if same_folder(source, target):
            raise ValueError(f"from {source} to {target} is no move")
        step = partial(_move, source=source, target=target, guard=self._guard, force=force)
        return await self._visit_mailboxes(letters, step)

    async def close(self) -> None:
        """Let go of connections."""
        await self._requests.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _visit_mailboxes(
        self, letters: Sequence[MailboxItem], step: _Step
    ) -> list[MoveResult]:
        """Visit every letter's mailbox."""
        self._requests.anew()
        done: list[MoveResult | None] = [reason_unsearchable(letter) for letter in letters]
        fit = [place for place, result in enumerate(done) if result is None]

        async def some(places: Sequence[int]) -> None:
            answers = await self._visit([letters[place] for place in places], step)
            for place, answer in zip(places, answers, strict=True):
                done[place] = answer

        groups = group_items([letters[place] for place in fit], lambda letter: letter.user)
        await asyncio.gather(*(some([fit[place] for place in group]) for group in groups.values()))
        return [result or MoveResult(MoveOutcome.BUSY) for result in done]

    async def _visit(self, letters: Sequence[MailboxItem], step: _Step) -> list[MoveResult]:
        """Visit one mailbox."""
        visit = _Visit(self._server, letters, step, self._deadline_s)

        async def request() -> None:
            thread = asyncio.get_running_loop().run_in_executor(self._threads, visit.run)
            try:
                await asyncio.wait([thread], timeout=LINGER_S)
            finally:
                visit.cut()
            if visit.away:
                raise PeerError(visit.away)

        try:
            await self._requests.run({letters[0].user}, request)
        except PeerError as error:
            return [MoveResult(MoveOutcome.BUSY, str(error)[:200])] * len(letters)
        self._let_in = self._let_in or visit.let_in
        return visit.told(known=self._let_in)


class _Visit:
    """One visit to one mailbox, in a thread."""

    def __init__(
        self, server: ImapServer, letters: Sequence[MailboxItem], step: _Step, wait_s: float
    ) -> None:
        self._server = server
        self._letters = letters
        self._step = step
        self._wait_s = wait_s
        self._session: ImapSession | None = None
        self._done: list[MoveResult] = []
        self._refused = ""  # what the server says of the login
        self._cut = False
        self.away = "cut off"  # why there is no answer; empty where there is one
        self.let_in = False

    def cut(self) -> None:
        """End it, from any thread."""
        self._cut = True
        if self._session is not None:
            self._session.cut()

    def run(self) -> None:
        """Ask for each letter; nothing leaves this but what `told` tells."""
        try:
            with ImapSession(self._server, wait_s=self._wait_s) as session:
                self._session = session
                if self._cut:
                    return
                session.enter(self._letters[0].user)
                self.let_in = True
                self._done = _answers(session, self._letters, self._step)
                self.away = ""
        except LoginError as error:
            refused = any(code in str(error).upper() for code in NO_LOGIN)
            self.away, self._refused = ("", str(error)) if refused else (f"no login: {error}", "")
        except Exception as error:  # noqa: BLE001 - the barrier: a server that talks nonsense raises anything
            self.away = self.away and (str(error) or type(error).__name__)

    def told(self, *, known: bool) -> list[MoveResult]:
        """Return the answers.

        Args:
            known: the server knows the master user.
        """
        if self._done:
            return self._done
        done = MoveResult(
            MoveOutcome.UNABLE if known else MoveOutcome.BUSY, f"no login: {self._refused[:200]}"
        )
        return [done] * len(self._letters)


def _answers(session: ImapSession, letters: Sequence[MailboxItem], step: _Step) -> list[MoveResult]:
    try:
        return step(session, letters)
    except ImapUnsupported as error:
        done = MoveResult(MoveOutcome.UNABLE, str(error))
    except IMAPClientAbortError:  # the connection is gone
        raise
    except IMAPClientError as error:
        done = MoveResult(
            MoveOutcome.UNABLE if no_room(error) else MoveOutcome.BUSY, str(error)[:200]
        )
    return [done] * len(letters)


def _look(
    session: ImapSession, letters: Sequence[MailboxItem], *, source: str, guard: MoveGuard
) -> list[MoveResult]:
    copy_lists = session.find(letters, source)
    if copy_lists is None:
        return [MoveResult(MoveOutcome.UNABLE, f"no folder {source}")] * len(letters)
    done = [expected_result([copy.found for copy in copies], guard) for copies in copy_lists]
    return _completed(session, letters, done, looked=True)


def _move(
    session: ImapSession,
    letters: Sequence[MailboxItem],
    *,
    source: str,
    target: str,
    guard: MoveGuard,
    force: bool,
) -> list[MoveResult]:
    copy_lists = session.find(letters, source)
    if copy_lists is None:
        return [MoveResult(MoveOutcome.UNABLE, f"no folder {source}")] * len(letters)
    may = [
        copy
        for copies in copy_lists
        for copy in copies
        if copy.found.stays(guard, force=force) is None
    ]
    left = {copy.uid: copy.found for copies in copy_lists for copy in copies}
    stale = [
        uid
        for uid, located in left.items()
        if located.has(MOVING) and located.stays(guard, force=force)
    ]
    if stale:  # of a move that was not made: a person's word about it counts again
        session.open(source)
        session.remove_flags(stale, MOVING, silent=True)
    if may:
        copied = _copied(session, letters, copy_lists, target)
        session.open(source)
        for copy in may:
            del left[copy.uid]
        left |= _carried(session, may, source, target, guard, force=force, copied=copied)
    arrived = _settled(session, session.find(letters, target), target) or [[] for _ in letters]
    done = [
        move_result(
            [*[left[copy.uid] for copy in copies if copy.uid in left], *came],
            source,
            target,
            guard,
            force=force,
        )
        for copies, came in zip(copy_lists, arrived, strict=True)
    ]
    return _completed(session, letters, done, looked=False)


def _copied(
    session: ImapSession,
    letters: Sequence[MailboxItem],
    copy_lists: Sequence[Sequence[ImapCopy]],
    target: str,
) -> set[int]:
    """Return what a move in two steps has left behind after the first."""
    if session.has_capability("MOVE"):
        return set()
    arrived = session.find(letters, target) or [[] for _ in letters]
    return {
        copy.uid
        for copies, came in zip(copy_lists, arrived, strict=True)
        for copy in copies
        if copy.found.has(MOVING) and any(copy.found.has(MOVING) for copy in came)
    }


def _carried(
    session: ImapSession,
    may: Sequence[ImapCopy],
    source: str,
    target: str,
    guard: MoveGuard,
    *,
    force: bool,
    copied: Collection[int],
) -> dict[int, LocatedCopy]:
    """Move what may go, out of the folder that is open; return what stays after all."""
    marked = {copy.uid: copy.found for copy in session.mark(may, source)}
    going = [
        uid
        for uid, located in marked.items()
        if located.has(MOVING) and located.stays(guard, force=force) is None
    ]
    staying = [uid for uid in marked if uid not in going]
    if staying:
        session.remove_flags(staying, MOVING, silent=True)
    if going:
        try:
            session.carry(going, target, copied=copied)
        except (ImapUnsupported, IMAPClientError):
            session.remove_flags(going, MOVING, silent=True)
            raise
    return {uid: marked[uid] for uid in staying}


def _settled(
    session: ImapSession, copy_lists: Sequence[Sequence[ImapCopy]] | None, target: str
) -> list[list[LocatedCopy]] | None:
    """Make OboronaMoving to OboronaMoved in the target.

    Return its copies as they are then, None when there is no such folder.
    """
    if copy_lists is None:
        return None
    uids = [copy.uid for copies in copy_lists for copy in copies if copy.found.has(MOVING)]
    if uids:
        session.open(target)
        session.add_flags(uids, MOVED, silent=True)
        session.remove_flags(uids, MOVING, silent=True)
    settled = {MOVING.lower(): MOVED.lower()}
    return [
        [
            LocatedCopy(target, frozenset(settled.get(flag, flag) for flag in copy.found.flags))
            for copy in copies
        ]
        for copies in copy_lists
    ]


def _completed(
    session: ImapSession,
    letters: Sequence[MailboxItem],
    done: Sequence[MoveResult | None],
    *,
    looked: bool,
) -> list[MoveResult]:
    """Answer for letters that were in no folder that was looked into."""
    lost = [letter for letter, result in zip(letters, done, strict=True) if result is None]
    elsewhere = session.everywhere(lost) if lost else []
    rest = iter([result_elsewhere(copies, looked=looked) for copies in elsewhere])
    return [result or next(rest) for result in done]
