"""Settings of the process that hears what people say of their mail."""

from __future__ import annotations

import string
from typing import Annotated

from msgspec import Meta

from oborona.config.address import EXAMPLES, Address, parse_address
from oborona.config.doors import ListenSettings, check_optional_address
from oborona.config.worker import MIB


def _person(value: str) -> None:
    try:
        named = {field for _, field, _, _ in string.Formatter().parse(value) if field is not None}
        value.format(user="", local="", domain="")
    except (ValueError, LookupError, AttributeError):
        raise ValueError("a brace is out of place; write {user}, {local} or {domain}") from None
    if not named & {"user", "local"} or named - {"user", "local", "domain"}:
        raise ValueError("it names nobody; write {user}, or {local} with a domain behind it")


def addresses(what: str) -> Meta:
    """Return what a setting is that names mail addresses."""
    return Meta(
        pattern=r"\A([^\s@<>\x00-\x1f\x7f]+@[^\s@<>\x00-\x1f\x7f]+( |\Z))*\Z",
        max_length=4096,
        description=f"{what}; with spaces between. Empty: there is none.",
        extra={"allowed": 'mail addresses with single spaces between, or ""'},
    )


class IntakeSettings(ListenSettings, frozen=True, kw_only=True):
    """What people say of mail that they have: moves in their mailboxes, and what other programs
    pass on (docs/people/dovecot.md).
    """

    listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where Dovecot tells of moved, read and deleted mail, as in "
            "[doors.milter]; a socket file, such as"
            " unix:/run/oborona-intake/feedback.sock. Empty: off. Who reaches it can report in "
            "anybody's name.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    person: Annotated[
        str,
        Meta(
            max_length=300,
            description="The mail address of a mailbox user: {user} is the name as Dovecot has "
            "it, {local} and {domain} what is"
            ' before and behind its @. For users without a domain, such as "{user}@example.org".',
            extra={
                "allowed": "a mail address with {user}, or {local} and {domain}",
                "check": _person,
            },
        ),
    ] = "{user}"
    max_connections: Annotated[
        int,
        Meta(
            ge=1,
            le=100_000,
            description="Connections to each of these listeners at a time; others wait.",
        ),
    ] = 100
    deadline_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=60,
            description="What is handed in must be written down within this; else whoever hands "
            "it in is told to try"
            " again. The mail program of a person who moves a message waits for it.",
        ),
    ] = 5.0
    spool: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description=(
                "Folder where Dovecot leaves what was said while we were away "
                "(docs/people/dovecot.md). Empty: there is none."
            ),
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    http_listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where POST /feedback is served, as in [doors.milter]; without TLS, so a "
            "socket file or a port of this"
            " machine. Empty: off. A socket file has owner, group and mode as above.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    http_token_file: Annotated[
        str,
        Meta(
            pattern=r"\A(/[^\x00-\x1f\x7f]+)?\Z",
            max_length=4096,
            description="File of the tokens that clients of POST /feedback show, one a line, at "
            "least 16 characters each."
            " A port needs it; a socket file may do without.",
            extra={"allowed": 'an absolute path, or ""'},
        ),
    ] = ""
    max_message_bytes: Annotated[
        int,
        Meta(
            ge=65_536,
            le=1024 * MIB,
            description=(
                "A larger message is not taken by POST /feedback. Of what is taken a mebibyte "
                "is kept."
            ),
        ),
    ] = 32 * MIB

    mail_listen: Annotated[
        str,
        Meta(
            max_length=300,
            description="Where the mail server delivers reports and mail to traps, by LMTP or "
            "SMTP, as in [doors.milter]"
            " (docs/people/reports.md); a socket file has owner, group and mode as above. Empty: "
            "off.",
            extra={"allowed": f'{EXAMPLES}, or ""', "check": check_optional_address},
        ),
    ] = ""
    report_spam: Annotated[
        str,
        addresses("Where our own people send spam that they got, as an attachment"),
    ] = ""
    report_ham: Annotated[
        str,
        addresses(
            "Where our own people send, as an attachment, mail that was taken for spam and is none"
        ),
    ] = ""
    report_loops: Annotated[
        str,
        addresses(
            "Where other sites send reports (ARF) about mail that came from us: the "
            "addresses of feedback loops"
        ),
    ] = ""

    @property
    def http_address(self) -> Address:
        """`http_listen`, parsed."""
        return parse_address(self.http_listen)

    @property
    def mail_address(self) -> Address:
        """`mail_listen`, parsed."""
        return parse_address(self.mail_listen)

    @property
    def reports(self) -> frozenset[str]:
        """The addresses of reports, in lower case."""
        named = f"{self.report_spam} {self.report_ham} {self.report_loops}"
        return frozenset(named.lower().split())

    @property
    def doors(self) -> bool:
        """Whether any listener is on: without one there is nothing to run."""
        return bool(self.listen or self.http_listen or self.mail_listen or self.spool)
