"""DNS lists and local lists, as policy files give them.

[[dns_list]]
name   = "SPAMHAUS_ZEN"
zone   = "zen.spamhaus.org"
of     = ["client"]
scores = { "127.0.0.2-9" = 120, "127.0.0.10-11" = 80 }

[[local_list]]
name   = "OUR_PARTNERS"
action = "allow"
of     = ["client", "sender"]
file   = "partners.list"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from oborona.policy.named import Fields, Name, Sort, refuse
from oborona.policy.rules import MAX_TEXT
from oborona.reputation import dnslists, locallists
from oborona.reputation.dnslists import DnsList, Hash
from oborona.reputation.dnslists.names import of_mailbox
from oborona.reputation.locallists import BrokenLine, ListAction, Table
from oborona.reputation.networks import plain
from oborona.reputation.subject import MAILBOXES, Subject
from oborona.toml import Document, Given, Place
from oborona.types import Mode

MAX_DNS_LISTS: Final = 50  # more would make every message ask a thousand questions
MAX_LOCAL_LISTS: Final = 50
MAX_INLINE: Final = 1000  # entries in a policy file; more belong into a list file
MAX_ZONE: Final = 180  # octets: the longest label before it, an IPv6 address, takes 64

_ZONE: Final = r"\A(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)+[A-Za-z][A-Za-z0-9-]{0,62}\.?\Z"
_HOST: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,80}[A-Za-z0-9_])?")
_FILLED: Final = re.compile(r"\{(?:subject|code)\}")


def _of(known: Iterable[Subject]) -> Meta:
    names = tuple(known)
    listed = ", ".join(f'"{name.value}"' for name in names)
    words = f"one or more of {listed}, each once, in brackets"

    def check(value: tuple[Subject, ...]) -> None:
        if not value or len(set(value)) < len(value) or not set(value) <= set(names):
            raise ValueError(f"not allowed; {words}")

    return Meta(description="What it is asked about.", extra={"allowed": words, "check": check})


def _scores(value: dict[str, float]) -> None:
    dnslists.parse(value, None)


def _refusals(value: tuple[str, ...]) -> None:
    dnslists.refusals(value)


def _say(value: str) -> None:
    if "{" in _FILLED.sub("", value) or "}" in _FILLED.sub("", value):
        raise ValueError("not allowed; a text, in which {subject} and {code} are filled in")


Scores = dict[str, Annotated[float, Meta(ge=-1000, le=1000)]]
Score = Annotated[
    float, Meta(ge=-1000, le=1000, description="What a listing weighs whose code `scores` does not name.")
]
Enabled = Annotated[bool, Meta(description="false: as if it were not there.")]
Why = Annotated[str, Meta(max_length=MAX_TEXT, description="A note for the next admin.")]


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
                extra={"allowed": f'a domain of at most {MAX_ZONE} characters, such as "zen.spamhaus.org"'},
            ),
        ]
        | UnsetType
    ) = UNSET
    of: Annotated[tuple[Subject, ...], _of(dnslists.ASKABLE)] | UnsetType = UNSET
    score: Score | UnsetType = UNSET
    scores: (
        Annotated[
            Scores,
            Meta(
                description="What a listing weighs, by return code; 100 is spam.",
                extra={
                    "allowed": 'codes with their scores from -1000 to 1000, such as { "127.0.0.2" = 100, "127.0.0.4-7" = 60 }',
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
    hash: Annotated[Hash, Meta(description="It lists mail addresses, by this hash of each.")] | UnsetType = (
        UNSET
    )
    whole: (
        Annotated[bool, Meta(description="Names are asked about as they are, not the registered domain.")]
        | UnsetType
    ) = UNSET
    ips: (
        Annotated[bool, Meta(description="Addresses in place of names (links, HELO) are asked about, too.")]
        | UnsetType
    ) = UNSET
    ipv4: Annotated[bool, Meta(description="It lists IPv4 addresses.")] | UnsetType = UNSET
    ipv6: Annotated[bool, Meta(description="It lists IPv6 addresses.")] | UnsetType = UNSET
    probe: (
        Annotated[
            str,
            Meta(
                max_length=254,
                description='What is always on it: an address, a name, a mail address. By default 127.0.0.2 and "test"; "": nothing is.',
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
    mode: Annotated[Mode, Meta(description="shadow: explained and counted, scores nothing.")] | UnsetType = (
        UNSET
    )
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET
    terms: (
        Annotated[str, Meta(max_length=MAX_TEXT, description="Who may ask it, and where that is written.")]
        | UnsetType
    ) = UNSET


class LocalListTable(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a `[[local_list]]` table; this is their only list."""

    name: Name
    action: Annotated[ListAction, Meta(description="What its entries mean.")] | UnsetType = UNSET
    of: Annotated[tuple[Subject, ...], _of(locallists.SUBJECTS)] | UnsetType = UNSET
    entries: (
        Annotated[
            tuple[str, ...],
            Meta(
                max_length=MAX_INLINE,
                description="Addresses, networks, names, mail addresses.",
                extra={"allowed": f"at most {MAX_INLINE} texts in brackets; more belong into a file"},
            ),
        ]
        | UnsetType
    ) = UNSET
    file: (
        Annotated[
            str,
            Meta(
                pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._+-]*\.list\Z",
                max_length=100,
                description="File of more entries, one a line, in the policy folder.",
                extra={"allowed": 'the name of a file in the policy folder, such as "partners.list"'},
            ),
        ]
        | UnsetType
    ) = UNSET
    mode: Annotated[Mode, Meta(description="shadow: explained, decides nothing.")] | UnsetType = UNSET
    enabled: Enabled | UnsetType = UNSET
    why: Why | UnsetType = UNSET


class ListSource(msgspec.Struct, frozen=True, kw_only=True):
    """A local list whose file is not read yet."""

    name: str
    action: ListAction
    of: tuple[Subject, ...]
    entries: Table
    file: str = ""
    mode: Mode = Mode.LIVE
    enabled: bool = True
    why: str = ""
    places: Mapping[str, Place] = msgspec.field(default_factory=dict)  # of each field that a file gave


def _inspect(document: Document, path: tuple[str | int, ...], fields: Fields) -> None:
    """Find the entry of a policy file that can't be used while its place is known."""
    if "entries" in fields:
        try:
            locallists.entries(fields["entries"].value)
        except BrokenLine as fault:
            name = fields["name"].value
            raise refuse(
                f"local list {name}: {fault.problem}", document.value(*path, "entries", fault.line - 1)
            ) from None


DNS_LISTS: Final = Sort(
    "dns_list", "DNS list", DnsListTable, MAX_DNS_LISTS, (("zone",), ("of",), ("scores", "score"))
)
LOCAL_LISTS: Final = Sort(
    "local_list",
    "local list",
    LocalListTable,
    MAX_LOCAL_LISTS,
    (("action",), ("of",), ("entries", "file")),
    _inspect,
)


def dns_list(fields: Fields) -> DnsList:
    """Return the DNS list that files give together.

    Raises:
        PolicyError: fields that do not go together, with the place of one of them.
    """
    values = {key: given.value for key, given in fields.items()}
    scores, other = values.pop("scores", {}), values.pop("score", None)
    values["codes"] = dnslists.parse(scores, other)
    values["refused"] = dnslists.refusals(values.get("refused", ()))
    values["zone"] = values["zone"].lower().removesuffix(".")
    found = DnsList(**values)
    name, of = f"DNS list {found.name}", set(found.of)
    if found.hash is not Hash.NONE and not of <= dnslists.HASHABLE:
        able = ", ".join(sorted(dnslists.HASHABLE))
        raise refuse(
            f"{name}: a list of mail addresses can be asked about {able}, and nothing else",
            _nearest(fields, "of", "hash"),
        )
    if Subject.CLIENT in of and not (found.ipv4 or found.ipv6):
        raise refuse(
            f"{name}: of a client it would be asked about neither IPv4 nor IPv6",
            _nearest(fields, "ipv4", "ipv6"),
        )
    if found.probe and not _can_be_probed(found):
        raise refuse(
            f'{name}: probe = "{found.probe[:60]}" is nothing that it could list', fields["probe"].place
        )
    return found


def _can_be_probed(one: DnsList) -> bool:
    probe = one.probe or ""
    if one.hash is not Hash.NONE:
        return bool(of_mailbox(probe))
    if plain(probe) is not None:
        return one.of_addresses or one.ips
    return one.of_domains and _HOST.fullmatch(probe) is not None and ".." not in probe


def list_source(fields: Fields) -> ListSource:
    """Return the local list that files give together, its file not read yet.

    Raises:
        PolicyError: entries that its subjects can never be.
    """
    values: dict[str, Any] = {key: given.value for key, given in fields.items()}
    values["entries"] = locallists.entries(values.get("entries", ()))
    source = ListSource(**values, places={key: given.place for key, given in fields.items()})
    vain = in_vain(source.entries, source.of)
    if vain is not None:
        raise refuse(f"local list {source.name}: {vain[1]}", fields["entries"].place)
    return source


def in_vain(table: Table, of: tuple[Subject, ...]) -> tuple[int, str] | None:
    """Return the line of an entry that none of a list's subjects can ever match, and what is wrong; None if there is none."""
    able = {
        locallists.Sort.NETWORK: {Subject.CLIENT, Subject.HELO},
        locallists.Sort.NAME: set(locallists.SUBJECTS) - {Subject.CLIENT},
        locallists.Sort.MAILBOX: MAILBOXES,
    }
    for sort, line in table.first.items():
        if not able[sort] & set(of):
            names = ", ".join(f'"{one.value}"' for one in locallists.SUBJECTS if one in able[sort])
            return line, f"{sort.value} matches only where the list is of {names}"
    return None


def _nearest(fields: Mapping[str, Given], *keys: str) -> Place:
    """The place of the first of some fields that a file gave."""
    return next((fields[key].place for key in keys if key in fields), fields["name"].place)
