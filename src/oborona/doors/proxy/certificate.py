"""Our certificate for STARTTLS, read again when its files change: who renews it restarts
nothing.
"""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

log = logging.getLogger("oborona.proxy")


class TlsCertificate:
    """A certificate and its key.

    Args:
        certificate: file, PEM.
        key: file, PEM; empty: in the same.

    Raises:
        OSError: a file can't be read, or holds none; `ssl.SSLError` is one.
    """

    def __init__(self, certificate: str, key: str) -> None:
        self._files = [Path(certificate), Path(key)] if key else [Path(certificate)]
        self._seen = self._look()
        self._context = self._read()

    def context(self) -> ssl.SSLContext:
        """Return what connections are wrapped in; the last one that could be read."""
        try:
            stamps = self._look()
            if stamps != self._seen:
                self._context = self._read()
                self._seen = stamps
        except OSError as error:
            log.error("the new certificate can't be read: %s", error)  # noqa: TRY400 - the text says all
        return self._context

    def _look(self) -> list[tuple[int, int]]:
        return [
            (status.st_mtime_ns, status.st_ino) for status in (file.stat() for file in self._files)
        ]

    def _read(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._files[0], self._files[-1], password="")
        return context
