"""DNS lists, as policy files give them.

    [[dns_list]]
    name   = "SPAMHAUS_ZEN"
    zone   = "zen.spamhaus.org"
    of     = ["client"]
    scores = { "127.0.0.2-9" = 120, "127.0.0.10-11" = 80 }

The notation of `scores` is that of `oborona.reputation.dnsbl.codes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.free_lists import FreeBelowField, FreeToField
from oborona.policy.named_tables import (
    MAX_TEXT,
    Enabled,
    Fields,
    Name,
    TableSort,
    Why,
    refuse,
    subjects,
)
from oborona.reputation import dnsbl
from oborona.reputation.dnsbl import DnsList, EmailHash
from oborona.reputation.dnsbl.names import of_mailbox
from oborona.reputation.networks import plain
from oborona.reputation.subject import ListSubject
from oborona.toml import GivenValue, TomlPlace
from oborona.types import RuleMode

MAX_DNS_LISTS: Final = 50  # more would make every message ask a thousand questions
MAX_ZONE: Final = 180  # octets: the longest label before it, an IPv6 address, takes 64

_ZONE: Final = (
    r"\A(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)+[A-Za-z][A-Za-z0-9-]{0,62}\.?\Z"
)
_HOST: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,80}[A-Za-z0-9_])?")
_UNFORGED: Final = frozenset(
    {ListSubject.CLIENT, ListSubject.RDNS}
)  # all else is what anybody may write
_FILLED: Final = re.compile(r"\{(?:subject|code)\}")


def _scores(value: dict[str, float]) -> None:
    dnsbl.parse(value, None)


def _refusals(value: tuple[str, ...]) -> None:
    dnsbl.refusals(value)


def _say(value: str) -> None:
    if "{" in _FILLED.sub("", value) or "}" in _FILLED.sub("", value):
        raise ValueError("not allowed; a text, in which {subject} and {code} are filled in")


Scores = dict[str, Annotated[float, Meta(ge=-1000, le=1000)]]
Score = Annotated[
    float,
    Meta(ge=-1000, le=1000, description="What a listing weighs whose code `scores` does not name."),
]


class DnsListTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[dns_list]]` table; this is their only list."""

    name: Name
    zone: (
        Annotated[
            str,
            Meta(
                pattern=_ZONE,
                max_length=MAX_ZONE,
                description="The domain that is asked.",
                extra={
                    "allowed": (
                        f'a domain of at most {MAX_ZONE} characters, such as "zen.spamhaus.org"'
                    )
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    of: Annotated[tuple[ListSubject, ...], subjects(dnsbl.ASKABLE)] | UnsetType = UNSET
    score: Score | UnsetType = UNSET
    scores: (
        Annotated[
            Scores,
            Meta(
                description="What a listing weighs, by return code; 100 is spam.",
                extra={
                    "allowed": (
                        'codes with their scores from -1000 to 1000, such as { "127.0.0.2" = '
                        '100, "127.0.0.4-7" = 60 }'
                    ),
                    "check": _scores,
                },
            ),
        ]
        | UnsetType
    ) = UNSET
    refused: (
        Annotated[
            tuple[str, ...],
            Meta(
                description="Codes by which the list refuses to answer, beside 127.255.255.0/24.",
                extra={"allowed": 'codes, such as ["127.0.0.255"]', "check": _refusals},
            ),
        ]
        | UnsetType
    ) = UNSET
    hash: (
        Annotated[EmailHash, Meta(description="It lists mail addresses, by this hash of each.")]
        | UnsetType
    ) = UNSET
    whole: (
        Annotated[
            bool, Meta(description="Names are asked about as they are, not the registered domain.")
        ]
        | UnsetType
    ) = UNSET
    ips: (
        Annotated[
            bool,
            Meta(description="Addresses in place of names (links, HELO) are asked about, too."),
        ]
        | UnsetType
    ) = UNSET
    ipv4: Annotated[bool, Meta(description="It lists IPv4 addresses.")] | UnsetType = UNSET
    ipv6: Annotated[bool, Meta(description="It lists IPv6 addresses.")] | UnsetType = UNSET
    probe: (
        Annotated[
            str,
            Meta(
                max_length=254,
                description=(
                    "What is always on it: an address, a name, a mail address. By default "
                    '127.0.0.2 and "test"; "": nothing is.'
                ),
            ),
        ]
        | UnsetType
    ) = UNSET
    say: (
        Annotated[
            str,
            Meta(
                max_length=1000,
                description="Its words in the explanation; {subject} and {code} are filled in.",
                extra={"check": _say},
            ),
        ]
        | UnsetType
    ) = UNSET
    url: (
        Annotated[
            str,
            Meta(
                pattern=r"\A[!-$&-~]*\Z",  # a percent sign means something to libmilter
                max_length=150,
                description=(
                    "Page where the refused find out why, told in refusals; {subject} is filled in."
                ),
                extra={"allowed": 'a URL in ASCII without spaces and %, or ""'},
            ),
        ]
        | UnsetType
    ) = UNSET
    mode: (
        Annotated[RuleMode, Meta(description="shadow: explained and counted, scores nothing.")]
        | UnsetType
    ) = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET
    terms: (
        Annotated[
            str, Meta(max_length=MAX_TEXT, description="Who may ask it, and where that is written.")
        ]
        | UnsetType
    ) = UNSET
    free_to: FreeToField | UnsetType = UNSET
    free_below: FreeBelowField | UnsetType = UNSET


DNS_LISTS: Final = TableSort(
    "dns_list", "DNS list", DnsListTable, MAX_DNS_LISTS, (("zone",), ("of",), ("scores", "score"))
)


def dns_list(fields: Fields) -> DnsList:
    """Return the DNS list that files give together.

    Raises:
        PolicyError: fields that do not go together, with the place of one of them.
    """
    values = {key: field.value for key, field in fields.items()}
    scores, default = values.pop("scores", {}), values.pop("score", None)
    values["codes"] = dnsbl.parse(scores, default)
    values["refused"] = dnsbl.refusals(values.get("refused", ()))
    values["zone"] = values["zone"].lower().removesuffix(".")
    listing = DnsList(**values)
    name, of = f"DNS list {listing.name}", set(listing.of)
    if listing.hash is not EmailHash.NONE and not of <= dnsbl.HASHABLE:
        able = ", ".join(sorted(dnsbl.HASHABLE))
        raise refuse(
            f"{name}: a list of mail addresses can be asked about {able}, and nothing else",
            _nearest(fields, "of", "hash"),
        )
    if ListSubject.CLIENT in of and not (listing.ipv4 or listing.ipv6):
        raise refuse(
            f"{name}: of a client it would be asked about neither IPv4 nor IPv6",
            _nearest(fields, "ipv4", "ipv6"),
        )
    if min(listing.codes.scores, default=0.0) < 0 and not of <= _UNFORGED:
        written = ", ".join(subject for subject in listing.of if subject not in _UNFORGED)
        raise refuse(
            f"{name}: nothing can speak for a message that anybody may write into it, as {written};"
            ' a list with a negative score is asked about "client" or "rdns" alone',
            _nearest(fields, "scores" if min(scores.values(), default=0.0) < 0 else "score"),
        )
    if listing.probe and not _can_be_probed(listing):
        raise refuse(
            f'{name}: probe = "{listing.probe[:60]}" is nothing that it could list',
            fields["probe"].place,
        )
    return listing


def _can_be_probed(listing: DnsList) -> bool:
    probe = listing.probe or ""
    if listing.hash is not EmailHash.NONE:
        return bool(of_mailbox(probe))
    if plain(probe) is not None:
        return listing.of_addresses or listing.ips
    return listing.of_domains and _HOST.fullmatch(probe) is not None and ".." not in probe


def _nearest(fields: Mapping[str, GivenValue], *keys: str) -> TomlPlace:
    """The place of the first of some fields that a file gave."""
    return next((fields[key].place for key in keys if key in fields), fields["name"].place)
