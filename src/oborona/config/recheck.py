"""Settings of the second look at what was delivered."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta

MOST_LOOKS: Final = 10  # of one message by the clock


def _minutes(value: str) -> None:
    parts = value.split()
    if len(parts) > MOST_LOOKS:
        raise ValueError(f"more than {MOST_LOOKS} looks")
    for part in parts:
        if not part.isdecimal() or not 1 <= int(part) <= 1440:
            raise ValueError(f"{part!r} is no number of minutes from 1 to 1440")


class RecheckSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Delivered messages that are judged again with what is known now, and moved
    (docs/people/recheck.md).
    """

    enabled: Annotated[
        bool,
        Meta(
            description=(
                "Whether delivered messages are judged again. Moving them needs [mailboxes], too."
            )
        ),
    ] = True
    minutes: Annotated[
        str,
        Meta(
            max_length=100,
            description="When a message is looked at by the clock, minutes after its delivery, "
            "with spaces between; beside"
            " that it is judged again whenever something is learned of it. Empty: never by the "
            "clock.",
            extra={
                "allowed": 'numbers from 1 to 1440 with spaces between, or ""',
                "check": _minutes,
            },
        ),
    ] = "1 5 15 60"
    window_hours: Annotated[
        float,
        Meta(
            ge=0.1,
            le=336,
            description="Messages older than this stay where they are, whatever is learned of them.",
        ),
    ] = 24.0
    move_listed: Annotated[
        bool,
        Meta(
            description="Whether a message that a mail program has listed, and nobody opened, may "
            "be moved. Without it only"
            " what no program has seen."
        ),
    ] = False
    inbox: Annotated[
        str,
        Meta(min_length=1, max_length=200, description="Folder of good mail, as IMAP names it."),
    ] = "INBOX"
    spam_folder: Annotated[
        str, Meta(min_length=1, max_length=200, description="Folder of spam, as IMAP names it.")
    ] = "Junk"
    busy_share: Annotated[
        float,
        Meta(ge=0.01, le=1, description="Share of one core that judging again may take."),
    ] = 0.5
    runaway_share: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Moves stop by themselves, and an admin is asked, when so large a share "
            "of the mail of the last hour is about to"
            " be moved, without reports of people behind it. 1: never.",
        ),
    ] = 0.05
    runaway_messages: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Fewer messages than this never stop moves."),
    ] = 50

    @property
    def looks_s(self) -> tuple[float, ...]:
        """`minutes`, in seconds, in order."""
        return tuple(sorted({float(part) * 60 for part in self.minutes.split()}))
