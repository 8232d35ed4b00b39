"""Facts of the header, and of how a message is built."""

from functools import partial
from typing import Annotated, Final

from oborona.policy.expression.forms import TextForm
from oborona.policy.facts.declaration import SHARE, FactArea, FactDeclaration, Words
from oborona.policy.facts.envelope import EnvelopeFacts
from oborona.types import Stage

MAILER_LIMIT: Final = 200  # characters

_message = partial(FactDeclaration, FactArea.MESSAGE, Stage.CONTENT)


class HeaderFacts(EnvelopeFacts, frozen=True, kw_only=True):
    """What the header says."""

    message_size: Annotated[
        int, _message("message.size", "as long as the mail server sent it", 4_096, unit="bytes")
    ] = 0
    message_truncated: Annotated[
        bool, _message("message.truncated", "only the head of the message was scanned", False)
    ] = False
    message_parts: Annotated[
        int, _message("message.parts", "MIME parts, containers included", 3)
    ] = 0
    message_depth: Annotated[
        int, _message("message.depth", "deepest nesting of MIME parts and attached messages", 1)
    ] = 0
    message_tree: Annotated[
        str,
        _message(
            "message.tree", "the MIME structure", "multipart/mixed(text/plain,application/zip)"
        ),
    ] = ""
    headers: Annotated[
        Words,
        _message(
            "headers",
            "names of the headers present",
            frozenset({"from", "subject", "date"}),
            form=TextForm.SMALL,
        ),
    ] = frozenset()
    headers_count: Annotated[
        int, _message("headers.count", "fields of the header, each repetition counted", 14)
    ] = 0
    received_count: Annotated[
        int, _message("received.count", "Received fields: servers that it came by", 2)
    ] = 0
    subject: Annotated[
        str, _message("subject", "decoded", "lunch on friday?", form=TextForm.FOLDED)
    ] = ""
    subject_raw: Annotated[
        str, _message("subject.raw", "decoded, and else as it was sent", "Lunch on Friday?")
    ] = ""
    subject_capitals: Annotated[
        float | None,
        _message(
            "subject.capitals",
            "capitals among its letters, as they were sent; none where it has no letters",
            0.1,
            unit=SHARE,
        ),
    ] = None
    subject_digits: Annotated[
        float | None,
        _message(
            "subject.digits",
            "digits among its characters; none where there are none",
            0.0,
            unit=SHARE,
        ),
    ] = None
    subject_words: Annotated[int, _message("subject.words", "words in it", 3)] = 0
    from_address: Annotated[
        str, _message("from.address", "address in From", "anna@example.org")
    ] = ""
    from_name: Annotated[
        str, _message("from.name", "display name in From", "anna", form=TextForm.FOLDED)
    ] = ""
    from_name_raw: Annotated[str, _message("from.name.raw", "the same as it was sent", "Anna")] = ""
    from_domain: Annotated[
        str, _message("from.domain", "domain in From", "example.org", form=TextForm.SMALL)
    ] = ""
    from_count: Annotated[int, _message("from.count", "From fields; there should be one", 1)] = 0
    from_is_sender: Annotated[
        bool,
        _message(
            "from.is_sender",
            "From has the address of MAIL FROM; false for a bounce, and for most lists",
            True,
        ),
    ] = False
    from_domain_is_sender: Annotated[
        bool,
        _message("from.domain_is_sender", "From's registrable domain is that of MAIL FROM", True),
    ] = False
    from_domain_is_client: Annotated[
        bool,
        _message(
            "from.domain_is_client",
            "the client's verified name lies under From's registrable domain",
            True,
        ),
    ] = False
    from_name_has_address: Annotated[
        bool,
        _message(
            "from.name_has_address",
            "the display name in From holds an @, as where it shows an address",
            False,
        ),
    ] = False
    reply_to_address: Annotated[
        str,
        _message(
            "reply_to.address",
            "first address in Reply-To, empty when there is none",
            "office@example.org",
        ),
    ] = ""
    reply_to_domain: Annotated[
        str, _message("reply_to.domain", "its domain", "example.org", form=TextForm.SMALL)
    ] = ""
    reply_to_differs: Annotated[
        bool,
        _message(
            "reply_to.differs",
            "there is a Reply-To, and its registrable domain is not From's",
            False,
        ),
    ] = False
    to_count: Annotated[int, _message("to.count", "mailboxes in To and Cc", 1)] = 0
    to_has_recipient: Annotated[
        bool, _message("to.has_recipient", "a recipient of the envelope stands in To or Cc", True)
    ] = False
    to_is_from: Annotated[
        bool, _message("to.is_from", "From's own address stands in To or Cc", False)
    ] = False
    message_id: Annotated[
        str, _message("message_id", "Message-ID, without <>", "7f3a@mail.example.org")
    ] = ""
    message_id_domain: Annotated[
        str,
        _message(
            "message_id.domain",
            "what stands after its @; empty without a Message-ID",
            "mail.example.org",
            form=TextForm.SMALL,
        ),
    ] = ""
    message_id_is_from: Annotated[
        bool, _message("message_id.is_from", "that has From's registrable domain", True)
    ] = False
    date_age_hours: Annotated[
        float | None,
        _message(
            "date.age_hours",
            "since Date; below 0 where that lies ahead; none when there is no readable Date",
            0.02,
            unit="hours",
        ),
    ] = None
    mailer: Annotated[
        str,
        _message(
            "mailer",
            "X-Mailer or User-Agent",
            "thunderbird 128",
            form=TextForm.SMALL,
            longest=MAILER_LIMIT,
        ),
    ] = ""
    urgent: Annotated[
        bool, _message("urgent", "X-Priority 1 or 2, Importance: high, or Priority: urgent", False)
    ] = False
    bulk: Annotated[
        bool,
        _message(
            "bulk",
            (
                "List-Id, List-Unsubscribe or Precedence: bulk, list or junk say that this "
                "went to many"
            ),
            False,
        ),
    ] = False
    automatic: Annotated[
        bool,
        _message(
            "automatic",
            (
                "a program's answer or invitation: Auto-Submitted, a calendar part or a "
                "report; such texts are alike by nature"
            ),
            False,
        ),
    ] = False
    unsubscribe: Annotated[
        bool, _message("unsubscribe", "List-Unsubscribe tells how the list is left", False)
    ] = False
    unsubscribe_one_click: Annotated[
        bool, _message("unsubscribe.one_click", "it can be left by one click, RFC 8058", False)
    ] = False
