"""The checks: each looks at a message for one thing and returns a finding or nothing; it never
decides.

Registration is this one tuple; the order is the order of findings.
"""

from __future__ import annotations

from typing import Final

from oborona.policy.checks import (
    account_number,
    brand_in_host,
    brand_in_name,
    brand_in_sender,
    brand_in_subject,
    brand_misspelt,
    brand_unlinked,
    capitals_imitated,
    disguised_program,
    executable_attachment,
    foreign_display_name,
    forged_helo,
    forged_mailer,
    forged_reply,
    forged_thread,
    forged_verdict,
    from_name_shouts,
    gtube,
    homograph_host,
    impossible_from,
    invitation,
    invitation_of_payment,
    link_into_uploads,
    link_leaves_sender,
    link_mismatch,
    link_shows_brand,
    link_shows_file,
    link_through_sender,
    link_userinfo,
    needless_base64,
    odd_headers,
    odd_port,
    packed_program,
    password_beside_archive,
    person_impersonated,
    recipient_as_sender,
    recipient_in_link,
    recipient_site_named,
    stale_date,
    subject_tail,
    text_exclaims,
    text_of_money,
    text_shouts,
    text_tail,
    unlisted_way_out,
)
from oborona.policy.checks.context import Check

_MODULES: Final = (
    gtube,
    forged_verdict,
    forged_helo,
    forged_reply,
    forged_thread,
    odd_headers,
    stale_date,
    forged_mailer,
    subject_tail,
    impossible_from,
    foreign_display_name,
    recipient_as_sender,
    from_name_shouts,
    person_impersonated,
    brand_in_name,
    brand_unlinked,
    brand_in_subject,
    brand_in_host,
    brand_in_sender,
    brand_misspelt,
    link_mismatch,
    link_leaves_sender,
    link_through_sender,
    link_shows_brand,
    link_shows_file,
    recipient_in_link,
    recipient_site_named,
    link_userinfo,
    homograph_host,
    odd_port,
    link_into_uploads,
    unlisted_way_out,
    needless_base64,
    text_shouts,
    text_exclaims,
    text_of_money,
    account_number,
    text_tail,
    capitals_imitated,
    executable_attachment,
    packed_program,
    disguised_program,
    password_beside_archive,
    invitation,
    invitation_of_payment,
)

CHECKS: Final[tuple[Check, ...]] = tuple(module.check for module in _MODULES)

FINDINGS: Final[dict[str, str]] = {
    module.SLUG: " ".join((module.__doc__ or "").partition("\n\n")[0].split())
    for module in _MODULES
}
"""Name of each finding that a check can make → what it means."""
