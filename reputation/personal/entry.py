"""One thing that a person has said of mail, in its normal form.

    address  ann@a.example          the address in From: allowed only where it was proved, denied
             whoever writes it
    claimed  ann@a.example          the address in From of mail that does not prove it: never
             allowed
    sender   bounce@a.example       MAIL FROM: allowed only where it was proved
    list     chess.a.example        List-Id: allowed only beside the proved domain that it came with
    domain   a.example              registrable domain of From: only where the person has said so
    text     (hash of the values)   a fingerprint: texts that are nearly the same

What the same person says later of the same thing is what counts.  `lift` ends a denial, and allows
nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

from oborona.domains import normal_host, registrable
from oborona.errors import OboronaError
from oborona.reputation.personal.likeness import packed
from oborona.types import Shingle

MAX_ADDRESS: Final = 320  # characters: 64, @, 255 (RFC 5321 section 4.5.3.1)
MAX_LOCAL: Final = 64
MAX_LIST: Final = 255  # characters, RFC 2919 section 2
MAX_NOTE: Final = 200  # characters
FOREVER: Final = 0.0  # as an end

_LOCAL: Final = re.compile(
    r'[^\s\x00-\x1f\x7f-\x9f@<>(),:;\\"\[\]\ud800-\udfff]+'
)  # no surrogates: a store takes none
_LIST: Final = re.compile(r"[!-'*-~]+")  # no parentheses: it is told in them


class EntryAction(StrEnum):
    """What an entry says."""

    DENY = "deny"  # to the spam folder
    ALLOW = "allow"  # to the inbox
    LIFT = "lift"  # what was denied before is left to policy again
    CONTACT = "contact"  # somebody they know: speaks for the message, and decides nothing alone


class PersonalEntryKind(StrEnum):
    """What an entry is about."""

    ADDRESS = "address"
    CLAIMED = "claimed"
    SENDER = "sender"
    LIST = "list"
    DOMAIN = "domain"
    TEXT = "text"


class PersonalEntrySource(StrEnum):
    """How an entry came."""

    COMMAND = "command"  # typed
    WORD = "word"  # "this is spam", "this is not spam"
    BOOK = "book"  # an address book
    WRITTEN = "written"  # the person has written to them


class InvalidPersonalEntry(OboronaError, ValueError):  # noqa: N818 - reads as what happened
    """What can be no entry; the text says why."""


class PersonalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One entry."""

    side: EntryAction
    kind: PersonalEntryKind
    value: str  # in its normal form
    beside: str = ""  # of a list that is allowed: the proved domain
    text: bytes = b""  # of a text: its values, as `likeness.packed` gives them
    time: float = 0.0  # Unix seconds, when it was said
    source: PersonalEntrySource = PersonalEntrySource.COMMAND
    expires: float = FOREVER  # Unix seconds
    word: int = 0  # id of the word that it follows from; 0 = of none
    note: str = ""  # for people

    def expired(self, now: float) -> bool:
        """Tell whether it is over at Unix time `now`."""
        return 0 < self.expires <= now

    @property
    def say(self) -> str:
        """The entry in words: what stands in a verdict's reason."""
        phrase = (
            "a text like this"
            if self.kind is PersonalEntryKind.TEXT
            else f"{self.kind} {self.value}"
        )
        return f"{self.side} {phrase}"


def entry(
    side: EntryAction,
    kind: PersonalEntryKind,
    value: str,
    *,
    beside: str = "",
    time: float = 0.0,
    source: PersonalEntrySource = PersonalEntrySource.COMMAND,
    expires: float = FOREVER,
    word: int = 0,
    note: str = "",
) -> PersonalEntry:
    """Return an entry of anything but a text.

    Args:
        side: what it says.
        kind: what it is about.
        value: as a person writes it.
        beside: of a list: the domain that it was proved to come from.
        time: Unix seconds, when it was said.
        source: how it came.
        expires: Unix seconds; 0 = never.
        word: id of the word that it follows from.
        note: for people; control characters are left out.

    Raises:
        BrokenEntry: it can be no such thing, or could never match.
    """
    match kind:
        case PersonalEntryKind.LIST:
            normal, requirement = list_name(value), "what stands between < and > in List-Id"
        case PersonalEntryKind.DOMAIN:
            normal, requirement = (
                _domain(value),
                "a domain that somebody registered, such as example.org",
            )
        case PersonalEntryKind.TEXT:
            raise InvalidPersonalEntry("a text is taken from a message, not typed")
        case _:
            normal, requirement = mail_address(value), "a mail address, such as ann@example.org"
    if not normal:
        raise InvalidPersonalEntry(f"{value[:MAX_ADDRESS]!a} is not {requirement}")
    if side is EntryAction.CONTACT and kind is not PersonalEntryKind.ADDRESS:
        raise InvalidPersonalEntry("a contact is a mail address")
    if side is EntryAction.ALLOW and kind is PersonalEntryKind.CLAIMED:
        raise InvalidPersonalEntry("an address that nobody proves is never allowed")
    proof = _domain(beside) if beside else ""
    if beside and not proof:
        raise InvalidPersonalEntry(
            f"{beside[:MAX_ADDRESS]!a} is no domain that somebody registered"
        )
    if side is EntryAction.ALLOW and kind is PersonalEntryKind.LIST and not proof:
        raise InvalidPersonalEntry(
            "anybody can write a List-Id: a list is allowed beside the domain that it is "
            "proved to come from"
        )
    return PersonalEntry(
        side=side,
        kind=kind,
        value=normal,
        beside=proof if kind is PersonalEntryKind.LIST and side is EntryAction.ALLOW else "",
        time=time,
        source=source,
        expires=expires,
        word=word,
        note="".join(character for character in note if character.isprintable())[:MAX_NOTE],
    )


def of_text(
    side: EntryAction,
    values: Sequence[Shingle],
    *,
    time: float,
    source: PersonalEntrySource,
    word: int = 0,
) -> PersonalEntry:
    """Return an entry of a text.

    Args:
        side: what it says.
        values: of its fingerprints; at least one.
        time: Unix seconds, when it was said.
        source: how it came.
        word: id of the word that it follows from.
    """
    return of_octets(side, packed(values), time=time, source=source, word=word)


def of_octets(
    side: EntryAction, octets: bytes, *, time: float, source: PersonalEntrySource, word: int = 0
) -> PersonalEntry:
    """Return an entry of a text by its values as they are kept; see `of_text`."""
    name = hashlib.blake2b(octets, digest_size=8, person=b"personal text").hexdigest()
    return PersonalEntry(
        side=side,
        kind=PersonalEntryKind.TEXT,
        value=name,
        text=octets,
        time=time,
        source=source,
        word=word,
    )


def mail_address(text: str) -> str:
    """Return a mail address in lower case, its domain in A-labels; empty if the text is none."""
    return "" if len(text) > MAX_ADDRESS else _normal_address(text)


@lru_cache(maxsize=4096)
def _normal_address(text: str) -> str:
    local, at, host = text.strip().rpartition("@")
    host = normal_host(host) if at and "%" not in host else ""
    if not host or host[-1].isdigit() or len(local) > MAX_LOCAL:
        return ""
    return f"{local.lower()}@{host}" if _LOCAL.fullmatch(local) else ""


def list_name(text: str) -> str:
    """Return a List-Id in lower case, without brackets; empty if the text is none."""
    name = text.strip().removeprefix("<").removesuffix(">").lower()
    return name if len(name) <= MAX_LIST and _LIST.fullmatch(name) and "." in name else ""


def _domain(text: str) -> str:
    if len(text) > MAX_ADDRESS:
        return ""
    host = normal_host(text.strip().removeprefix("@"))
    return host if "." in host and not host[-1].isdigit() and registrable(host) == host else ""
