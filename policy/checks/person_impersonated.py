"""The name in From is that of somebody of our own, and the address is none that they write from."""

from __future__ import annotations

from typing import Final

from oborona.policy.checks.context import CheckContext
from oborona.policy.text import quoted
from oborona.types import Finding

SLUG: Final = "person-impersonated"


def check(context: CheckContext) -> Finding | None:
    """Return a finding with name and address; who is our own, and where they write from, stands in
    the `[[own_person]]` tables of the policy.
    """
    box = context.message.from_
    if box is None:
        return None
    person = context.people.borrowed(box)
    if person is None:
        return None
    return Finding(SLUG, quoted(f"{box.name} <{box.address}> is not {person.name}", 160))
