"""Rows of a search, as the desk answers them: what a page shows of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from oborona.ident import TEXT_LENGTH, from_text, time_of_id


class TrackedReason(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that hit."""

    name: str
    score: float = 0.0
    say: str = ""


class TrackedWord(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody said of a message."""

    person: str
    what: str
    time: float
    believed: bool | None = None


class TrackedMove(msgspec.Struct, frozen=True, kw_only=True):
    """The last move of a copy."""

    recipient: str
    target: str
    state: str
    time: float
    back: bool = False


class TrackedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message, or refusals before the content, as one row."""

    id: str
    time: float
    refused: bool
    verdict: str
    score: float
    line: float
    decided_by: str
    reasons: list[TrackedReason] = []
    queue_id: str = ""
    message_id: str = ""
    client: str = ""
    helo: str = ""
    sender: str = ""
    header_from: str = ""
    recipients: list[str] = []
    login: str = ""
    subject: str = ""
    size: int = 0
    told: str = "content"
    network: str = ""
    times: int = 1
    last: float | None = None
    door: str = ""
    said: list[TrackedWord] = []
    moves: list[TrackedMove] = []
    desk: str = ""


class TrackedMail(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found, the newest first."""

    hits: list[TrackedMessage] = []
    older: str = ""
    reached: str = ""
    read_whole: list[str] = []
    since: float | None = None
    refusals_since: float | None = None


HEADS: Final = (
    "time", "id", "verdict", "refused_at", "score", "line", "times", "client", "helo", "login",
    "sender", "from", "recipients", "subject", "size", "decided_by", "reasons", "queue_id",
    "message_id", "door", "machine",
)  # fmt: skip
"""Of the table as CSV; they stay."""


def cells(row: TrackedMessage) -> tuple[object, ...]:
    """Return a row of the table as CSV."""
    return (
        iso_time(row.time), row.id, row.verdict, row.told if row.refused else "", row.score,
        row.line, row.times, row.client, row.helo, row.login, row.sender, row.header_from,
        " ".join(row.recipients), row.subject, row.size, row.decided_by,
        "; ".join(f"{one.name} {one.score:+g} {one.say}".rstrip() for one in row.reasons),
        row.queue_id, row.message_id, row.door, row.desk,
    )  # fmt: skip


def iso_time(seconds: float) -> str:
    """Return a time as ISO 8601, UTC; empty where no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def time_of(text: str) -> float | None:
    """Return when a message came, as its id tells it; None where it is none."""
    number = from_text(text[:TEXT_LENGTH])
    return None if number is None else time_of_id(number)
