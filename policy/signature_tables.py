"""Signatures, as policy files give them: one by one, and lists of them in files of their own.

    [[signature]]
    name   = "PILLS_BY_POST"
    flag   = "spam"
    value  = "cheap pills by post"
    owner  = "anna"
    reason = "campaign of November"

    [[signature_list]]
    name = "PHARMA"
    flag = "spam"
    kind = "domain"
    file = "pharma-domains.list"

How later files change earlier ones: `oborona.policy.named_tables`. What a list file holds is read
in `oborona.policy.signature_files`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.named_tables import (
    LIST_FILE,
    MAX_LIST_FILE,
    Enabled,
    Fields,
    Name,
    TableSort,
    refuse,
)
from oborona.policy.signatures.check import (
    MAX_SCORE,
    MAX_VALUE,
    MAX_WORDS,
    BrokenSignature,
    check_signature,
)
from oborona.policy.signatures.model import Signature, SignatureFlag, SignatureKind, SignatureScope
from oborona.toml import TomlPlace
from oborona.types import RuleMode

MAX_TABLES: Final = 10_000  # in policy files; more belong into list files
MAX_LISTS: Final = 200

_Text = Annotated[str, Meta(max_length=MAX_WORDS)]


def _day(text: str) -> None:
    """Refuse what is no day.

    Raises:
        ValueError: with what is wanted.
    """
    try:
        _unix(text)
    except ValueError:
        raise ValueError('not allowed; a day, such as "2026-12-31"') from None


def _unix(day: str) -> float:
    """Return Unix seconds at the end of a day, UTC."""
    return datetime.strptime(f"{day} +0000", "%Y-%m-%d %z").astimezone(UTC).timestamp() + 86_400


class _Common(msgspec.Struct, frozen=True, kw_only=True):
    name: Name
    flag: Annotated[SignatureFlag, Meta(description="What mail with it is.")] | UnsetType = UNSET
    kind: Annotated[SignatureKind, Meta(description="What it looks for.")] | UnsetType = UNSET
    where: (
        Annotated[SignatureScope, Meta(description="In which part of a message.")] | UnsetType
    ) = UNSET
    inside: (
        Annotated[bool, Meta(description="Of phrases: also found inside longer words.")] | UnsetType
    ) = UNSET
    owner: Annotated[_Text, Meta(description="Who answers for it.")] | UnsetType = UNSET
    reason: Annotated[
        _Text, Meta(description="Why it is one; stands in the header of mail that it decides.")
    ] | (UnsetType) = UNSET
    author: Annotated[_Text, Meta(description="Who added it.")] | UnsetType = UNSET
    expires: (
        Annotated[
            str,
            Meta(
                max_length=10,
                description="The last day on which it is looked for, UTC.",
                extra={"allowed": 'a day, such as "2026-12-31"', "check": _day},
            ),
        ]
        | UnsetType
    ) = UNSET
    score: (
        Annotated[float, Meta(ge=-MAX_SCORE, le=MAX_SCORE, description="A score of its own.")]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: counted and explained, scores nothing.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET


class SignatureTable(_Common, frozen=True, kw_only=True):
    """The keys of a `[[signature]]` table; this is their only list."""

    value: (
        Annotated[str, Meta(max_length=MAX_VALUE, description="The phrase, pattern or entity.")]
        | UnsetType
    ) = UNSET


class SignatureListTable(_Common, frozen=True, kw_only=True):
    """The keys of a `[[signature_list]]` table; this is their only list."""

    file: (
        Annotated[
            str,
            Meta(
                pattern=LIST_FILE,
                max_length=MAX_LIST_FILE,
                description="File in the policy folder, one phrase, pattern or entity a line.",
                extra={
                    "allowed": 'the name of a file in the policy folder, such as "phrases.list"'
                },
            ),
        ]
        | UnsetType
    ) = UNSET


SIGNATURES: Final = TableSort(
    "signature", "signature", SignatureTable, MAX_TABLES, (("flag",), ("value",))
)
SIGNATURE_LISTS: Final = TableSort(
    "signature_list", "signature list", SignatureListTable, MAX_LISTS, (("flag",), ("file",))
)


class SignatureSource(msgspec.Struct, frozen=True, kw_only=True):
    """A list of signatures whose file is not read yet."""

    pattern: Signature  # what all of them have in common; its id is the list's name
    file: str
    place: TomlPlace  # that names the file


def signature_of(fields: Fields) -> Signature | None:
    """Return the signature that files give together; None if it is switched off.

    Raises:
        PolicyError: one that can't be used.
    """
    values = _values(fields)
    if values is None:
        return None
    value = fields["value"].value
    try:
        return check_signature(Signature(value=value, **values))
    except BrokenSignature as fault:
        raise refuse(f"signature {values['id']}: {fault}", fields["value"].place) from None


def signature_source(fields: Fields) -> SignatureSource | None:
    """Return the list that files give together, its file not read yet.

    None if it is switched off.
    """
    values = _values(fields)
    if values is None:
        return None
    file, place = fields["file"]
    return SignatureSource(pattern=Signature(value="", **values), file=file, place=place)


def _values(fields: Fields) -> dict[str, Any] | None:
    values: Mapping[str, Any] = {key: field.value for key, field in fields.items()}
    if not values.get("enabled", True):
        return None
    signature_fields = {
        key: value
        for key, value in values.items()
        if key not in ("name", "value", "file", "enabled", "expires")
    }
    signature_fields["id"] = values["name"]
    signature_fields.setdefault("kind", SignatureKind.PHRASE)
    if "expires" in values:
        signature_fields["expires"] = _unix(values["expires"])
    return signature_fields
