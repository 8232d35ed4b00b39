"""The checks: each looks at a message for one thing and returns a finding or nothing; it never decides.

Registration is this one tuple; the order is the order of findings.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks import (
    executable_attachment,
    foreign_display_name,
    forged_helo,
    forged_reply,
    forged_verdict,
    gtube,
    link_mismatch,
    odd_headers,
)
from oborona.policy.checks.context import Check

CHECKS: Final[tuple[Check, ...]] = (
    gtube.check,
    forged_verdict.check,
    forged_helo.check,
    forged_reply.check,
    odd_headers.check,
    foreign_display_name.check,
    link_mismatch.check,
    executable_attachment.check,
)

FINDINGS: Final[dict[str, str]] = {
    module.SLUG: (module.__doc__ or "").partition("\n")[0]
    for module in (
        gtube,
        forged_verdict,
        forged_helo,
        forged_reply,
        odd_headers,
        foreign_display_name,
        link_mismatch,
        executable_attachment,
    )
}
"""Name of each finding that a check can make → what it means."""
