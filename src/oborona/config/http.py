"""Settings of the listener `http`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES
from oborona.config.doors import DoorSettings, check_optional_address
from oborona.config.worker import MIB


class HttpSettings(DoorSettings, frozen=True, kw_only=True):
    """The HTTP listener: clients of rspamd, and our own /v1/scan (docs/mail-servers/http.md)."""

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description=(
                "Where it is reached, as in [doors.milter]; without TLS. An address of the "
                "network needs keys. Empty: off."
            ),
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    keys_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the keys that clients show, one a line, at least 16 characters "
            "each; a change is seen at once. Empty: whoever"
            " reaches the listener may ask.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    accounts_keys_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the keys of /v1/accounts, /v1/incidents and /v1/addresses, for panels: "
            "lines of `KEY RIGHTS` for all accounts, `KEY RIGHTS CUSTOMER` for those of one "
            "customer; rights are `read`, `act=NAME` or `read,act=NAME`, where NAME is who did it. "
            "A change is seen at once. Empty: they are not served.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    events_keys_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the keys of /v1/events, for services that send events: lines of "
            "`KEY NAME LOG[,LOG]`, where NAME is who sends them, and LOG a log that is declared in "
            "paths.event_logs. A change is seen at once. Empty: none are taken.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    events_spool_bytes: Annotated[
        int,
        Meta(
            ge=MIB,
            le=1 << 40,
            description="Events that wait for their tables, octets of all logs; beyond, 503.",
        ),
    ] = 1024 * MIB
    refuse_banned_logins: Annotated[
        bool,
        Meta(
            description="Tell Dovecot (POST /v1/logins) not to let banned accounts log in, whatever "
            "their password. Else they log in, and hear why their mail is not taken.",
        ),
    ] = False
    rate: Annotated[
        float,
        Meta(
            ge=0,
            le=100_000,
            description="Requests a second that one worker takes of one key, or of one client "
            "where there are no keys; beyond, 429."
            " 0: any number.",
        ),
    ] = 0.0
    burst: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Requests that may come at once before `rate` holds for the next.",
        ),
    ] = 100
    max_body_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=1024 * MIB,
            description=(
                "A larger message is refused with 413; between worker.max_message_bytes and "
                "this, its head alone is scanned."
            ),
        ),
    ] = 64 * MIB
    read_s: Annotated[
        float,
        Meta(
            ge=1,
            le=600,
            description="A body must be here, and an answer taken, within this.",
        ),
    ] = 30.0
    idle_s: Annotated[
        float,
        Meta(
            ge=1,
            le=86_400,
            description="Close a connection on which no request becomes whole for this long.",
        ),
    ] = 60.0
