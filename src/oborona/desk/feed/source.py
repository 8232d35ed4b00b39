"""Where a feed lies: a folder behind https://, or of this machine (file://).

Nothing is followed, unpacked or kept: redirects are refused, contents come as they are, and each
file has a length beyond which it is not read.
"""

from __future__ import annotations

import ssl
import stat
import time
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from oborona.desk.call import CallError
from oborona.desk.owner import as_asker
from oborona.desk.policy.file_set import read_plain
from oborona.errors import PeerError, StoreError

_SILENCE_S: Final = 20.0  # of a server
_PIECE: Final = 1 << 16


class FeedSource:
    """A folder that files are fetched from.

    Args:
        url: of the folder.
        within_s: all of them are to be there within this.
    """

    def __init__(self, url: str, within_s: float) -> None:
        self._url = url.rstrip("/")
        self._parts = urlsplit(self._url)
        self._until = time.monotonic() + within_s
        self._within_s = within_s

    def fetch(self, name: str, most: int) -> bytes:
        """Return what is in a file.

        Args:
            name: its path below the folder, of our making.
            most: octets; one that is larger is refused.

        Raises:
            CallError: it is larger, or not what a feed's server answers.
            PeerError: the server does not answer, or not in time.
        """
        if self._parts.scheme == "file":
            return self._read(Path(unquote(self._parts.path)) / name, most)
        try:
            return self._ask(self._parts, name, most)
        except (OSError, HTTPException, ValueError) as error:
            raise PeerError(f"{self._url}/{name}: {str(error) or type(error).__name__}") from error

    def _read(self, path: Path, most: int) -> bytes:
        try:
            with as_asker():
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and status.st_size > most:
                    raise CallError(f"{path}: larger than {most:,} octets")
                return read_plain(path, most, links=False)
        except StoreError as error:
            raise PeerError(str(error)) from error
        except OSError as error:
            raise PeerError(f"{path}: {error.strerror}") from error

    def _ask(self, parts: SplitResult, name: str, most: int) -> bytes:
        connection = HTTPSConnection(
            parts.hostname or "",
            parts.port,
            timeout=_SILENCE_S,
            context=ssl.create_default_context(),
        )
        try:
            connection.request(
                "GET",
                f"{parts.path}/{name}",
                headers={"Accept-Encoding": "identity", "User-Agent": "oborona"},
            )
            return self._body(connection.getresponse(), name, most)
        finally:
            connection.close()

    def _body(self, response: HTTPResponse, name: str, most: int) -> bytes:
        where = f"{self._url}/{name}"
        if response.status != 200:
            led = response.headers.get("Location", "") if 300 <= response.status < 400 else ""
            raise CallError(
                f"{where}: the server answers {response.status}"
                + (f"; it is not followed to {led[:200]!a}" if led else "")
            )
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise CallError(f"{where}: the server packs what nobody asked it to pack")
        raw = bytearray()
        while piece := response.read1(_PIECE):
            raw += piece
            if len(raw) > most:
                raise CallError(f"{where}: larger than {most:,} octets")
            if time.monotonic() > self._until:
                raise PeerError(f"{where}: not all of the feed came in {self._within_s:g} s")
        if response.length:
            raise PeerError(f"{where}: the server broke off, {response.length:,} octets missing")
        return bytes(raw)
