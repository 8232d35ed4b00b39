"""A page of memory that the publisher and the workers share: the policy that is offered, the one in
force, and the policy that each worker is ready for.

A file of 64-bit words, each written by one process alone and in one machine instruction, so that no
reader sees half of one. A policy is one word: 16 bits of a number that changes with every
publication, 48 bits of its version.

    0  a mark of this format   1  the policy in force   2  the policy that is offered   3
                               publications so far
    8 + 3 n  the process of worker n, 0 = none   9 + 3 n  what it is ready for   10 + 3 n  what it
             can't load

Limits: one machine; a file that somebody cuts short kills who reads it, as any memory-mapped file
does.
"""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path
from typing import Final

from oborona.doorbell import ring
from oborona.errors import StoreError
from oborona.ident import WORKERS
from oborona.policy.version import LENGTH as VERSION_LENGTH

NOTHING: Final = 0
_MARK: Final = 0x4F424F524F4E4131  # "OBORONA1"
_ACTIVE, _OFFERED, _COUNT, _FIRST, _EACH = 1, 2, 3, 8, 3
_WORDS: Final = _FIRST + _EACH * WORKERS
_VERSION_BITS: Final = 4 * VERSION_LENGTH
_NUMBERS: Final = 1 << (64 - _VERSION_BITS)


def word_of(number: int, version: str) -> int:
    """Return a publication as one word.

    Args:
        number: of the publication, from 1 on; it begins again at 1 after 65,535.
        version: of the policy, hex.
    """
    return (1 + (number - 1) % (_NUMBERS - 1)) << _VERSION_BITS | int(version, 16)


def number_of(word: int) -> int:
    """Return the number of a publication, 0 for `NOTHING`."""
    return word >> _VERSION_BITS


def version_of(word: int) -> str:
    """Return the version of a policy as the policy says it."""
    return f"{word & ((1 << _VERSION_BITS) - 1):0{VERSION_LENGTH}x}"


class PolicyPage:
    """The page, open for reading and writing.

    Args:
        path: its file.

    Raises:
        StoreError: it is not there, is not such a page, or can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_size != _WORDS * 8:
                    raise StoreError(f"{path}: is not a page of policies")
                self._map = mmap.mmap(descriptor, _WORDS * 8)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        self._words = memoryview(self._map).cast("Q")
        if self._words[0] != _MARK:
            self.close()
            raise StoreError(f"{path}: is not a page of policies")

    @classmethod
    def make(cls, path: Path) -> PolicyPage:
        """Put a new page, on which nothing is in force, in the place of whatever is there.

        Who has the old one open keeps it.

        Raises:
            StoreError: it can't be written.
        """
        fresh = path.with_name(f".{path.name}")
        try:
            fresh.unlink(missing_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "wb") as handle:  # noqa: PTH123 - a descriptor
                handle.write(_MARK.to_bytes(8, sys.byteorder))
                handle.write(bytes(8 * (_WORDS - 1)))
            fresh.replace(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}") from error
        return cls(path)

    def close(self) -> None:
        """Let it go; a second call does nothing."""
        self._words.release()
        self._map.close()

    @property
    def active(self) -> int:
        """The policy in force."""
        return self._words[_ACTIVE]

    @active.setter
    def active(self, word: int) -> None:
        self._words[_ACTIVE] = word
        ring(self._path)

    @property
    def offered(self) -> int:
        """The policy that workers are to make ready; the one in force where there is no other."""
        return self._words[_OFFERED]

    @offered.setter
    def offered(self, word: int) -> None:
        self._words[_OFFERED] = word
        ring(self._path)

    def named(self, version: str) -> int:
        """Return the word of a new publication.

        No two of this page, near to each other, have the same, whoever publishes.
        """
        self._words[_COUNT] += 1
        return word_of(self._words[_COUNT], version)

    def enter(self, worker: int, pid: int) -> None:
        """Say that a worker runs, and is ready for nothing yet."""
        first = _FIRST + _EACH * worker
        self._words[first + 1] = self._words[first + 2] = NOTHING
        self._words[first] = pid

    def leave(self, worker: int) -> None:
        """Say that nobody need wait for a worker any more."""
        self._words[_FIRST + _EACH * worker] = 0

    def is_ready(self, worker: int, word: int) -> None:
        """Say that a worker can judge by a policy from one moment to the next."""
        self._words[_FIRST + _EACH * worker + 1] = word

    def set_failed(self, worker: int, word: int) -> None:
        """Say that a worker can't load a policy."""
        self._words[_FIRST + _EACH * worker + 2] = word

    def workers(self) -> dict[int, int]:
        """Return the processes of the workers that entered and did not leave, by number."""
        return {
            worker: pid for worker, pid in enumerate(self._words[_FIRST::_EACH].tolist()) if pid
        }

    def ready(self, worker: int) -> int:
        """Return what a worker is ready for."""
        return self._words[_FIRST + _EACH * worker + 1]

    def failed(self, worker: int) -> int:
        """Return what a worker said last that it can't load."""
        return self._words[_FIRST + _EACH * worker + 2]
