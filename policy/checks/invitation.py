"""The message asks to accept an event into a calendar."""

from __future__ import annotations

import re
from typing import Final

from oborona.message.model import Message
from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "invitation"

_REQUEST: Final = re.compile(r";\s*method\s*=\s*\"?request\b", re.IGNORECASE)


def check(context: CheckContext) -> Finding | None:
    """Return a finding for a calendar part that is a request.

    What is published, answered or cancelled asks nobody for anything.

    Source: RFC 5546 section 3.2.2 (REQUEST), RFC 6047 section 2.4 (the method parameter).
    """
    return Finding(SLUG) if invites(context.message) else None


def invites(message: Message) -> bool:
    """Tell whether a message asks to accept an event."""
    return "text/calendar" in message.mime_tree and any(
        part.content_type == "text/calendar"
        and any(
            field.name == "content-type" and _REQUEST.search(field.value) is not None
            for field in (part.headers or message.headers)
        )
        for part in message.parts
    )
