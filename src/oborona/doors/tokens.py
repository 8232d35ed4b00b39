"""The tokens that clients of an HTTP door show: a file of them, read again when it changes."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path
from typing import Final

from oborona.errors import ConfigError

SHORTEST: Final = 16  # characters: 96 bits of base64, which nobody tries out
LONGEST: Final = 512
MOST: Final = 1_000


class AccessTokens:
    """Who may speak.

    Args:
        file: one token a line; empty lines, and those that begin with #, are passed over.

    Raises:
        ConfigError: it can't be read, or holds no token, or one that is too short.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp = _stamp(file)
        self._digests = _read(file)

    def refresh(self) -> None:
        """Read the file again if it changed; what was known stays in force where it can't be used.

        Raises:
            ConfigError: it can't be used; said once for each change.
        """
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._stamp = stamp
            self._digests = _read(self._file)

    def knows(self, token: str) -> bool:
        """Tell whether this is one of them; takes the same time for any that is none."""
        digest = _digest(token[: LONGEST + 1])
        return bool(
            sum(hmac.compare_digest(digest, known_digest) for known_digest in self._digests)
        )


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(file: Path) -> list[bytes]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigError(f"tokens can't be read: {reason}", file=str(file)) from None
    digests = []
    for number, line in enumerate(text.splitlines(), 1):
        token = line.strip()
        if not token or token.startswith("#"):
            continue
        if not SHORTEST <= len(token) <= LONGEST or any(letter.isspace() for letter in token):
            raise ConfigError(
                f"a token has {SHORTEST} to {LONGEST} characters and no space",
                file=str(file),
                line=number,
            )
        digests.append(_digest(token))
    if not digests:
        raise ConfigError("holds no token: nobody could come in", file=str(file))
    if len(digests) > MOST:
        raise ConfigError(f"holds more than {MOST} tokens", file=str(file))
    return digests


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
