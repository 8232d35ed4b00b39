"""A text of plain ASCII letters is sent in base64, which none of it needs."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "needless-base64"

MIN_CHARACTERS: Final = 100  # of the text: a line that says nothing proves nothing


def check(context: CheckContext) -> Finding | None:
    """Return a finding where every part that holds the text is in base64 and the text is ASCII
    alone, lines of reasonable length.

    Base64 is right for other letters, for lines over 998 octets and for what must not change on its
    way: signed mail is left out.
    """
    message = context.message
    texts = [
        part
        for part in message.parts
        if part.content_type in ("text/plain", "text/html") and part.disposition != "attachment"
    ]
    if not texts or any(part.encoding != "base64" for part in texts):
        return None
    if (
        len(message.text) < MIN_CHARACTERS
        or not message.text.isascii()
        or "signed" in message.mime_tree
    ):
        return None
    return Finding(SLUG, texts[0].content_type)
