"""The checks: each looks at a message for one thing and returns a finding or nothing; it never decides.

Registration is this one tuple; the order is the order of findings.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks import (
    disguised_program,
    executable_attachment,
    foreign_display_name,
    forged_helo,
    forged_reply,
    forged_verdict,
    gtube,
    homograph_host,
    link_mismatch,
    link_userinfo,
    odd_headers,
    packed_program,
    password_beside_archive,
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
    link_userinfo,
    homograph_host,
    executable_attachment,
    packed_program,
    disguised_program,
    password_beside_archive,
)

CHECKS: Final[tuple[Check, ...]] = tuple(module.check for module in _MODULES)

FINDINGS: Final[dict[str, str]] = {
    module.SLUG: (module.__doc__ or "").partition("\n")[0] for module in _MODULES
}
"""Name of each finding that a check can make → what it means."""
