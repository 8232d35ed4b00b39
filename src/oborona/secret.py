"""The site's secret: 32 random bytes in the state folder, from which each purpose gets a key of its own.

Who has it can compute shingles (and so aim at other people's counters) and sign X-Mras-Id. Losing it loses every count and makes old
signatures void, so it is made once, never replaced, and belongs into the backup.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona.errors import StoreError

FILE: Final = "secret"
LENGTH: Final = 32  # bytes: nobody searches 256 bits


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """One key for each purpose, 32 bytes each; none tells anything of another or of the secret."""

    shingles: bytes
    signature: bytes
    feedback: bytes  # what people speak of: nobody else can tell which messages that were


def keys(secret: bytes) -> Keys:
    """Return the keys that follow from a secret.

    Source: BLAKE2b keyed and personalised, RFC 7693 section 2.
    """
    return Keys(
        **{
            purpose: hashlib.blake2b(key=secret, person=purpose.encode(), digest_size=LENGTH).digest()
            for purpose in Keys.__struct_fields__
        }
    )


UNKEYED: Final = keys(b"\0" * LENGTH)
"""For looking at a message where there is no site: the same hashes everywhere, fit for nothing but showing."""


def load(state: Path) -> Keys:
    """Return the keys of a site.

    Args:
        state: the state folder.

    Raises:
        StoreError: no secret, or one that can't be read or is cut short.
    """
    path = state / FILE
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    if len(secret) != LENGTH:
        raise StoreError(
            f"{path}: {len(secret)} bytes instead of {LENGTH}: restore it from a backup; a new one voids every count"
        )
    return keys(secret)


def make(state: Path) -> Keys:
    """Return the keys of a site, making its secret when there is none.

    The file appears whole or not at all, readable by its owner alone; of two processes that make it at once both get the same.

    Raises:
        StoreError: it can't be read or written.
    """
    path = state / FILE
    if not path.exists():
        try:
            _make(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
    return load(state)


def _make(path: Path) -> None:
    descriptor, fresh = tempfile.mkstemp(prefix=f".{FILE}.", dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(LENGTH))
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):  # another process was first, and its secret stays
            os.link(fresh, path)
    finally:
        Path(fresh).unlink()
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)  # every count to come hangs on this name
    finally:
        os.close(folder)
