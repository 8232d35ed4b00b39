"""Settings of the listeners (`doors` in the settings): where each listens, who may reach it, and
what it does with who comes.

The section of a worker's listener is `DoorSettings` and what is its own; a listener of another
process has `ListenSettings` of it.
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.errors import ConfigError


def check_address(value: str) -> None:
    try:
        parse_address(value)
    except ConfigError as fault:
        raise ValueError(fault.problem) from None


def check_optional_address(value: str) -> None:
    if value:
        check_address(value)


def check_networks(value: str) -> None:
    for part in value.split():
        try:
            ip_network(part)
        except ValueError:
            raise ValueError(
                f"{part!r} is no network; write ADDRESS/LENGTH without bits behind the length"
            ) from None


class ListenSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every listener has: an address, and whose its socket file is."""

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
            description=(
                "Group of the socket file; the mail server must be in it. Empty: that of who "
                "starts us."
            ),
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
    allowed: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Networks that may connect to a port, with spaces between; others are "
            "closed without a word. Empty: whoever can, which is right"
            " for a port of loopback alone: any other needs it. Who opens a socket file is a "
            "matter of its mode.",
            extra={
                "allowed": 'such as "192.0.2.0/24 2001:db8::/32", or ""',
                "check": check_networks,
            },
        ),
    ] = ""

    @property
    def address(self) -> Address:
        """`listen`, parsed."""
        return parse_address(self.listen)

    @property
    def mode(self) -> int:
        """`socket_mode` as a number."""
        return int(self.socket_mode, 8)


class DoorSettings(ListenSettings, frozen=True, kw_only=True):
    """What every listener of the workers has besides: how many may come in."""

    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description=(
                "Connections that one worker serves at a time. A client beyond them waits, or "
                "is told that we are busy, as its protocol has it."
            ),
        ),
    ] = 1000
    max_per_client: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description=(
                "The same for one address that connects to us, or one user by a socket file. "
                "0: as many as there is room for."
            ),
        ),
    ] = 0


class MilterSettings(DoorSettings, frozen=True, kw_only=True):
    """The milter listener, for Postfix and Sendmail."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where mail servers reach us: inet:HOST:PORT, inet:PORT@HOST, "
            "inet6:PORT@ADDRESS or unix:PATH. A port of loopback is reached from every"
            " chroot, and by every user of the machine; a socket file lets in whom its mode lets "
            "in. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = "inet:127.0.0.1:8890"
    transport: Annotated[
        Literal["native", "libmilter"],
        Meta(
            description=(
                "What speaks the protocol: our own codec on the event loop, or Sendmail's library."
            )
        ),
    ] = "native"
    idle_s: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description="Close a connection on which the mail server is silent this long.",
        ),
    ] = 1800.0


class PolicyServiceSettings(DoorSettings, frozen=True, kw_only=True):
    """The listener for Postfix's check_policy_service: clients, senders and recipients, no content.
    The milter asks the same.
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where Postfix reaches it, as in [doors.milter]. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    idle_s: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description="Close a connection on which Postfix is silent this long. It closes one "
            "itself after 300 s"
            " (smtpd_policy_service_max_idle), and waits a second where we are first.",
        ),
    ] = 600.0
    limits: Annotated[
        bool,
        Meta(
            description="Mail of your own people that the milter is not shown: at the end of a "
            "message (smtpd_end_of_data_restrictions) it is put under limits, counted and "
            "journaled. Mail that the milter sees, too, would be counted twice."
        ),
    ] = False
