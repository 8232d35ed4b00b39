"""Settings of the delivery listener."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.config.doors import DoorSettings, check_address, check_optional_address
from oborona.config.worker import MIB


class DeliverySettings(DoorSettings, frozen=True, kw_only=True):
    """The listener between the mail server and the mailboxes, by LMTP: each copy gets the verdict
    of its recipient (docs/mail-servers/delivery.md).
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where the mail server delivers to us, as in [doors.milter]. Empty: off. "
            "Who reaches it"
            " can put mail into any mailbox: a socket file, or a port of this machine alone.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    next_hop: Annotated[
        str,
        Meta(
            max_length=300,
            description=(
                "Where the mailboxes are: the LMTP socket or port to which we hand everything on."
            ),
            extra={"allowed": EXAMPLES, "check": check_address},
        ),
    ] = "unix:/run/dovecot/lmtp"
    on_reject: Annotated[
        Literal["file", "refuse"],
        Meta(
            description="What becomes of a copy whose verdict is to refuse: filed as spam, or "
            "refused for that"
            " recipient. The mail server has the message by then: what is refused here it returns "
            "to the sender, who"
            " in spam is somebody else."
        ),
    ] = "file"
    spam_suffix: Annotated[
        str,
        Meta(
            pattern=r"\A(\+[A-Za-z0-9][A-Za-z0-9._-]{0,60})?\Z",
            description="What goes behind the name of a recipient whose copy is spam, such as "
            '"+Junk": mailboxes without'
            " Sieve know the folder by that. Empty: addresses stay as they are, and a Sieve "
            "script files by headers.",
            extra={"allowed": 'a plus and the name of a folder, or ""'},
        ),
    ] = ""
    connect_s: Annotated[
        float,
        Meta(ge=0.1, le=60, description="The next hop must have greeted us within this."),
    ] = 10.0
    deadline_s: Annotated[
        float,
        Meta(
            ge=1,
            le=550,
            description="All recipients are answered within this once the message is whole; those "
            "without an answer"
            " then are put off. Postfix waits 600 s (lmtp_data_done_timeout) and delivers again.",
        ),
    ] = 240.0
    journal_wait_s: Annotated[
        float,
        Meta(
            ge=0,
            le=30,
            description="A message of which the journal is needed waits so long for its entry, "
            "which is written a"
            " moment after the verdict; more than `batch_s` of [journal].",
        ),
    ] = 2.0
    idle_s: Annotated[
        float,
        Meta(
            ge=10,
            le=3600,
            description="Close a connection on which the mail server is silent this long.",
        ),
    ] = 300.0
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=16 * 1024 * MIB,
            description="Larger messages are refused; not less than what the mail server takes "
            "(message_size_limit),"
            " which would have to return them.",
        ),
    ] = 1024 * MIB
    max_recipients: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Of one message; further ones are put off, and come with the next.",
        ),
    ] = 1000
    max_connections: Annotated[
        int,
        Meta(ge=1, le=100_000, description="Connections that one worker serves at a time."),
    ] = 100

    @property
    def hop(self) -> Address:
        """`next_hop`, parsed."""
        return parse_address(self.next_hop)
