"""The folder of messages over which workers died: what is known of each, and of those that were set
apart the message itself.

    STATE/set-apart/IDENTITY.json   a message over which a worker died; written by the supervisor at
                                    each death
    STATE/set-apart/IDENTITY.eml    the message as it came; written by a worker that set it apart

An admin may take away what is in it at any time: a message whose `.json` is gone is judged as any
other again. Bounded: `MOST` messages and `MOST_BYTES` of them, none older than `AGE_S`; what is
oldest goes first, by `prune_suspects`.  Mode 0600: this is people's mail.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

import msgspec

from oborona import __version__, state_files
from oborona.errors import StoreError

DEATHS: Final = 2  # after which a message is not looked into any more: one may be bad luck
MOST: Final = 200
MOST_BYTES: Final = 64 * 1024 * 1024
AGE_S: Final = 30 * 86_400.0  # far longer than a mail server keeps trying


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A message over which a worker died."""

    identity: str  # hexadecimal
    deaths: int
    first: float  # Unix seconds
    last: float
    how: str  # the last worker ended
    queue_id: str = ""
    client: str = ""
    sender: str = ""
    version: str = __version__  # of Oborona: the next may have it mended

    @property
    def apart(self) -> bool:
        """Whether this version of Oborona does not look into it any more."""
        return self.deaths >= DEATHS and self.version == __version__


def read_suspects(state: Path, now: float) -> list[Suspect]:
    """Return what is known, the latest last; what can't be read, or is too old, is left out.

    Raises:
        StoreError: the folder is there and can't be read.
    """
    suspects = []
    try:
        files = sorted((state / state_files.SET_APART).glob("*.json"))
    except OSError as error:
        raise StoreError(f"{state / state_files.SET_APART}: {error.strerror}") from error
    for file in files:
        try:
            suspect = msgspec.json.decode(file.read_bytes(), type=Suspect)
            bytes.fromhex(suspect.identity)
        except (OSError, ValueError):  # gone, or no file of ours; a DecodeError is a ValueError
            continue
        if now - suspect.last <= AGE_S and suspect.identity == file.stem:
            suspects.append(suspect)
    return sorted(suspects, key=lambda suspect: suspect.last)


def write_suspect(state: Path, suspect: Suspect) -> None:
    """Write down what is known of one.

    Raises:
        StoreError: it can't be.
    """
    _write(state / state_files.SET_APART / f"{suspect.identity}.json", msgspec.json.encode(suspect))


def keep_message(state: Path, identity: str, raw: bytes) -> Path:
    """Keep the message itself; return its file.

    Raises:
        StoreError: it can't be.
    """
    file = message_file(state, identity)
    if not file.exists():
        _write(file, raw[:MOST_BYTES])
    return file


def message_file(state: Path, identity: str) -> Path:
    """Return where the message itself is, if it is kept."""
    return state / state_files.SET_APART / f"{identity}.eml"


def remove_suspect(state: Path, identity: str) -> bool:
    """Take away all of one message; return whether there was anything.

    Raises:
        StoreError: it can't be.
    """
    removed = False
    for file in (state / state_files.SET_APART / f"{identity}.json", message_file(state, identity)):
        try:
            file.unlink()
            removed = True
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(f"{file}: {error.strerror}") from error
    return removed


def prune_suspects(state: Path, now: float) -> None:
    """Take away what is too old, and the oldest of what is too much.

    What can't be taken away stays.
    """
    with contextlib.suppress(OSError, StoreError):
        suspects = {suspect.identity: suspect for suspect in read_suspects(state, now)}
        files = {file: file.stat() for file in (state / state_files.SET_APART).iterdir()}
        stems = {file.stem for file in files}
        order = sorted(
            stems & suspects.keys(),
            key=lambda stem: (suspects[stem].apart, suspects[stem].last),
            reverse=True,
        )
        octets = 0
        for place, stem in enumerate(order):
            own = [file for file in files if file.stem == stem]
            octets += sum(files[file].st_size for file in own)
            if place >= MOST or octets > MOST_BYTES:
                _unlink(own)
        _unlink(
            [
                file
                for file in files
                if file.stem not in suspects and now - files[file].st_mtime > 60.0
            ]
        )


def _unlink(files: list[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink()


def _write(file: Path, octets: bytes) -> None:
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:  # noqa: PTH123
            out.write(octets)
        fresh.replace(file)
    except OSError as error:
        raise StoreError(f"{file}: {error.strerror}") from error
