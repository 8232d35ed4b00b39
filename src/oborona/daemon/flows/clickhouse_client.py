"""ClickHouse, asked over HTTP: each question is a request, and each line of its answer a row.

    POST URL?param_start=…&readonly=2&wait_end_of_query=1&…    X-ClickHouse-User, X-ClickHouse-Key
    SELECT …
    → 200 and the rows, once the query has come to its end; else the words of an error

Questions are asked one by one, each on an event loop of its own: the flow process has no other.

Source: ClickHouse, "HTTP Interface" and "Settings" (clickhouse.com/docs).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from oborona.accounts.flows.clickhouse_sql import CLOCK, ClickHouseQuery
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.config.flows import FlowSettings
from oborona.errors import ConfigError, PeerError
from oborona.heartbeat import beat, beat_forever

ANSWER_OCTETS: Final = 4 << 30  # a million sources of six destinations each are 140 MB
ROW_OCTETS: Final = 128 << 10  # a thousand destinations of 40 digits each are 42 kB
WORDS_OCTETS: Final = 300  # of an error
SLACK_S: Final = (
    5.0  # beyond the time that ClickHouse may take: it says itself that it was too long
)
CODE: Final = "X-ClickHouse-Exception-Code"
TOO_MUCH: Final = frozenset({"158", "159", "160", "241", "307", "396"})
"""What one window may be too large for: rows, time, speed, memory, octets, rows of the answer.

Source: ClickHouse, src/Common/ErrorCodes.cpp.
"""
_SETTINGS: Final = {
    "readonly": "2",  # settings, and nothing else, may be changed
    "wait_end_of_query": "1",  # an error comes in place of the rows, never behind some of them
    "default_format": "JSONCompactEachRow",
    "output_format_json_quote_64bit_integers": "0",
}


class ClickHouseClient:
    """Asks one ClickHouse.

    Args:
        url: of its HTTP interface.
        user: "" for its default.
        password: "" for none.
        seconds: that it may take over one question.
    """

    def __init__(self, url: str, *, user: str, password: str, seconds: float) -> None:
        self._url = url
        self._headers = {
            name: value
            for name, value in (("X-ClickHouse-User", user), ("X-ClickHouse-Key", password))
            if value
        }
        self._seconds = seconds

    def ask(self, query: ClickHouseQuery, take: Callable[[bytes], None]) -> None:
        """Have a query answered, and give each line of the answer to a function.

        Raises:
            FileDamaged: the answer is none, is too large, or takes too long.
            PeerError: it is away, or refuses.
        """
        asyncio.run(self._ask(query, take))

    def clock(self) -> float:
        """Return its time, in Unix seconds.

        Raises:
            PeerError: it is away, refuses, or is no ClickHouse.
        """
        told: list[bytes] = []
        try:
            self.ask(CLOCK, told.append)
            (line,) = told
            return float(int(line.strip(b"[] \r")))
        except (FileDamaged, ValueError) as error:
            raise PeerError(f"{self._url} does not tell its time: is it ClickHouse?") from error

    async def _ask(self, query: ClickHouseQuery, take: Callable[[bytes], None]) -> None:
        beats = asyncio.create_task(beat_forever())
        try:
            async with asyncio.timeout(self._seconds + SLACK_S):
                await self._exchange(query, take)
        except TimeoutError:
            raise PeerError(f"{self._url} does not answer within {self._seconds:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PeerError(f"{self._url}: {_line(str(error) or type(error).__name__)}") from error
        finally:
            beats.cancel()
            with suppress(asyncio.CancelledError):
                await beats

    async def _exchange(self, query: ClickHouseQuery, take: Callable[[bytes], None]) -> None:
        parameters = {f"param_{name}": value for name, value in query.parameters.items()}
        async with (
            aiohttp.ClientSession(
                auto_decompress=False,  # nobody asked for that, and a bomb is one
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                skip_auto_headers=("User-Agent", "Accept-Encoding", "Content-Type"),
            ) as session,
            session.post(
                self._url,
                params=_SETTINGS | parameters | {"max_execution_time": f"{self._seconds:g}"},
                data=query.sql.encode(),
                headers=self._headers,
                allow_redirects=False,
            ) as answer,
        ):
            if answer.status != 200 or CODE in answer.headers:
                raise await self._refusal(answer)
            rest, octets = b"", 0
            async for piece in answer.content.iter_any():
                beat()
                octets += len(piece)
                *lines, rest = (rest + piece).split(b"\n")
                if octets > ANSWER_OCTETS or len(rest) > ROW_OCTETS:
                    raise FileDamaged("an answer that is too large")
                for line in lines:
                    take(line)
            if rest:
                raise FileDamaged("an answer whose last row does not end")

    async def _refusal(self, answer: aiohttp.ClientResponse) -> PeerError | FileDamaged:
        words = _line((await answer.content.read(WORDS_OCTETS)).decode("utf-8", "replace"))
        if answer.headers.get(CODE) in TOO_MUCH:
            return FileDamaged(words)
        return PeerError(f"{self._url} answers {answer.status}: {words}")


def _line(text: str) -> str:
    """Return the words of a peer as one line that can be shown."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:WORDS_OCTETS])
    return " ".join(shown.split())


def clickhouse_client(settings: FlowSettings, seconds: float | None = None) -> ClickHouseClient:
    """Return what asks the ClickHouse of the settings.

    Args:
        settings: of flows.
        seconds: that it may take over one question, in place of what they say.

    Raises:
        ConfigError: the file of the password can't be read.
    """
    password = ""
    if settings.password_file:
        try:
            password = Path(settings.password_file).read_text("utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"flows.password_file: {error}") from error
    return ClickHouseClient(
        settings.url,
        user=settings.user,
        password=password,
        seconds=settings.file_s if seconds is None else seconds,
    )
