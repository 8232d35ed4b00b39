"""Settings of the doors: where each listens, who may reach it, and what it does with who comes.

A door's section is `Listening` and what is its own.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.errors import ConfigError

MIB: Final = 1024 * 1024


def listens(value: str) -> None:
    try:
        parse_address(value)
    except ConfigError as fault:
        raise ValueError(fault.problem) from None


def may_listen(value: str) -> None:
    if value:
        listens(value)


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """What every door has: an address, and whose its socket file is."""

    listen: str = ""
    socket_owner: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_.@$-]*\Z",
            max_length=64,
            description="User who owns the socket file. Empty: who starts us.",
            extra={"allowed": 'a user name, or ""'},
        ),
    ] = ""
    socket_group: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9_.@$-]*\Z",
            max_length=64,
            description="Group of the socket file; the mail server must be in it. Empty: that of who starts us.",
            extra={"allowed": 'a group name, or ""'},
        ),
    ] = ""
    socket_mode: Annotated[
        str,
        Meta(
            pattern=r"\A0?[0-7]{3}\Z",
            description="Permissions of the socket file, octal.",
            extra={"allowed": 'three octal digits in quotes, such as "0660"'},
        ),
    ] = "0660"

    @property
    def address(self) -> Address:
        """`listen`, parsed."""
        return parse_address(self.listen)

    @property
    def mode(self) -> int:
        """`socket_mode` as a number."""
        return int(self.socket_mode, 8)


class Milter(Listening, frozen=True, kw_only=True):
    """The door for Postfix and Sendmail, and the processes behind it."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where mail servers reach us: unix:PATH, inet:PORT@HOST, inet:HOST:PORT or inet6:PORT@ADDRESS.",
            extra={"allowed": EXAMPLES, "check": listens},
        ),
    ] = "unix:/run/oborona/milter.sock"
    transport: Annotated[
        Literal["native", "libmilter"],
        Meta(description="What speaks the protocol: our own codec on the event loop, or Sendmail's library."),
    ] = "native"
    workers: Annotated[
        int, Meta(ge=0, le=256, description="Worker processes. 0: one per processor core.")
    ] = 0
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536, le=1024 * MIB, description="Of a message larger than this, the head alone is scanned."
        ),
    ] = 10 * MIB
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=290,
            description="What a scan waits for (stores) must answer within this; its own work is bounded by limits. Postfix waits 300 s.",
        ),
    ] = 10.0
    command_deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=20,
            description="The same for any earlier command; what `slow_s` of the policy adds comes on top, and Postfix itself"
            " waits 30 s.",
        ),
    ] = 5.0
    on_failure: Annotated[
        Literal["accept", "tempfail"],
        Meta(
            description="The answer when a scan misses its deadline or fails: let it in, or ask to try again."
        ),
    ] = "accept"
    drain_s: Annotated[
        float,
        Meta(ge=0, le=3600, description="How long sessions in flight may go on after we were told to stop."),
    ] = 10.0
    idle_s: Annotated[
        float,
        Meta(
            ge=10, le=86_400, description="Close a connection on which the mail server is silent this long."
        ),
    ] = 1800.0
    max_sessions: Annotated[
        int, Meta(ge=1, le=100_000, description="Connections that one worker serves at a time; others wait.")
    ] = 1000


class PolicyService(Listening, frozen=True, kw_only=True):
    """The door for Postfix's check_policy_service: clients, senders and recipients, no content. The milter asks the same."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where Postfix reaches it, as in [milter]. Empty: it is closed.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": may_listen},
        ),
    ] = ""
    idle_s: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description="Close a connection on which Postfix is silent this long. It closes one itself after 300 s"
            " (smtpd_policy_service_max_idle), and waits a second where we are first.",
        ),
    ] = 600.0
    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Connections that one worker serves at a time; others wait. Each smtpd process of Postfix keeps one.",
        ),
    ] = 1000
