"""Settings of the listener `spamd`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import DoorSettings, check_optional_address


class SpamdSettings(DoorSettings, frozen=True, kw_only=True):
    """The listener for clients of SpamAssassin's spamd, and of rspamd as Exim asks it
    (docs/mail-servers/spamd.md).
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where it is reached, as in [doors.milter]. Empty: off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    received: Annotated[
        bool,
        Meta(
            description="Read client, HELO, sender and recipients from what the mail server wrote "
            "above the message: spamc tells nothing"
            " else. Off: whoever hands messages in adds no Received line of its own, and the "
            "topmost is a stranger's; nothing is known of the client then,"
            " who counts as a stranger."
        ),
    ] = True
    scale: Annotated[
        float,
        Meta(
            ge=0.001,
            le=100,
            description="What scores and thresholds are multiplied by in answers to spamc: 0.05 "
            "makes a spam threshold of 100 the 5.0 that is"
            " fixed in some clients.",
        ),
    ] = 1.0
    tell: Annotated[
        bool,
        Meta(
            description="Take what spamc -L and spamc -C say of a message as what the user it "
            "names says of it. Everybody who reaches the listener can"
            " name anybody."
        ),
    ] = False
    idle_s: Annotated[
        float,
        Meta(
            ge=1,
            le=86_400,
            description="Close a connection on which the client is silent this long.",
        ),
    ] = 30.0
    request_s: Annotated[
        float,
        Meta(
            ge=1,
            le=3600,
            description="A request must be whole within this, however it trickles in.",
        ),
    ] = 120.0
