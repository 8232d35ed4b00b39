"""What a provider says of somebody, as whom they are here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from oborona.config.console import ConsoleSettings
from oborona.people.outside_book import VouchedPerson
from oborona.people.person import MAX_PARTS, PeopleError, checked_addresses
from oborona.people.rights import Role

WHOEVER: Final = "*"
MAX_GROUPS: Final = 10_000


def vouched_person(claims: Mapping[str, Any], settings: ConsoleSettings) -> VouchedPerson:
    """Return somebody with the roles that their groups have here.

    Args:
        claims: of an ID token that is believed.
        settings: which claim is what.
    """
    name = claim_of(claims, settings.oidc_name)
    return VouchedPerson(
        subject=f"provider {claims['iss']} {claims['sub']}",
        name=name if isinstance(name, str) else "",
        roles=roles_of(_texts(claim_of(claims, settings.oidc_groups)), settings.oidc_roles),
        addresses=_addresses(claims, settings.oidc_addresses),
    )


def roles_of(groups: list[str], table: str) -> frozenset[Role]:
    """Return the roles of somebody's groups by the table of the settings."""
    having = {WHOEVER, *groups[:MAX_GROUPS]}
    pairs = (pair.rpartition("=") for pair in table.split())
    return frozenset(Role(role) for group, _, role in pairs if group in having)


def claim_of(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim, one of that very name before one within objects; None = there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _addresses(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    if not name or (name == "email" and claims.get("email_verified") is not True):
        return frozenset()
    found = set[str]()
    for text in _texts(claim_of(claims, name))[:MAX_PARTS]:
        try:
            found |= checked_addresses([text])
        except PeopleError:  # a mailbox that no mail of ours reaches
            continue
    return frozenset(found)
