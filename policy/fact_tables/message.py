"""Facts about a message's header and how it is built."""

from __future__ import annotations

from typing import Final

from oborona.policy.fact_tables.area import SHARE, Area, Words, fact
from oborona.types import Stage

_M = Stage.CONTENT

AREA: Final = Area(
    "Message and header",
    (
        fact("message.size", int, _M, "as long as the mail server sent it", unit="bytes", example=4_096),
        fact("message.truncated", bool, _M, "only the head of the message was scanned", example=False),
        fact("message.parts", int, _M, "MIME parts, containers included", example=3),
        fact("message.depth", int, _M, "deepest nesting of MIME parts and attached messages", example=1),
        fact(
            "message.tree",
            str,
            _M,
            "the MIME structure",
            example="multipart/mixed(text/plain,application/zip)",
        ),
        fact(
            "headers",
            Words,
            _M,
            "names of the headers present, lower case",
            example=frozenset({"from", "subject", "date"}),
        ),
        fact("headers.count", int, _M, "fields of the header, each repetition counted", example=14),
        fact("received.count", int, _M, "Received fields: servers that it came by", example=2),
        fact("subject", str, _M, "decoded and normalised", example="lunch on friday?"),
        fact(
            "subject.capitals",
            float,
            _M,
            "capitals among its letters, as they were sent; none where it has no letters",
            unit=SHARE,
            example=0.1,
            optional=True,
        ),
        fact(
            "subject.digits",
            float,
            _M,
            "digits among its characters; none where there are none",
            unit=SHARE,
            example=0.0,
            optional=True,
        ),
        fact("subject.words", int, _M, "words in it", example=3),
        fact("from.address", str, _M, "address in From", example="anna@example.org"),
        fact("from.name", str, _M, "display name in From, normalised", example="anna"),
        fact("from.domain", str, _M, "domain in From", example="example.org"),
        fact("from.count", int, _M, "From fields; there should be one", example=1),
        fact(
            "from.is_sender",
            bool,
            _M,
            "From has the address of MAIL FROM; false for a bounce, and for most lists",
            example=True,
        ),
        fact(
            "from.domain_is_sender",
            bool,
            _M,
            "From's registrable domain is that of MAIL FROM",
            example=True,
        ),
        fact(
            "from.name_has_address",
            bool,
            _M,
            "the display name in From holds an @, as where it shows an address",
            example=False,
        ),
        fact(
            "reply_to.address",
            str,
            _M,
            "first address in Reply-To, empty when there is none",
            example="office@example.org",
        ),
        fact("reply_to.domain", str, _M, "its domain", example="example.org"),
        fact(
            "reply_to.differs",
            bool,
            _M,
            "there is a Reply-To, and its registrable domain is not From's",
            example=False,
        ),
        fact("to.count", int, _M, "mailboxes in To and Cc", example=1),
        fact("to.has_recipient", bool, _M, "a recipient of the envelope stands in To or Cc", example=True),
        fact("to.is_from", bool, _M, "From's own address stands in To or Cc", example=False),
        fact("message_id", str, _M, "Message-ID, without <>", example="7f3a@mail.example.org"),
        fact(
            "message_id.domain",
            str,
            _M,
            "what stands after its @, lower case; empty without a Message-ID",
            example="mail.example.org",
        ),
        fact(
            "message_id.is_from",
            bool,
            _M,
            "that has From's registrable domain",
            example=True,
        ),
        fact(
            "date.age_hours",
            float,
            _M,
            "since Date; below 0 where that lies ahead; none when there is no readable Date",
            unit="hours",
            example=0.02,
            optional=True,
        ),
        fact("mailer", str, _M, "X-Mailer or User-Agent, lower case", example="thunderbird 128"),
        fact(
            "urgent",
            bool,
            _M,
            "X-Priority 1 or 2, Importance: high, or Priority: urgent",
            example=False,
        ),
        fact(
            "bulk",
            bool,
            _M,
            "List-Id, List-Unsubscribe or Precedence: bulk, list or junk say that this went to many",
            example=False,
        ),
        fact(
            "automatic",
            bool,
            _M,
            "a program's answer or invitation: Auto-Submitted, a calendar part or a report; such texts are alike by nature",
            example=False,
        ),
        fact("unsubscribe", bool, _M, "List-Unsubscribe tells how the list is left", example=False),
        fact(
            "unsubscribe.one_click",
            bool,
            _M,
            "it can be left by one click, RFC 8058",
            example=False,
        ),
        fact(
            "list_id", str, _M, "the mailing list's name in List-Id, lower case", example="chess.example.org"
        ),
        fact(
            "findings",
            Words,
            _M,
            "names of all findings, see the list below",
            example=frozenset({"hidden-text"}),
        ),
        fact(
            "partial",
            bool,
            _M,
            "the counters could not be asked: counts are none; or not all of them: what did not answer is 0",
            example=False,
        ),
    ),
)
