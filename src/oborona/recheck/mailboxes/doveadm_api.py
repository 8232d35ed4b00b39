"""The HTTP API of Dovecot's doveadm: several commands in one request, one answer each.

    POST URL    Authorization: X-Dovecot-API BASE64(KEY)
    [["fetch", {"user": "joe", ...}, "0"], ...]
    → [["doveadmResponse", [{...}, ...], "0"], ["error", {"exitCode": 67}, "1"], ...]

A command that Dovecot 2.3 can't parse ends its process, and the answers to all other commands of
the request are lost; a command that fails half-way can leave an answer that is no JSON.  Both raise
`GarbledReply`: the caller then tries the commands one by one.

Source: Dovecot, "Doveadm HTTP API" (doc.dovecot.org, 2.3); exit statuses: sysexits.h.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import aiohttp
import msgspec

from oborona.errors import PeerError
from oborona.recheck.mailboxes.requests import LINGER_S

MAX_ANSWER: Final = 4 << 20  # bytes; an answer for one letter has some hundred
SEPARATOR: Final = "|oborona|"  # between commands of a batch; no folder or flag is called so
NO_USER: Final = 67
NOT_FOUND: Final = 68  # such a folder
NOT_POSSIBLE: Final = 65
TRY_AGAIN: Final = 75
NOT_PERMITTED: Final = 77


class GarbledReply(PeerError):  # noqa: N818 - reads as what happened
    """The reply is invalid or cut off: a single command may have spoiled it."""


class DoveadmCommand(NamedTuple):
    """One command."""

    name: str
    parameters: Mapping[str, object]


class DoveadmReply(NamedTuple):
    """The answer to one command."""

    status: int  # 0 is success; else as sysexits.h has it
    rows: Sequence[Mapping[str, str]]  # of what was fetched


class _KnownCommands(msgspec.Struct):
    command: str


class DoveadmApi:
    """One Dovecot.

    Args:
        url: of its API.
        key: of its API.
    """

    def __init__(self, url: str, key: bytes) -> None:
        self._url = url
        self._headers = {"Authorization": f"X-Dovecot-API {base64.b64encode(key).decode()}"}
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    async def ask(self, commands: Sequence[DoveadmCommand]) -> list[DoveadmReply]:
        """Have commands carried out, in their order.

        Args:
            commands: at least one.

        Raises:
            Garbled: it has carried out some of the commands, and said something else than their
                answers.
            PeerError: it is away, refuses, or does not answer within LINGER_S; which commands were
                carried out is not known.
        """
        body = [
            [command.name, command.parameters, str(place)] for place, command in enumerate(commands)
        ]
        return _answers(
            await self._fetch("POST", msgspec.json.encode(body)), len(commands), self._url
        )

    async def names(self) -> frozenset[str]:
        """Return the names of the commands that it has.

        Raises:
            PeerError: as for `ask`.
        """
        body = await self._fetch("GET", b"")
        try:
            return frozenset(
                command.command for command in msgspec.json.decode(body, type=list[_KnownCommands])
            )
        except (msgspec.DecodeError, ValueError, RecursionError):
            raise PeerError(f"{self._url} answers what is no answer: {body[:60]!r}") from None

    async def _fetch(self, method: str, body: bytes) -> bytes:
        if self._closed:
            raise PeerError("mailboxes are closed")
        try:
            async with asyncio.timeout(LINGER_S):
                return await self._request(method, body)
        except TimeoutError:
            raise PeerError(f"{self._url} does not answer within {LINGER_S:g} s") from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError) as error:
            raise GarbledReply(f"{self._url}: {str(error) or type(error).__name__}") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PeerError(f"{self._url}: {str(error) or type(error).__name__}") from error

    async def _request(self, method: str, body: bytes) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers,
                connector=aiohttp.TCPConnector(limit=0),  # who asks counts
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        for last in (False, True):
            try:
                async with self._session.request(
                    method, self._url, data=body, allow_redirects=False
                ) as response:
                    if response.status == 401:
                        raise PeerError(f"{self._url} does not know the key of mailboxes.key_file")
                    if response.status != 200:
                        raise PeerError(f"{self._url} answers with status {response.status}")
                    answer = bytearray()
                    async for piece in response.content.iter_any():
                        answer += piece
                        if len(answer) > MAX_ANSWER:
                            raise PeerError(
                                f"{self._url} answers with more than {MAX_ANSWER >> 20} MiB"
                            )
                    return bytes(answer)
            except aiohttp.ServerDisconnectedError:
                if (
                    last
                    # else it had ended a connection of ours that was idle: all commands may be
                    # given again
                ):
                    raise
        raise AssertionError

    async def close(self) -> None:
        """End all connections; who waits for an answer gets a `PeerError`."""
        self._closed = True
        if self._session is not None:
            await self._session.close()


def batch(user: str, *commands: Sequence[str]) -> DoveadmCommand:
    """Return a command that has others carried out for one user, up to the first that fails.

    Dovecot 2.3 reads all its settings anew for each command, which costs more than most commands
    do; in a batch it does so once.  Only one of them may fetch: the rows of two come out as one.

    Args:
        user: whose mailbox.
        commands: each as doveadm's command line has it.
    """
    words: list[str] = []
    for command in commands:
        words += [SEPARATOR, *command] if words else command
    return DoveadmCommand("batch", {"user": user, "separator": SEPARATOR, "args": words})


def _answers(body: bytes, number: int, url: str) -> list[DoveadmReply]:
    try:
        rows = msgspec.json.decode(body, type=list[tuple[str, object, str]])
        answers = {int(tag): _answer(kind, content) for kind, content, tag in rows}
        return [answers[place] for place in range(number)]
    except (msgspec.DecodeError, ValueError, KeyError, RecursionError):
        raise GarbledReply(f"{url} answers what is no answer: {body[:60]!r}") from None


def _answer(kind: str, content: object) -> DoveadmReply:
    if kind == "doveadmResponse":
        return DoveadmReply(0, msgspec.convert(content, list[dict[str, str]]))
    fault = msgspec.convert(content, dict[str, object])
    status = fault.get("exitCode")
    if fault.get("type") != "exitCode" or not isinstance(status, int) or status == 0:
        raise ValueError(f"an error that is none of doveadm: {fault.get('type')!r}")
    return DoveadmReply(status, ())
