"""The file of the weights: written by the trainer alone, mapped by every worker.

    octets 0..4095     header: magic, the layout of the weights, how many messages were learned, the
                       calibration
    octets 4096..      the weights, as `policy.models.content` lays them out
    behind them        in a snapshot: the learner's state, with its length and checksum

The trainer writes the mapped weights in place: a concurrent reader sees some numbers from before a
lesson and some from after, which is as good as either.  The header must be consistent: its sequence
is odd while it is written, and a checksum covers it.  Rebuilt weights come as a new file under the
old name.

A file that is torn, cut short, foreign or of another layout is refused with the reason.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from oborona.errors import StoreError, StoreVersion
from oborona.feedback.feature_layout import layout
from oborona.policy.models.content.calibration import Calibration
from oborona.policy.models.content.weights import Weights

MAGIC: Final = b"OBORONAW"
VERSION: Final = 1
HEADER_BYTES: Final = 4096  # a page
MODE: Final = 0o640
TRIES: Final = 3  # to read a header that is being written; it is written within a microsecond
# magic, version, zero, layout, octets of weights, sequence
_START: Final = struct.Struct("<8sII16sQQ")
_SEQUENCE: Final = struct.Struct("<Q")
_SEQUENCE_AT: Final = _START.size - _SEQUENCE.size
_TEXT: Final = struct.Struct("<II")  # length and checksum of the JSON behind


class WeightsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The header of the weights' file."""

    epoch: int = 0  # how often they were made anew
    position: int = 0  # the last word that they hold
    time: float = 0.0  # Unix seconds, when they last changed
    spam: int = 0  # messages learned here
    ham: int = 0
    base: str = ""  # the weights of another site that they began with; empty = none
    base_spam: int = 0  # messages learned there
    base_ham: int = 0
    calibration: Calibration = Calibration()
    persons: bytes = b""  # who taught something of their own, as `feedback.person_filter` keeps it

    @property
    def version(self) -> str:
        """The name of this state of the weights."""
        return f"{self.epoch}.{self.position}"


class WeightsFile:
    """A mapped weights' file.

    Args:
        path: the file.
        write: it is also to be taught.

    Attributes:
        weights: of the file; readable, and writable if asked for.

    Raises:
        StoreError: there is none, or it can't be used; the text says why.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        try:
            descriptor = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC)
            try:
                state = os.fstat(descriptor)
                self.inode = (state.st_dev, state.st_ino)
                if state.st_size < HEADER_BYTES + Weights.SIZE:
                    raise StoreError(
                        f"{path}: {state.st_size} octets are no weights: cut short, or not ours"
                    )
                access = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
                self._map = mmap.mmap(descriptor, HEADER_BYTES + Weights.SIZE, access=access)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error
        self._view = memoryview(self._map)
        self._followed = -1  # sequence of the header that was read
        try:
            _check_start(self._view, path)
            self.header = self._read()
        except BaseException:
            self._view.release()
            self._map.close()
            raise
        self.weights = Weights(self._view[HEADER_BYTES:])

    @property
    def sequence(self) -> int:
        """Of the header as it is now: even, and another after each change."""
        (number,) = _SEQUENCE.unpack_from(self._view, _SEQUENCE_AT)
        return int(number)

    def follow(self) -> WeightsHeader:
        """Return the header as it is now; as it was, while it is being written or broken."""
        with suppress(
            StoreError
        ):  # the next look finds it whole; if not, it was true of weights nearly these
            self.header = self._read()
        return self.header

    def write(self, header: WeightsHeader) -> None:
        """Write the header, after the weights were taught."""
        text = msgspec.json.encode(header)
        assert len(text) <= HEADER_BYTES - _START.size - _TEXT.size
        sequence = self.sequence | 1
        _SEQUENCE.pack_into(self._view, _SEQUENCE_AT, sequence)
        at = _START.size
        _TEXT.pack_into(self._view, at, len(text), zlib.crc32(text))
        self._view[at + _TEXT.size : at + _TEXT.size + len(text)] = text
        _SEQUENCE.pack_into(self._view, _SEQUENCE_AT, sequence + 1)
        self.header, self._followed = header, sequence + 1

    def image(self) -> bytes:
        """Return the octets of the file, for a snapshot."""
        return bytes(self._view)

    def _read(self) -> WeightsHeader:
        for _ in range(TRIES):
            before = self.sequence
            length, checksum = _TEXT.unpack_from(self._view, _START.size)
            if length <= HEADER_BYTES - _START.size - _TEXT.size:
                text = bytes(self._view[_START.size + _TEXT.size :][:length])
                if not before & 1 and self.sequence == before and zlib.crc32(text) == checksum:
                    self._followed = before
                    return _decoded(text, self.path)
        raise StoreError(
            f"{self.path}: its header is not whole: whoever wrote it was stopped, or it is damaged"
        )


def create_weights(path: Path, header: WeightsHeader, weights: bytes = b"") -> WeightsFile:
    """Return a new file, mapped to be taught; what was there is replaced.

    Args:
        path: of the file; a name that nobody reads yet.
        header: of it.
        weights: that it begins with; empty = those that know nothing.

    Raises:
        StoreError: it can't be made, as when the disk is full.
    """
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(
            path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, MODE
        )
        try:
            # room is taken at once: a mapped page without room on the disk would end the process
            # that writes it
            os.posix_fallocate(descriptor, 0, HEADER_BYTES + Weights.SIZE)
            os.pwrite(descriptor, _start(), 0)
            text = msgspec.json.encode(header)
            os.pwrite(descriptor, _TEXT.pack(len(text), zlib.crc32(text)) + text, _START.size)
            if weights:
                os.pwrite(descriptor, weights, HEADER_BYTES)
        finally:
            os.close(descriptor)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise StoreError(f"{path}: {error.strerror or error}") from error
    return WeightsFile(path, write=True)


def publish_weights(made_file: WeightsFile, path: Path) -> None:
    """Give a new file the name that workers follow; they map it at their next message.

    Raises:
        StoreError: it can't be renamed.
    """
    try:
        made_file.path.replace(path)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    made_file.path = path


def pack_snapshot(image: bytes, more: bytes = b"") -> bytes:
    """Return what a snapshot's file holds: header and weights, and what the learner needs to go
    on.
    """
    return image + _TEXT.pack(len(more), zlib.crc32(more, zlib.crc32(image))) + more


class UnpackedSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot's file."""

    header: WeightsHeader
    weights: bytes
    more: bytes


def unpack_snapshot(octets: bytes, path: Path) -> UnpackedSnapshot:
    """Return what a snapshot's file holds.

    Args:
        octets: of the file.
        path: of it, for errors.

    Raises:
        StoreError: it is cut short, damaged, of another layout or not ours.
    """
    size = HEADER_BYTES + Weights.SIZE
    if len(octets) < size + _TEXT.size:
        raise StoreError(f"{path}: {len(octets)} octets are no weights: cut short, or not ours")
    view = memoryview(octets)
    _check_start(view, path)
    length, checksum = _TEXT.unpack_from(view, size)
    more = bytes(view[size + _TEXT.size :])
    if length != len(more) or zlib.crc32(more, zlib.crc32(view[:size])) != checksum:
        raise StoreError(f"{path}: is damaged: its checksum is another")
    (text_length, _) = _TEXT.unpack_from(view, _START.size)
    text = bytes(view[_START.size + _TEXT.size : HEADER_BYTES][:text_length])
    return UnpackedSnapshot(_decoded(text, path), bytes(view[HEADER_BYTES:size]), more)


def _start() -> bytes:
    return _START.pack(MAGIC, VERSION, 0, layout().encode(), Weights.SIZE, 0)


def _check_start(view: memoryview, path: Path) -> None:
    magic, version, _, laid_out, size, _ = _START.unpack_from(view)
    if magic != MAGIC:
        raise StoreError(f"{path}: is no file of weights")
    if version > VERSION:
        raise StoreVersion(
            f"{path}: is of version {version}, this Oborona knows {VERSION}: written by a newer one"
        )
    if laid_out.rstrip(b"\0").decode("ascii", "replace") != layout() or size != Weights.SIZE:
        raise StoreError(f"{path}: its weights are laid out otherwise than this Oborona's")


def _decoded(text: bytes, path: Path) -> WeightsHeader:
    try:
        return msgspec.json.decode(text, type=WeightsHeader)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: its header can't be read: {error}") from error


__all__ = [
    "UnpackedSnapshot",
    "WeightsFile",
    "WeightsHeader",
    "create_weights",
    "pack_snapshot",
    "publish_weights",
    "unpack_snapshot",
]
