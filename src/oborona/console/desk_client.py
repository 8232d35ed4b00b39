"""Calls of the desk, over its socket file: JSON there and back, each with a deadline.

Who may what is the desk's to say: it is told the token of a session, and whose browser asks.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, overload

import aiohttp
import msgspec

from oborona.errors import OboronaError

ASK_S: Final = 5.0  # the desk's own deadline of an ask is shorter, and its answer tells more
SLACK_S: Final = 0.5
MAX_ANSWER: Final = 32 << 20  # bytes: a message with all of its evidence is some hundred kB
CONNECTIONS: Final = 32  # to the desk at once; further calls wait for one
MAX_AGENT: Final = 200  # characters of what a browser calls itself

AWAY: Final = 503
SLOW: Final = 504
ABSENT: Final = "absent"  # why: a store was not begun yet

T = TypeVar("T")


class DeskError(OboronaError):
    """A call that has no answer.

    Args:
        status: of HTTP: what the desk said, 503 where it is away, 504 where it took too long.
        text: why, in the desk's words.
        wait_s: seconds after which it may be tried again; 0: nothing is said of that.
        needs: right that is missing, or reason that must be given, where the desk says so.
        why: in a word, where a store is in the way, or the desk is slow or busy.
        store: that is not there yet, by the name of its file.
    """

    def __init__(
        self,
        status: int,
        text: str,
        wait_s: float = 0.0,
        needs: str = "",
        *,
        why: str = "",
        store: str = "",
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.wait_s = wait_s
        self.needs = needs
        self.why = why
        self.store = store

    @property
    def not_yet(self) -> bool:
        """Whether there is nothing yet, as what would hold it was not begun."""
        return self.why == ABSENT


class CallerPlace(NamedTuple):
    """Whose browser asks: what the audit log and the limits of logins are told.

    Args:
        token: of the session; empty: none.
        address: of the browser.
        agent: what it calls itself.
        desk: of another machine that is to be asked; empty: the one that we speak to.
    """

    token: str = ""
    address: str = ""
    agent: str = ""
    desk: str = ""


class _Refusal(msgspec.Struct):
    error: str = ""
    wait_s: float = 0.0
    needs: str = ""
    why: str = ""
    store: str = ""


class DeskClient:
    """Speaks to the desk.

    Args:
        path: of its socket file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close its connections."""
        if self._session is not None:
            await self._session.close()

    @overload
    async def call(
        self, name: str, asked: object, place: CallerPlace, *, within_s: float = ASK_S
    ) -> Any: ...

    @overload
    async def call(
        self, name: str, asked: object, place: CallerPlace, answer: type[T], within_s: float = ASK_S
    ) -> T: ...

    async def call(
        self,
        name: str,
        asked: object,
        place: CallerPlace,
        answer: Any = Any,
        within_s: float = ASK_S,
    ) -> Any:
        """Make a call and return its answer.

        Args:
            name: of the call.
            asked: what JSON can carry.
            place: whose browser asks.
            answer: type of the answer; further fields of it are passed over.
            within_s: seconds that it may take.

        Raises:
            DeskError: it has no answer.
        """
        status, body = await self.pass_on("POST", name, msgspec.json.encode(asked), place, within_s)
        if status >= 300:
            refusal = _refusal(body)
            raise DeskError(
                SLOW if refusal.why == "slow" else status,
                refusal.error or f"status {status}",
                refusal.wait_s,
                refusal.needs,
                why=refusal.why,
                store=refusal.store,
            )
        try:
            return msgspec.json.decode(body, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DeskError(
                502, f"{name}: the desk answers what is not expected: {error}"
            ) from error

    async def pass_on(
        self, method: str, name: str, body: bytes, place: CallerPlace, within_s: float
    ) -> tuple[int, bytes]:
        """Ask as somebody else wrote it; return the status and what is answered.

        Args:
            method: GET or POST.
            name: of the call, or what else is behind /v1/.
            body: a JSON object.
            place: whose call it is.
            within_s: seconds that it may take.

        Raises:
            DeskError: there is no answer.
        """
        try:
            async with (
                # the desk that asks another one has until then, and tells more
                asyncio.timeout(within_s + (SLACK_S if place.desk else 0)),
                self._connected().request(
                    method,
                    f"http://desk/v1/{name}",
                    data=io.BytesIO(body),  # sent in pieces: a text of a draft has megabytes
                    headers=_headers(place, within_s),
                    allow_redirects=False,
                ) as response,
            ):
                return response.status, await _whole(response)
        except TimeoutError as error:
            raise DeskError(SLOW, f"{name}: no answer within {within_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise DeskError(AWAY, f"the desk is away: {error}") from error

    def _connected(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self._path), limit=CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # each call has its own
                trust_env=False,
            )
        return self._session


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """Return the body of an answer.

    Raises:
        DeskError: it is larger than any answer is.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MAX_ANSWER:
            raise DeskError(502, f"the desk's answer has more than {MAX_ANSWER} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def _headers(place: CallerPlace, within_s: float) -> Mapping[str, str]:
    headers = {"Content-Type": "application/json"}
    if place.token:
        headers["Authorization"] = f"Bearer {place.token}"
    if place.address:
        headers["X-Client-Address"] = place.address
    if place.agent:
        headers["X-Client-Agent"] = place.agent[:MAX_AGENT]
    if place.desk:
        headers |= {"X-Desk": place.desk, "X-Within": f"{within_s:.3f}"}
    return headers


def _refusal(body: bytes) -> _Refusal:
    try:
        return msgspec.json.decode(body, type=_Refusal)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Refusal()
