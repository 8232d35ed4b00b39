"""The subject claims to answer something, and nothing else in the message does."""

from __future__ import annotations

import re
from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "forged-reply"

# The marks by which programs of many languages say "reply"; forwards carry no In-Reply-To and are
# left alone.
_REPLY: Final = re.compile(
    r"\s*(?:re|aw|antw|sv|vs|odp|отв|ответ|rif|r)(?:\[\d{1,3}\]|\(\d{1,3}\))?\s*:", re.IGNORECASE
)
# A person's answer quotes or refers; old programs and some list software drop the headers but keep
# the quotation.
_QUOTE: Final = re.compile(
    r"^\s{0,4}(?:>|\|)|^.{0,120}(?:wrote|writes|schrieb|écrit|пишет|писал)\S{0,4}:", re.MULTILINE
)


def check(context: CheckContext) -> Finding | None:
    """Return a finding for a reply without In-Reply-To, References, thread headers or a quotation.

    Source: RFC 5322 section 3.6.4 (identification fields of a reply), 3.6.5 (the "Re: " mark).
    """
    message = context.message
    if not _REPLY.match(message.subject):
        return None
    if any(
        message.get(name) is not None
        for name in ("in-reply-to", "references", "thread-index", "thread-topic")
    ):
        return None
    return None if _QUOTE.search(message.text[:20_000]) else Finding(SLUG)
