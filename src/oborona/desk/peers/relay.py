"""The home desk asks desks of other machines for its people: by TLS in which both show their
certificates, each call with a voucher.

What the other one answers is passed on as it came.  What comes to nothing between both is 502 or
504, with why in words: never 401, which would be of the session here.
"""

from __future__ import annotations

import asyncio
import io
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import msgspec
from aiohttp import web

from oborona.config.address import InetAddress
from oborona.desk.call_threads import json_octets
from oborona.desk.peers.identity import DeskIdentity, known_desks, tls_context
from oborona.desk.peers.voucher import HomeDesk
from oborona.doors.web import error_answer
from oborona.errors import ConfigError
from oborona.people.caller import Caller

MAX_ANSWER: Final = 32 << 20  # bytes, as of a desk's own answers
CONNECTIONS: Final = 8  # to one desk
AWAY: Final = 502
SLOW: Final = 504
SEPARATOR: Final = b"\n"  # between a voucher and what the call is told


class OtherDesk(NamedTuple):
    """A desk of another machine.

    Args:
        address: where it is.
        mark: of its certificate.
        tls: takes that certificate alone.
    """

    address: InetAddress
    mark: str
    tls: ssl.SSLContext


class _RefusalWords(msgspec.Struct):
    error: str = ""


class DeskRelay:
    """Asks them.

    Args:
        home: what is said of who asks.
        desks: by name.
    """

    def __init__(self, home: HomeDesk, desks: Mapping[str, OtherDesk]) -> None:
        self._home = home
        self._desks = desks
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    def knows(self, name: str) -> bool:
        """Return whether there is a desk of this name."""
        return name in self._desks

    async def close(self) -> None:
        """Close its connections."""
        for session in self._sessions.values():
            await session.close()

    async def ask(
        self, desk: str, call: str, body: bytes, caller: Caller, within_s: float
    ) -> web.Response:
        """Return what another desk answers, or why it does not.

        Args:
            desk: its name.
            call: that is made.
            body: what it is told.
            caller: who makes it.
            within_s: seconds that it may take.
        """
        other = self._desks[desk]
        voucher = self._home.vouch(caller, other.mark, call, body, time.time())
        host = f"[{other.address.host}]" if other.address.v6 else other.address.host
        try:
            async with (
                asyncio.timeout(within_s),
                self._session(desk).post(
                    f"https://{host}:{other.address.port}/v1/{call}",
                    data=io.BytesIO(voucher + SEPARATOR + body),
                    headers={"Content-Type": "application/octet-stream"},
                    allow_redirects=False,
                ) as response,
            ):
                answer = await _whole(response)
                status = response.status
        except TimeoutError:
            return error_answer(SLOW, f"no answer within {within_s:.3g} s")
        except aiohttp.ClientConnectorCertificateError:
            return error_answer(AWAY, "it shows another certificate than the one known here")
        except (aiohttp.ClientError, OSError) as error:
            return error_answer(AWAY, f"it can't be reached: {error}")
        if answer is None:
            return error_answer(AWAY, f"its answer has more than {MAX_ANSWER} bytes")
        if status == 401:
            return error_answer(AWAY, _words(answer))
        return json_octets(status, answer)

    def _session(self, desk: str) -> aiohttp.ClientSession:
        if desk not in self._sessions:
            self._sessions[desk] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=self._desks[desk].tls, limit=CONNECTIONS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),  # each call has its own
                trust_env=False,
            )
        return self._sessions[desk]


def open_relay(
    identity: DeskIdentity, name: str, desks: Mapping[str, InetAddress], folder: str
) -> DeskRelay:
    """Return a relay to the desks of the settings.

    Args:
        identity: of this desk.
        name: of this site.
        desks: where each is.
        folder: with the certificate of each, NAME.pem.

    Raises:
        ConfigError: one is missing, or can't be used.
    """
    if not folder:
        raise ConfigError("console.desks needs console.desk_certificates: by what they are known")
    others = {}
    for desk, address in desks.items():
        path = Path(folder) / f"{desk}.pem"
        known = known_desks(path)
        if len(known) != 1:
            raise ConfigError(f"{path}: one certificate is wanted, there are {len(known)}")
        others[desk] = OtherDesk(address, known[0].mark, tls_context(identity, path, serves=False))
    return DeskRelay(HomeDesk(identity.key, identity.mark, name), others)


async def _whole(response: aiohttp.ClientResponse) -> bytes | None:
    """Return the body of an answer; None: it is larger than any answer is."""
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        size += len(piece)
        if size > MAX_ANSWER:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _words(answer: bytes) -> str:
    try:
        return msgspec.json.decode(answer, type=_RefusalWords).error or "it refuses"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "it refuses"
