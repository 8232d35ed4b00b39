"""The text holds GTUBE, the string by which admins test that spam is refused."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.types import Finding

SLUG: Final = "gtube"
GTUBE: Final = b"XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X"


def check(context: CheckContext) -> Finding | None:
    """Return a finding when the message carries the test string, in plain sight or decoded.

    Source: https://spamassassin.apache.org/gtube/
    """
    if GTUBE in context.message.raw or GTUBE.decode() in context.message.text:
        return Finding(SLUG)
    return None
