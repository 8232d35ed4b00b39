"""One person's profile, and which of its entries decides about a message.

Kinds are asked in this order, and the first that has an answer decides:

    address, claimed   who writes it
    sender             who sends it
    list               the list that it came by
    domain             the organisation of who writes it
    contact            somebody they know
    text               what it says

The narrower comes first: who allows Ann and denies her domain gets Ann's mail.  Of several entries
about one thing the newest counts.  A text that was denied does not stand against somebody who is
known and proved: a friend may forward it.

To keep mail out, any word is good enough; to let it in, only what authentication proved
(`MessageOrigin`). So nobody gains by another's name, and, as a complaint of mail that proves
nothing makes a `claimed` entry, nobody loses by it.

A text is denied when it is nearly the same (`needed`), and allowed only when most of it is
(`ALLOWED_SHARE`): links and numbers are no part of a fingerprint, and may be others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Final, NamedTuple

import msgspec

from oborona.reputation.personal.entry import EntryAction, PersonalEntry, PersonalEntryKind
from oborona.reputation.personal.likeness import Needed, alike
from oborona.types import Shingle

STRICTEST: Final = 0.5  # times the spam line
LAXEST: Final = 2.0
ALLOWED_SHARE: Final = 0.75  # of the values of a text that is allowed

_NAMED: Final = 120  # octets of memory that a contact takes, about
_ENTRY: Final = 450  # the same of any other entry, without its text


class MessageOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What a message shows of where it comes from; all in the normal form of entries."""

    author: str = ""  # proved address in From
    author_domain: str = ""  # its registrable domain
    sender: str = ""  # proved MAIL FROM
    list_id: str = ""
    list_domain: str = ""  # proved registrable domain beside it
    claimed: str = ""  # address in From, proved or not
    claimed_domain: str = ""  # its registrable domain
    claimed_sender: str = ""  # MAIL FROM, proved or not
    text: frozenset[Shingle] = frozenset()  # values of its fingerprints
    own: bool = False  # one of our own people sent it


class PersonalMatch(NamedTuple):
    """What decides."""

    side: EntryAction  # never lift
    kind: PersonalEntryKind
    say: str


def _lookup_keys(shown: MessageOrigin) -> tuple[tuple[PersonalEntryKind, str, str], ...]:
    """Return what entries are asked for, in order: kind, value, and what of it was proved."""
    claimed = "" if shown.own or shown.claimed == shown.author else shown.claimed
    return (
        (PersonalEntryKind.ADDRESS, shown.claimed, shown.author),
        (PersonalEntryKind.CLAIMED, claimed, ""),
        (PersonalEntryKind.SENDER, shown.claimed_sender, shown.sender),
        (PersonalEntryKind.LIST, shown.list_id, shown.list_domain),
        (PersonalEntryKind.DOMAIN, shown.claimed_domain, shown.author_domain),
    )


class PersonalProfile:
    """What is known of one person.

    Args:
        address: of the person.
        strictness: factor on the spam line, taken within `STRICTEST`..`LAXEST`.
        entries: of any age, in any order.
    """

    __slots__ = ("_contacts", "_named", "_texts", "address", "size", "strictness")

    def __init__(
        self, address: str = "", strictness: float = 1.0, entries: Iterable[PersonalEntry] = ()
    ) -> None:
        self.address = address
        self.strictness = min(max(strictness, STRICTEST), LAXEST)
        self._contacts: dict[str, float] = {}  # address → its end
        self._named: dict[tuple[PersonalEntryKind, str], list[PersonalEntry]] = {}
        self._texts: list[PersonalEntry] = []
        self.size = _ENTRY  # octets of memory, about
        for entry in sorted(entries, key=lambda entry: -entry.time):
            if entry.side is EntryAction.CONTACT:
                self._contacts[entry.value] = _later_end(
                    self._contacts.get(entry.value), entry.expires
                )
                self.size += _NAMED
                continue
            self.size += _ENTRY + len(entry.text)
            if entry.kind is PersonalEntryKind.TEXT:
                self._texts.append(entry)
            else:
                self._named.setdefault((entry.kind, entry.value), []).append(entry)

    @property
    def empty(self) -> bool:
        """Nothing of it could ever make a difference."""
        return self.strictness == 1.0 and not (self._contacts or self._named or self._texts)

    def match(self, shown: MessageOrigin, now: float, needed: Needed) -> PersonalMatch | None:
        """Return what decides about a message; None where nothing does.

        Args:
            shown: by the message.
            now: Unix seconds.
            needed: how many values texts that are nearly the same share.
        """
        for kind, value, proof in _lookup_keys(shown):
            entry = self._of(kind, value, proof, now) if value and self._named else None
            if entry is not None:
                return entry
        if (
            shown.author
            and (end := self._contacts.get(shown.author)) is not None
            and not 0 < end <= now
        ):
            return PersonalMatch(
                EntryAction.CONTACT, PersonalEntryKind.ADDRESS, f"contact {shown.author}"
            )
        return self._text(shown.text, now, needed) if shown.text and self._texts else None

    def unproved(self, shown: MessageOrigin, now: float) -> Iterator[tuple[PersonalEntryKind, str]]:
        """Yield the entries that allow who a message claims to be from, and were not counted since
        nobody proved it.

        Args:
            shown: by the message.
            now: Unix seconds.
        """
        for kind, value, proof in _lookup_keys(shown):
            newest = next(
                (entry for entry in self._named.get((kind, value), ()) if not entry.expired(now)),
                None,
            )
            if newest is not None and newest.side is EntryAction.ALLOW:
                if proof == (newest.beside if kind is PersonalEntryKind.LIST else value):
                    return
                yield kind, value

    def _of(
        self, kind: PersonalEntryKind, value: str, proof: str, now: float
    ) -> PersonalMatch | None:
        """Return what the newest entries about one thing say."""
        lifted = False
        for entry in self._named.get((kind, value), ()):
            if entry.expired(now):
                continue
            if entry.side is EntryAction.LIFT:
                lifted = True
            elif entry.side is EntryAction.ALLOW:
                if proof == (entry.beside if kind is PersonalEntryKind.LIST else value):
                    return PersonalMatch(EntryAction.ALLOW, kind, entry.say)
                if (
                    kind is not PersonalEntryKind.LIST
                ):  # of the name alone: a later word than any denial of it
                    return None
            elif not lifted:
                return PersonalMatch(EntryAction.DENY, kind, entry.say)
        return None

    def _text(self, text: frozenset[Shingle], now: float, needed: Needed) -> PersonalMatch | None:
        """Return what the newest entry says that is about a text like this one."""
        for entry in self._texts:
            least = needed if entry.side is EntryAction.DENY else _most
            if not entry.expired(now) and alike(entry.text, text, least):
                return (
                    None
                    if entry.side is EntryAction.LIFT
                    else PersonalMatch(entry.side, entry.kind, entry.say)
                )
        return None


NOBODY: Final = PersonalProfile()


def _most(_kind: int, values: int) -> int:
    return ceil(values * ALLOWED_SHARE)


def _later_end(first: float | None, second: float) -> float:
    """Return the later of two ends; 0 is never."""
    return second if first is None else 0.0 if not first or not second else max(first, second)
