"""Settings of the listener `proxy`."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.config.doors import DoorSettings, check_address, check_networks, check_optional_address
from oborona.config.worker import MIB

EVERYBODY: Final = "0.0.0.0/0 ::/0"


class ProxySettings(DoorSettings, frozen=True, kw_only=True):
    """The SMTP and LMTP proxy, for mail servers without a milter or policy interface: what passes
    is handed on to them, message by message (docs/mail-servers/proxy.md).
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where clients reach it, as in [doors.milter]. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    allowed: Annotated[
        str,
        Meta(
            max_length=4096,
            description=(
                "Networks that may connect, with spaces between; others are closed without a "
                "word. As it ships everybody: mail comes from everywhere."
            ),
            extra={"allowed": f'such as "{EVERYBODY}"', "check": check_networks},
        ),
    ] = EVERYBODY
    max_per_client: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Connections of one client at a time: an IPv4 address, or a /64 of IPv6. "
            "Those in `trusted`, who speak for many, have no limit."
            " 0: as many as there is room for.",
        ),
    ] = 50
    protocol: Annotated[
        Literal["smtp", "lmtp"],
        Meta(description="The protocol, on both sides. LMTP has an answer for each recipient."),
    ] = "smtp"
    next_hop: Annotated[
        str,
        Meta(
            max_length=300,
            description="The mail server behind: the socket or port to which everything is passed "
            "on. It must not take mail for"
            " strangers because it comes from our address.",
            extra={"allowed": EXAMPLES, "check": check_address},
        ),
    ] = "inet:10026@127.0.0.1"
    trusted: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Networks of mail servers that may say by XCLIENT or XFORWARD for whom "
            "they speak, with spaces between. Who comes"
            " by a socket file always may.",
            extra={"allowed": 'such as "127.0.0.0/8 ::1/128", or ""', "check": check_networks},
        ),
    ] = "127.0.0.0/8 ::1/128"
    certificate: Annotated[
        str,
        Meta(
            max_length=4096,
            description="File with our certificate and those above it, PEM: STARTTLS is offered "
            "then, and AUTH behind it alone. It is read"
            " again when it changes. Empty: no TLS.",
            extra={"allowed": 'a path that we can read, or ""'},
        ),
    ] = ""
    key: Annotated[
        str,
        Meta(
            max_length=4096,
            description=(
                "File with its private key, PEM, without a password. Empty: it is in the file "
                "of the certificate."
            ),
            extra={"allowed": 'a path that we can read, or ""'},
        ),
    ] = ""
    connect_s: Annotated[
        float,
        Meta(ge=0.1, le=60, description="The next hop must have taken our connection within this."),
    ] = 10.0
    command_s: Annotated[
        float,
        Meta(
            ge=1,
            le=600,
            description=(
                "It must have answered a command within this, its greeting included. Clients "
                "wait 300 s (RFC 5321)."
            ),
        ),
    ] = 120.0
    deadline_s: Annotated[
        float,
        Meta(
            ge=1,
            le=550,
            description="It must have taken a message, and answered, within this once we have "
            "judged it; else the client is told to come"
            " again. Clients wait 600 s.",
        ),
    ] = 240.0
    idle_s: Annotated[
        float,
        Meta(
            ge=10,
            le=3600,
            description="Close a connection on which the client is silent this long.",
        ),
    ] = 300.0
    transfer_s: Annotated[
        float,
        Meta(
            ge=10,
            le=86_400,
            description=(
                "The content of a message must have come within this, however busily the "
                "client sends."
            ),
        ),
    ] = 1800.0
    min_data_rate: Annotated[
        int,
        Meta(
            ge=0,
            le=1_000_000,
            description="Octets a second that a client must have sent of a message, on average, "
            "once it has sent for a minute; who drips is told to come again."
            " 0: any.",
        ),
    ] = 500
    forbid_stray: Annotated[
        bool,
        Meta(
            description="Refuse (554) a message that holds a carriage return without a line feed, "
            "or a NUL: mail servers that take these for the end of a line,"
            " or drop them, see the end of a message where we see none, and take what follows for "
            "a message that nobody judged.",
        ),
    ] = True
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=16 * 1024 * MIB,
            description=(
                "Larger messages are refused (552); offered as SIZE, or what the next hop "
                "offers where that is less."
            ),
        ),
    ] = 100 * MIB
    max_recipients: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Of one message; further ones are put off (452), and come again.",
        ),
    ] = 1000

    @property
    def hop(self) -> Address:
        """`next_hop`, parsed."""
        return parse_address(self.next_hop)
