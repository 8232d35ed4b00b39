"""The order in which the program that composed a message wrote its header: programs differ in it,
and those of spammers from those they imitate.

Only fields that a composing program writes are looked at, so that nothing counts which mail
servers, filters and lists add on the way (Received, DKIM-Signature, ARC, X-Spam...) or a spammer
invents (X-Qzw7). Nor what says whom one letter answers and who else gets it: In-Reply-To,
References, Cc. So a program's first letter and its answer are alike.
"""

from __future__ import annotations

from typing import Final

from oborona.message.model import HeaderField

MIN_FIELDS: Final = 6  # From, To, Subject, Date and one more are in everybody's order by chance
MAX_FIELDS: Final = 30  # more than all of them, each once

COMPOSED: Final = frozenset({
    "from", "sender", "reply-to", "to", "subject", "date", "message-id", "mime-version", "content-type", "content-transfer-encoding",
    "content-disposition", "content-language", "content-class", "user-agent", "x-mailer", "x-priority", "x-msmail-priority", "priority",
    "importance", "sensitivity", "x-mimeole", "organization", "accept-language", "disposition-notification-to",
    "return-receipt-to", "errors-to", "precedence", "auto-submitted", "feedback-id", "list-id", "list-unsubscribe", "list-unsubscribe-post",
    "list-help", "list-post", "list-subscribe", "x-campaign", "x-campaignid", "x-php-originating-script", "x-unsent",
})  # fmt: skip
"""Fields that count, lower case."""


def order(headers: tuple[HeaderField, ...]) -> str:
    """Return the names of the fields that count, in order, with spaces between.

    Empty when they are fewer than `MIN_FIELDS`.
    """
    names = [header.name for header in headers if header.name in COMPOSED][:MAX_FIELDS]
    return " ".join(names) if len(names) >= MIN_FIELDS else ""
