"""What is asked and answered under /v1, by type: the one place that the decoder, the answers and
the OpenAPI description come from.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from oborona.doors.reply import AddHeader, RemoveHeader
from oborona.errors import PeerError
from oborona.types import Finding, RuleHit

T = TypeVar("T")

_CLEAN = r"^(?![\s\S]*[\x00-\x1f\x7f])"  # no control character anywhere
CleanLine = Annotated[str, Meta(max_length=1000, pattern=_CLEAN)]


class ScanClient(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The SMTP client as the mail server saw it."""

    ip: Annotated[
        CleanLine, Meta(description="IPv4 or IPv6 address. Empty: mail of this machine itself.")
    ] = ""
    name: Annotated[CleanLine, Meta(description="Its verified host name. Empty: it has none.")] = ""
    port: Annotated[int, Meta(ge=0, le=65_535, description="Its port; 0: not known.")] = 0


class ScanEnvelope(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What is known of a message beside its bytes."""

    client: ScanClient = ScanClient()
    helo: Annotated[CleanLine, Meta(description="As the client named itself in HELO or EHLO.")] = ""
    sender: Annotated[CleanLine, Meta(description="MAIL FROM. Empty: a bounce.")] = ""
    recipients: Annotated[
        list[Annotated[CleanLine, Meta(min_length=1)]],
        Meta(max_length=10_000, description="RCPT TO, those that were accepted."),
    ] = []
    login: Annotated[CleanLine, Meta(description="Who logged in. Empty: nobody.")] = ""
    queue_id: Annotated[CleanLine, Meta(description="Of the mail server, for the log.")] = ""
    port: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{0,5}(?!\n)$",
            description="Of the mail server, where the client came in.",
        ),
    ] = ""


class ScanRequest(ScanEnvelope, kw_only=True, forbid_unknown_fields=True):
    """A message and all that is known of it."""

    raw: Annotated[bytes, Meta(description="The message, in base64; lines end in CRLF or LF.")]


class GlanceRequest(ScanEnvelope, kw_only=True, forbid_unknown_fields=True):
    """What is known before the message comes."""

    stage: Annotated[
        Literal["connect", "sender", "recipient"],
        Meta(
            description=(
                "How far SMTP has come; what is known at a stage is judged with those before it."
            )
        ),
    ]
    after: Annotated[
        Literal["connect", "sender", "recipient"] | None,
        Meta(description="The stage that was asked about before, which is not judged again."),
    ] = None


class SmtpAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the client is to be told."""

    code: int
    enhanced: Annotated[str, Meta(description="RFC 3463.")]
    text: Annotated[
        str, Meta(description="Without code and status; lines are parted by a line feed.")
    ]


class HeaderEdits(msgspec.Struct, frozen=True, kw_only=True):
    """What to do to the header of a message that is taken: first remove, then add."""

    add: tuple[AddHeader, ...] = ()
    remove: tuple[RemoveHeader, ...] = ()


class VerdictAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and what it rests on."""

    verdict: Annotated[
        Literal["accept", "spam", "reject", "tempfail", "discard", "hold"],
        Meta(
            description=(
                "accept: to the inbox; spam: to the spam folder; reject and tempfail: answer "
                "as `smtp` says; discard: say yes and throw away; hold: take it and keep it until a "
                "person decides, or answer as `smtp` says. Of outgoing mail alone."
            )
        ),
    ]
    score: float
    line: Annotated[
        float, Meta(description="That the score was held to; 0: nothing was judged at this stage.")
    ]
    spam_score: float
    reject_score: float
    decided_by: Annotated[
        str, Meta(description="Name of a rule or list, or a keyword such as below-threshold.")
    ]
    rules: tuple[RuleHit, ...]
    findings: tuple[Finding, ...]
    karma: Annotated[
        float | None, Meta(description="Of the sender, -100 to 100; null: it was not looked up.")
    ]
    id: Annotated[str, Meta(description="As in X-Mras-Id: what feedback names the message by.")]
    reference: Annotated[str, Meta(description="Under which the log has it.")]
    smtp: SmtpAnswer | None
    headers: HeaderEdits
    removed_recipients: Annotated[
        tuple[str, ...], Meta(description="Who gets no copy of a message that is taken: traps.")
    ]


class ErrorAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer."""

    error: str


class HealthAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """That the door is served."""

    state: Literal["ready"]


def decode_body(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Return what a body of JSON says.

    Raises:
        PeerError: it says nothing we know.
    """
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise PeerError(str(error)) from None
