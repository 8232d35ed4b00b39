"""Settings of the worker processes, which judge what comes by any listener."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

MIB: Final = 1024 * 1024


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The processes behind all listeners, and how long they may take over a message."""

    processes: Annotated[
        int, Meta(ge=0, le=256, description="Worker processes. 0: one per processor core.")
    ] = 0
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=1024 * MIB,
            description="Of a message larger than this, the head alone is scanned.",
        ),
    ] = 10 * MIB
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=290,
            description="What a scan waits for (DNS, stores) must answer within this; a message "
            "that is late because others kept the"
            " process busy gets a temporary failure, whatever `on_failure` says. Mail servers "
            "must wait longer than this and 15 s more.",
        ),
    ] = 10.0
    scan_cpu_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=60,
            description="CPU that one message may take. Honest mail of 10 MB takes less than a "
            "tenth of this. One that takes more is judged by its head, with"
            " what was found of the rest by then: the finding `scan-unfinished`.",
        ),
    ] = 2.0
    command_deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=20,
            description="The same for any command before the message; what `slow_s` of the policy "
            "adds comes on top, and Postfix itself"
            " waits 30 s.",
        ),
    ] = 5.0
    on_failure: Annotated[
        Literal["accept", "tempfail"],
        Meta(
            description=(
                "The answer when a scan fails by a fault of ours, or what it waits for does "
                "not come: let it in, or ask to try again."
            )
        ),
    ] = "accept"
    max_messages: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description=(
                "Messages that one process judges at a time, of all listeners together; one "
                "more gets a temporary failure, so that it is tried again."
            ),
        ),
    ] = 256
    max_bodies_bytes: Annotated[
        int,
        Meta(
            ge=131_072,
            le=64 * 1024 * MIB,
            description="What one process holds of all messages that come in or are judged at a "
            "time, of all listeners together; one more gets a temporary"
            " failure. At least twice `max_message_bytes`.",
        ),
    ] = 256 * MIB
    hung_s: Annotated[
        float,
        Meta(
            ge=3,
            le=3600,
            description="A worker, the image reader or the intake that shows no sign of life for "
            "so long is killed and replaced; the other processes"
            " are given ten times as long. More than twice `scan_cpu_s`, less than the mail "
            "server waits for an answer.",
        ),
    ] = 15.0
    drain_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="How long sessions in flight may go on after we were told to stop.",
        ),
    ] = 10.0
