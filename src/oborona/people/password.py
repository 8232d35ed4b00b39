"""Passwords: which are good enough, and argon2id over them, two at a time.

Whoever is asked about costs one computation, whether they exist or not: a wrong name tells no more
than a wrong password.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from oborona.people.person import PeopleError

MAX_PASSWORD: Final = 1024  # octets
LEAST: Final = 12  # characters
MEMORY_KIB: Final = 64 * 1024  # RFC 9106 section 4, the second choice
PASSES: Final = 3
LANES: Final = 4
AT_ONCE: Final = 2  # 128 MiB at most, and two cores
PATIENCE_S: Final = 5.0  # for a turn; thirty that come together have one within it
# argon2id with the same costs over octets that were thrown away
NOBODY: Final = (
    "$argon2id$v=19$m=65536,t=3,p=4$UCACks9Ww1pNFbDOI58+Ng"
    "$RIllbAwjohnsLF/isoXUehP4Ie0MZtXlSXpEboQFqak"
)

_HASHER: Final = PasswordHasher(
    time_cost=PASSES, memory_cost=MEMORY_KIB, parallelism=LANES, type=Type.ID
)
_turns: Final = threading.BoundedSemaphore(AT_ONCE)


class PasswordError(PeopleError):
    """A new password is not good enough."""


class CrowdError(PeopleError):
    """More passwords wait to be looked at than have a turn soon."""


def hash_password(password: str, name: str) -> str:
    """Return what is kept of a new password.

    Args:
        password: as it was given.
        name: of the person, which a password is not.

    Raises:
        PasswordError: it is not good enough.
        CrowdError: too many wait.
    """
    octets = _octets(password)
    if octets is None:
        raise PasswordError(f"a password has at most {MAX_PASSWORD} octets, all of them Unicode")
    if len(password) < LEAST:
        raise PasswordError(f"a password has at least {LEAST} characters")
    if len(set(password)) < LEAST // 3 or (name and password.lower() == name):
        raise PasswordError("that password would be guessed; take several words")
    with _turn():
        return _HASHER.hash(octets)


def is_password(kept: str, password: str) -> bool:
    """Return whether a password is the one of which this is kept; it costs the same if nothing is.

    Args:
        kept: as `hash_password` returned it; empty = nobody's, and no password is that.
        password: as it was given.

    Raises:
        CrowdError: too many wait.
    """
    octets = _octets(password)
    with _turn():
        try:
            _HASHER.verify(kept or NOBODY, octets or b"")
        except (VerificationError, InvalidHashError):
            return False
    return bool(kept) and octets is not None


def _octets(password: str) -> bytes | None:
    """Return a password as it is hashed: NFC, as RFC 8265 section 4.2 has it; None = it is none."""
    if len(password) > MAX_PASSWORD:
        return None
    try:
        octets = unicodedata.normalize("NFC", password).encode()
    except UnicodeEncodeError:
        return None
    return octets if len(octets) <= MAX_PASSWORD else None


@contextmanager
def _turn() -> Iterator[None]:
    if not _turns.acquire(timeout=PATIENCE_S):
        raise CrowdError("too many passwords are looked at just now; try again in a few seconds")
    try:
        yield
    finally:
        _turns.release()
