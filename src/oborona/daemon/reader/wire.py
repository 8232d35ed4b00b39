"""The protocol of workers, the reader and its children: MessagePack behind four octets of length.

    worker → reader   Question, any number at a time        reader → child   the octets of one
                      picture
    reader → worker   Answer, in whatever order             child → reader   ChildResult, once it is
                      ready, then one for each picture

All of them are ours; a frame beyond the limit, or one that cannot be decoded, ends the connection.
"""

from __future__ import annotations

import socket
import struct
from enum import StrEnum
from typing import Final

import msgspec

# octets: above the largest picture that a message holds, and any answer
MAX_FRAME: Final = 32 << 20
LENGTH: Final = struct.Struct(">I")


class ReaderTask(StrEnum):
    """What is done with a picture, or with a text."""

    LOOK = "look"  # decode, hash, find codes: milliseconds
    READ = "read"  # recognise text: seconds
    MEAN = "mean"  # what a text means, as numbers: some ten milliseconds


class PictureOutcome(StrEnum):
    """How a task ended."""

    DONE = "done"
    STOPPED = "stopped"  # the process was killed at a limit, or died
    FAILED = "failed"  # a fault of ours; the log has it
    REFUSED = "refused"  # too many wait already
    UNABLE = "unable"  # what it takes is not installed
    LATE = "late"  # not within the time that the caller had
    AWAY = "away"  # no reader runs

    @property
    def passing(self) -> bool:
        """Whether asking again later may end otherwise."""
        return self in (PictureOutcome.REFUSED, PictureOutcome.LATE, PictureOutcome.AWAY)


class PictureContent(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is in a picture: of a look all but the text, of reading the text alone.

    Of a text its numbers.
    """

    kind: str = ""
    width: int = 0
    height: int = 0
    frames: int = 0
    hashes: tuple[int, ...] = ()
    codes: tuple[str, ...] = ()
    legible: bool = False
    findings: tuple[str, ...] = ()  # names
    text: str = ""
    numbers: bytes = b""  # of a text's meaning, 32-bit floats, little-endian


class PictureResult(msgspec.Struct, frozen=True, array_like=True):
    """The result of a task on one picture."""

    outcome: PictureOutcome
    found: PictureContent = PictureContent()


class PictureQuestion(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One picture to look at or to read."""

    number: int  # of the connection, for the answer
    task: ReaderTask
    urgent: bool  # an answer to a mail server waits for it
    sha256: bytes
    octets: bytes


class PictureAnswer(msgspec.Struct, frozen=True, array_like=True):
    """The result of the question with this number."""

    number: int
    result: PictureResult


class ChildResult(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The message of a child: its result, or why it ends."""

    found: PictureContent = PictureContent()
    fault: str = ""  # a traceback; empty = none
    memory: bool = False  # the memory limit was met


def frame_of(payload: bytes) -> bytes:
    """Return a payload as it goes over the wire."""
    return LENGTH.pack(len(payload)) + payload


def receive_blocking(channel: socket.socket) -> bytes | None:
    """Return the payload of the next frame, waiting for it; None when the other side has gone."""
    head = _exactly(channel, LENGTH.size)
    return None if head is None else _exactly(channel, LENGTH.unpack(head)[0])


def _exactly(channel: socket.socket, octets: int) -> bytes | None:
    """Return so many octets, None when there are no more of them.

    They are what our own parent sends.
    """
    whole = bytearray()
    while len(whole) < octets:
        more = channel.recv(min(octets - len(whole), 1 << 20))
        if not more:
            return None
        whole += more
    return bytes(whole)
