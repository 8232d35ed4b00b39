"""The tokens that clients of an HTTP door show: a file of them, read again when it changes."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
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
        self._digests = self._read()

    def refresh(self) -> None:
        """Read the file again if it changed; what was known stays in force where it can't be used.

        Raises:
            ConfigError: it can't be used; said once for each change.
        """
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._stamp = stamp
            self._digests = self._read()

    def knows(self, token: str) -> bool:
        """Tell whether this is one of them; takes the same time for any that is none."""
        return self._line_of(token) is not None

    def _line_of(self, token: str) -> str | None:
        """Return what follows a token in its line; None: it is none of them."""
        digest = _digest(token[: LONGEST + 1])
        # all are compared, whichever it is
        found = [more for known, more in self._digests if hmac.compare_digest(digest, known)]
        return found[0] if found else None

    def _split(self, line: str, number: int) -> tuple[str, str]:
        """Return the token of a line, and what follows it: here, nothing may.

        Raises:
            ConfigError: the rest is not what it should be.
        """
        return line, ""

    def _read(self) -> list[tuple[bytes, str]]:
        return _read(self._file, self._split)


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0, 0)
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(file: Path, split: Callable[[str, int], tuple[str, str]]) -> list[tuple[bytes, str]]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise ConfigError(f"tokens can't be read: {reason}", file=str(file)) from None
    digests = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        token, more = split(line.strip(), number)
        if not SHORTEST <= len(token) <= LONGEST or any(letter.isspace() for letter in token):
            raise ConfigError(
                f"a token has {SHORTEST} to {LONGEST} characters and no space",
                file=str(file),
                line=number,
            )
        digests.append((_digest(token), more))
    if not digests:
        raise ConfigError("holds no token: nobody could come in", file=str(file))
    if len(digests) > MOST:
        raise ConfigError(f"holds more than {MOST} tokens", file=str(file))
    return digests


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
