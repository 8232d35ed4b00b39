"""The message came with headers that only we write: a forged verdict, or Authentication-Results
under our name.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.headers import is_forged_header
from oborona.types import Finding

SLUG: Final = "forged-verdict"


def check(context: CheckContext) -> Finding | None:
    """Return a finding that names the headers; X-Spam-Flag is no forgery, many filters on the way
    write it.
    """
    names = sorted(
        {
            header.name
            for header in context.message.headers
            if header.name != "x-spam-flag"
            and is_forged_header(header.name, header.value, context.site)
        }
    )
    return Finding(SLUG, " ".join(names)[:80]) if names else None
