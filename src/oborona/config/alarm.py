"""Settings of the alarm."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from oborona.config.address import InetAddress, parse_address
from oborona.errors import ConfigError


def _server(value: str) -> None:
    try:
        parse_address(f"inet:{value}")
    except ConfigError:
        raise ValueError(f"{value!r} is no mail server; write HOST:PORT") from None


class AlarmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told, and when, of what should not wait until somebody looks
    (docs/operate/alarm.md).
    """

    webhook: Annotated[
        str,
        Meta(
            pattern=r"\A(https?://[!-~]+)?\Z",
            max_length=2000,
            description="URL to which each alert is posted, as JSON. Empty: none.",
            extra={"allowed": 'a URL that begins with https:// or http://, or ""'},
        ),
    ] = ""
    webhook_key_file: Annotated[
        str,
        Meta(
            max_length=4096,
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            description=(
                "File that holds the secret with which what is posted is signed, and nothing "
                "else. Empty: it is not signed."
            ),
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    mail_to: Annotated[
        str,
        Meta(
            pattern=r"\A([^\s@,;<>\x00-\x1f\x7f-\xff]+@[^\s@,;<>\x00-\x1f\x7f-\xff]+( |\Z))*\Z",
            max_length=2000,
            description="Mail addresses that get each alert, with spaces between. Empty: none.",
            extra={"allowed": 'mail addresses in ASCII with single spaces between, or ""'},
        ),
    ] = ""
    mail_from: Annotated[
        str,
        Meta(
            pattern=r"\A([^\s@,;<>\x00-\x1f\x7f-\xff]+@[^\s@,;<>\x00-\x1f\x7f-\xff]+)?\Z",
            max_length=320,
            description="Whom these messages are from. Empty: oborona@ and the name of the site.",
            extra={"allowed": 'a mail address in ASCII, or ""'},
        ),
    ] = ""
    mail_server: Annotated[
        str,
        Meta(
            max_length=300,
            description="The mail server that takes them, by SMTP without a login.",
            extra={"allowed": "HOST:PORT", "check": _server},
        ),
    ] = "127.0.0.1:25"
    interval_s: Annotated[
        float,
        Meta(
            ge=1,
            le=86_400,
            description=(
                "After an alert, further ones of its kind wait so long, and are then told as one."
            ),
        ),
    ] = 900.0
    deadline_s: Annotated[
        float,
        Meta(ge=0.1, le=120, description="One attempt to tell somebody may take so long."),
    ] = 10.0
    attempts: Annotated[
        int, Meta(ge=1, le=10, description="How often it is tried to tell one alert.")
    ] = 4
    wave_least: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Fewer messages than this within ten minutes are never a wave.",
        ),
    ] = 50
    wave_times: Annotated[
        float,
        Meta(
            ge=1.1,
            le=1000,
            description="A wave is so many times what ten minutes of the last day had.",
        ),
    ] = 5.0
    held_hours: Annotated[
        float,
        Meta(
            ge=0,
            le=8760,
            description=(
                "Outgoing mail that is held and has waited so long is told once a day, until "
                "somebody lets it go or throws it away. 0: it is not."
            ),
        ),
    ] = 24.0

    tell_senders: Annotated[
        bool,
        Meta(
            description=(
                "Tell an account whose login is a mail address that mail of it is held: once a day, "
                "by the mail server's own sendmail."
            ),
        ),
    ] = True

    @property
    def server(self) -> InetAddress:
        """`mail_server`, parsed."""
        server = parse_address(f"inet:{self.mail_server}")
        assert isinstance(server, InetAddress)
        return server
