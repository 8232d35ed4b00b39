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

_MODULES: Final = (
    gtube,
    forged_verdict,
    forged_helo,
    forged_reply,
    odd_headers,
    foreign_display_name,
    link_mismatch,
    executable_attachment,
)

CHECKS: Final[tuple[Check, ...]] = tuple(module.check for module in _MODULES)

FINDINGS: Final[dict[str, str]] = {
    module.SLUG: (module.__doc__ or "").partition("\n")[0] for module in _MODULES
}
"""Name of each finding that a check can make → what it means."""
