"""The site's secret: 32 random bytes in the state folder, from which each purpose gets a key of its
own.

Who has it can compute shingles (and so aim at other people's counters) and sign X-Mras-Id. Losing
it loses every count and makes old signatures void, so it is made once, never replaced, and belongs
into the backup.

Beside what hangs on it lies a note, `secret.known`: a hash under the secret, which tells whether
this is the one that it was begun with and tells nothing else. Where the secret is gone or is
another one, nothing starts: a new one would make all of it mean nothing, without a word.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona import state_files
from oborona.errors import StoreAbsent, StoreError, StoreForeign

_KNOWN: Final = b"known"  # what the note's hash is personalised with
LENGTH: Final = 32  # bytes: nobody searches 256 bits


class SiteKeys(msgspec.Struct, frozen=True, kw_only=True):
    """One key for each purpose, 32 bytes each; none tells anything of another or of the secret."""

    shingles: bytes
    signature: bytes
    feedback: bytes  # what people speak of: nobody else can tell which messages that were
    eventlog: bytes  # persons in tables of events
    audit: bytes  # the chain of the audit log
    digest: bytes  # links of digests


def keys(secret: bytes) -> SiteKeys:
    """Return the keys that follow from a secret.

    Source: BLAKE2b keyed and personalised, RFC 7693 section 2.
    """
    return SiteKeys(
        **{
            purpose: hashlib.blake2b(
                key=secret, person=purpose.encode(), digest_size=LENGTH
            ).digest()
            for purpose in SiteKeys.__struct_fields__
        }
    )


UNKEYED: Final = keys(b"\0" * LENGTH)
"""For looking at a message where there is no site: the same hashes everywhere, fit for nothing but
showing.
"""


def load(state: Path) -> SiteKeys:
    """Return the keys of a site.

    Args:
        state: the state folder.

    Raises:
        StoreForeign: the state was begun with another secret.
        StoreError: no secret, or one that can't be read or is cut short.
    """
    secret = _read(state / state_files.SECRET)
    check(secret, state, state)
    return keys(secret)


def make(state: Path, begun: Collection[Path] = (), *, noted: Collection[Path] = ()) -> SiteKeys:
    """Return the keys of a site, making its secret when there is none and nothing hangs on one yet.

    The file appears whole or not at all, readable by its owner alone; of two processes that make it
    at once both get the same.

    Args:
        state: the state folder.
        begun: files that hang on a secret: where one is there, none is made.
        noted: folders, besides the state folder itself, that keep a note of the secret they were
            begun with.

    Raises:
        StoreForeign: there is none, and there was one; or what is there was begun with another.
        StoreError: it can't be read or written.
    """
    path = state / state_files.SECRET
    if not path.exists():
        lost = next(
            (file for file in (state / state_files.SECRET_NOTE, *begun) if file.exists()), None
        )
        if lost is not None:
            raise StoreForeign(
                f"{path} is gone, and {lost} was begun with it: put it back from a backup "
                f"(`oborona restore`);"
                f" with a new one every count and id would mean nothing. If it is lost, move "
                f"{state} away: all begins anew"
            )
        _make(path, secrets.token_bytes(LENGTH))
    secret = _read(path)
    for folder in (state, *noted):
        if not check(secret, state, folder):
            _make(folder / state_files.SECRET_NOTE, _note(secret))
    return keys(secret)


def check(secret: bytes, state: Path, folder: Path) -> bool:
    """Return whether a folder has a note of this secret; False where it has none.

    Raises:
        StoreForeign: it has the note of another. StoreError: it can't be read.
    """
    try:
        note = (folder / state_files.SECRET_NOTE).read_bytes()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{folder / state_files.SECRET_NOTE}: {error.strerror}") from error
    if note != _note(secret):
        raise StoreForeign(
            f"{state / state_files.SECRET} is not the secret that {folder} was begun with: its "
            f"counts and ids mean nothing under this one;"
            " put back the one that belongs to it, from the same backup"
        )
    return True


def _note(secret: bytes) -> bytes:
    return hashlib.blake2b(key=secret, person=_KNOWN, digest_size=16).hexdigest().encode() + b"\n"


def _read(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except FileNotFoundError as error:
        raise StoreAbsent(f"{path}: {error.strerror}", path.name) from error
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    if len(secret) != LENGTH:
        raise StoreError(
            f"{path}: {len(secret)} bytes instead of {LENGTH}: restore it from a backup; "
            f"a new one voids every count"
        )
    return secret


def _make(path: Path, octets: bytes) -> None:
    """Make a file whole, unless another process was first, whose file stays."""
    try:
        descriptor, fresh = tempfile.mkstemp(
            prefix=f".{path.name}.", dir=path.parent
        )  # readable by its owner alone
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(octets)
                file.flush()
                os.fsync(descriptor)
            with suppress(FileExistsError):
                os.link(fresh, path)
        finally:
            Path(fresh).unlink()
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)  # every count to come hangs on this name
        finally:
            os.close(folder)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
