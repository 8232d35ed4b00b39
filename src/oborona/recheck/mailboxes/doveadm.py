r"""Mailboxes of a Dovecot, by the HTTP API of its doveadm: no message but the letter is touched.

A move is one batch of commands for one user:

    flags add OboronaMoving     in the source    to this letter, if nobody has opened it
    move                        in the source    what has OboronaMoving, if still nobody has opened
                                                 it
    flags add OboronaMoved      in the target    to what has OboronaMoving
    flags remove OboronaMoving  in the target
    fetch                       in both          where the letter is now: the only result that
                                                 counts

A batch that was cut off leaves OboronaMoving, and repeating it completes the move.  No other
message loses \Recent, and no IMAPSieve script runs.

Limits: `move` looks at the flags and then expunges: a reader who opens the letter in between, some
milliseconds at most, has seen a message that is in the spam folder then.  Folders of other
namespaces are searched only for letters that are in neither folder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from oborona.errors import PeerError
from oborona.recheck.mailboxes.doveadm_api import (
    NO_USER,
    NOT_FOUND,
    NOT_PERMITTED,
    NOT_POSSIBLE,
    DoveadmApi,
    DoveadmCommand,
    DoveadmReply,
    GarbledReply,
    batch,
)
from oborona.recheck.mailboxes.located_copy import (
    EARLIER_S,
    HANDLED,
    LocatedCopy,
    MoveGuard,
    expected_result,
    move_result,
    reason_unsearchable,
    result_elsewhere,
    same_folder,
    searchable_id,
)
from oborona.recheck.mailboxes.model import (
    HEADER,
    MOVED,
    MOVING,
    MailboxItem,
    MoveOutcome,
    MoveResult,
)
from oborona.recheck.mailboxes.requests import MailServerRequests

# in one request, at most: it spares 2 ms for each, and a mailbox that is locked keeps three others
# waiting
LETTERS: Final = 4
# requests in a row that failed, for one letter each: then the others of a call are not tried
GIVE_UP: Final = 3
FIELDS: Final = "uid mailbox flags"

_SYSTEM: Final = {"Seen", "Answered", "Flagged", "Deleted"}
_WORDS: Final = {
    NO_USER: "no such user",
    NOT_FOUND: "no such folder",
    NOT_POSSIBLE: "not possible: a quota, or a name that is none",
    NOT_PERMITTED: "not permitted",
}


class DoveadmMailboxes:
    """Mailboxes of one Dovecot; see `Mailboxes`.

    Args:
        api: of it.
        guard: what else keeps a message where it is.
        connections: requests at once, at most.
        deadline_s: for an answer.
    """

    def __init__(
        self, api: DoveadmApi, guard: MoveGuard, *, connections: int, deadline_s: float
    ) -> None:
        self._api = api
        self._guard = guard
        self._connections = connections
        self._requests = MailServerRequests(connections, deadline_s=deadline_s)

    async def look(self, letters: Sequence[MailboxItem], source: str) -> list[MoveResult]:
        """Tell what `move` would do, and change nothing that anybody can see."""
        answers = await self._run_commands(
            letters, lambda letter: _fetch(letter, ["mailbox", source])
        )
        done = [
            answer if isinstance(answer, MoveResult) else expected_result(answer, self._guard)
            for answer in answers
        ]
        return await self._completed(letters, done, looked=True)

    async def move(
        self, letters: Sequence[MailboxItem], source: str, target: str, *, force: bool = False
    ) -> list[MoveResult]:
        """Move what nobody has opened."""
        if same_folder(source, target):
            raise ValueError(f"from {source} to {target} is no move")

        absent = await self._absent(letters, source)

        def commands(letter: MailboxItem) -> DoveadmCommand:
            if letter in absent:
                return _fetch(letter, ["(", "mailbox", source, "OR", "mailbox", target, ")"])
            return self._move(letter, source, target, force=force)

        answers = await self._run_commands(letters, commands)
        answers = await self._with_folder(letters, answers, target, commands)
        await self._unmark(letters, answers, source)
        done = [
            answer
            if isinstance(answer, MoveResult)
            else move_result(answer, source, target, self._guard, force=force)
            for answer in answers
        ]
        return await self._completed(letters, done, looked=False)

    async def close(self) -> None:
        """Let go of connections."""
        await self._requests.close()
        await self._api.close()

    async def _absent(self, letters: Sequence[MailboxItem], source: str) -> frozenset[MailboxItem]:
        """Return the letters that are not in a folder which may be missing: `flags add` there ends
        the process of Dovecot 2.3.
        """
        if same_folder(source, "INBOX"):
            return frozenset()
        answers = await self._run_commands(
            letters, lambda letter: _fetch(letter, ["mailbox", source])
        )
        return frozenset(
            letter for letter, answer in zip(letters, answers, strict=True) if answer == []
        )

    async def _completed(
        self, letters: Sequence[MailboxItem], done: Sequence[MoveResult | None], *, looked: bool
    ) -> list[MoveResult]:
        """Answer for letters that were in no folder that was looked into."""
        lost = [letter for letter, answer in zip(letters, done, strict=True) if answer is None]
        answers = await self._run_commands(lost, lambda letter: _fetch(letter, ["mailbox", "*"]))
        rest = iter(
            [
                answer
                if isinstance(answer, MoveResult)
                else result_elsewhere(answer, looked=looked)
                for answer in answers
            ]
        )
        return [answer or next(rest) for answer in done]

    async def _with_folder(
        self,
        letters: Sequence[MailboxItem],
        results: Sequence[list[LocatedCopy] | MoveResult],
        target: str,
        commands: Callable[[MailboxItem], DoveadmCommand],
    ) -> list[list[LocatedCopy] | MoveResult]:
        """Make the target for those who have none, and try again."""
        missing = [place for place, result in enumerate(results) if result == _refused(NOT_FOUND)]
        if not missing:
            return list(results)
        retried = [letters[place] for place in missing]
        await self._run_commands(
            retried, lambda letter: batch(letter.user, ["mailbox", "create", "-s", target])
        )
        second = await self._run_commands(retried, commands)
        answers = dict(zip(missing, second, strict=True))
        return [answers.get(place, result) for place, result in enumerate(results)]

    async def _unmark(
        self,
        letters: Sequence[MailboxItem],
        results: Sequence[list[LocatedCopy] | MoveResult],
        source: str,
    ) -> None:
        """Take OboronaMoving from what did not go, so that a person's word about it counts."""
        marked = [
            letter
            for letter, result in zip(letters, results, strict=True)
            if result not in (_refused(NO_USER), _refused(NOT_FOUND))
            and not reason_unsearchable(letter)
            and (
                result.outcome is MoveOutcome.UNABLE
                if isinstance(result, MoveResult)
                else any(copy.has(MOVING) and same_folder(copy.mailbox, source) for copy in result)
            )
        ]
        await self._run_commands(
            marked,
            lambda letter: batch(
                letter.user,
                ["flags", "remove", MOVING, "mailbox", source, "KEYWORD", MOVING, *_which(letter)],
            ),
        )

    def _move(
        self, letter: MailboxItem, source: str, target: str, *, force: bool
    ) -> DoveadmCommand:
        which = _which(letter)
        may_go = ["KEYWORD", MOVED] if force else self._untouched(source)
        moving = ["KEYWORD", MOVING]
        return batch(
            letter.user,
            ["flags", "add", MOVING, "mailbox", source, *may_go, *which],
            ["move", target, "mailbox", source, *moving, *may_go, *which],
            ["flags", "add", MOVED, "mailbox", target, *moving, *which],
            ["flags", "remove", MOVING, "mailbox", target, *moving, *which],
            ["fetch", FIELDS, "(", "mailbox", source, "OR", "mailbox", target, ")", *which],
        )

    def _untouched(self, source: str) -> list[str]:
        """Return the query of messages that may be moved, the same as `LocatedCopy.stays` has
        it.
        """
        words = ["UNSEEN"]
        for flag in HANDLED:
            name = flag.removeprefix("\\")
            words += [f"UN{name.upper()}"] if name in _SYSTEM else ["UNKEYWORD", name]
        home = same_folder(source, self._guard.inbox)
        if home:
            words += ["UNKEYWORD", MOVED]
        if not self._guard.move_listed:
            words += ["RECENT"] if home else ["(", "RECENT", "OR", "KEYWORD", MOVED, ")"]
        return words

    async def _run_commands(
        self, letters: Sequence[MailboxItem], command: Callable[[MailboxItem], DoveadmCommand]
    ) -> list[list[LocatedCopy] | MoveResult]:
        """Give each letter's command; return what each found, or why not."""
        results: list[list[LocatedCopy] | MoveResult | None] = [
            reason_unsearchable(letter) for letter in letters
        ]
        places = [place for place, result in enumerate(results) if result is None]
        # what is one user's goes into one request
        places.sort(key=lambda place: letters[place].user)
        self._requests.anew()

        async def some(mine: Sequence[int]) -> None:
            commands = [command(letters[place]) for place in mine]
            owners = {letters[place].user for place in mine}
            try:
                answers = await self._requests.run(owners, lambda: self._api.ask(commands))
            except GarbledReply as error:
                if len(mine) > 1:  # one of them has spoiled it for all
                    await asyncio.gather(*(some([place]) for place in mine))
                else:
                    results[mine[0]] = MoveResult(MoveOutcome.BUSY, str(error))
            except PeerError as error:
                for place in mine:
                    results[place] = MoveResult(MoveOutcome.BUSY, str(error))
            else:
                for place, answer in zip(mine, answers, strict=True):
                    results[place] = _parse_reply(answer)

        size = max(1, min(LETTERS, len(places) // self._connections))
        await asyncio.gather(
            *(some(places[start : start + size]) for start in range(0, len(places), size))
        )
        return [
            result if result is not None else MoveResult(MoveOutcome.BUSY) for result in results
        ]


def _fetch(letter: MailboxItem, where: Sequence[str]) -> DoveadmCommand:
    return batch(letter.user, ["fetch", FIELDS, *where, *_which(letter)])


def _which(letter: MailboxItem) -> list[str]:
    """Return the query of one letter.

    The time first, which spares reading the headers of all others.
    """
    words = [
        "SINCE",
        str(max(0, int(letter.delivered - EARLIER_S))),
        "HEADER",
        HEADER,
        letter.ident,
    ]
    message_id = searchable_id(letter)
    return [*words, "HEADER", "Message-ID", message_id] if message_id else words


def _parse_reply(answer: DoveadmReply) -> list[LocatedCopy] | MoveResult:
    if answer.status:
        return _refused(answer.status)
    return [
        LocatedCopy.of(row.get("mailbox", ""), row.get("flags", "").split()) for row in answer.rows
    ]


def _refused(status: int) -> MoveResult:
    """Return what an exit status says; what is not known may pass."""
    if status in _WORDS:
        return MoveResult(MoveOutcome.UNABLE, _WORDS[status])
    return MoveResult(MoveOutcome.BUSY, f"doveadm ends with status {status}")
