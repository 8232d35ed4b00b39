"""Entries of persons: what can be one, and what a message must show for it."""

from __future__ import annotations

from math import ceil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.personal import (
    EntryAction,
    InvalidPersonalEntry,
    MessageOrigin,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    PersonalProfile,
    entry,
    list_name,
    mail_address,
    of_text,
)
from oborona.types import Shingle

NOW = 1_795_170_000.0
ANN, EVE = "ann@a.example", "eve@e.example"


def quarter(_kind: int, values: int) -> int:
    return ceil(values / 4)


def person(*entries: PersonalEntry) -> PersonalProfile:
    return PersonalProfile("joe@b.example", 1.0, entries)


def found(
    who: PersonalProfile, shown: MessageOrigin, now: float = NOW
) -> tuple[EntryAction, PersonalEntryKind] | None:
    one = who.match(shown, now, quarter)
    return None if one is None else (one.side, one.kind)


PROVED = MessageOrigin(
    author=ANN,
    author_domain="a.example",
    claimed=ANN,
    claimed_domain="a.example",
    claimed_sender=ANN,
)
FORGED = MessageOrigin(claimed=ANN, claimed_domain="a.example", claimed_sender=EVE, sender=EVE)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("Ann@A.Example.", ANN),
        (" ann@a.example ", ANN),
        ("ann@пример.example", "ann@xn--e1afmkfd.example"),
        ("root@localhost", "root@localhost"),
        ("ann", ""),
        ("@a.example", ""),
        ("ann@", ""),
        ("ann@192.0.2.7", ""),
        ("a b@a.example", ""),
        ("ann@a@b.example", ""),
        ("ann\n@a.example", ""),
        ("ann\udcff@a.example", ""),
        ("ann@a\udcff.example", ""),
        ("ann\x9b@a.example", ""),
        ("a" * 65 + "@a.example", ""),
        ("ann@" + "a." * 2000 + "example", ""),
        ("ann%40a@b.example", "ann%40a@b.example"),
    ],
)
def test_mail_addresses(text: str, normal: str) -> None:
    assert mail_address(text) == normal


@given(st.text(st.characters(), max_size=400))
def test_any_text_is_an_address_in_its_normal_form_or_none(text: str) -> None:
    one = mail_address(text)
    assert mail_address(one) == one
    assert list_name(list_name(text)) == list_name(text)
    one.encode()  # as a store takes it


@pytest.mark.parametrize(
    ("side", "kind", "value", "beside", "words"),
    [
        (EntryAction.DENY, PersonalEntryKind.ADDRESS, "ann", "", "is not a mail address"),
        (
            EntryAction.DENY,
            PersonalEntryKind.DOMAIN,
            "mail.a.example",
            "",
            "is not a domain that somebody registered",
        ),
        (EntryAction.DENY, PersonalEntryKind.LIST, "no list", "", "List-Id"),
        (
            EntryAction.ALLOW,
            PersonalEntryKind.LIST,
            "chess.a.example",
            "",
            "anybody can write a List-Id",
        ),
        (EntryAction.ALLOW, PersonalEntryKind.LIST, "chess.a.example", "x y", "is no domain"),
        (EntryAction.ALLOW, PersonalEntryKind.CLAIMED, ANN, "", "never allowed"),
        (
            EntryAction.CONTACT,
            PersonalEntryKind.DOMAIN,
            "a.example",
            "",
            "a contact is a mail address",
        ),
        (EntryAction.ALLOW, PersonalEntryKind.TEXT, "x", "", "not typed"),
    ],
)
def test_what_is_no_entry_says_why(
    side: EntryAction, kind: PersonalEntryKind, value: str, beside: str, words: str
) -> None:
    with pytest.raises(InvalidPersonalEntry, match=words):
        entry(side, kind, value, beside=beside)


def test_a_forged_from_gains_nothing_by_a_friends_name_and_a_denied_one_is_denied_forged_or_not() -> (
    None
):
    for side in (EntryAction.ALLOW, EntryAction.CONTACT):
        who = person(entry(side, PersonalEntryKind.ADDRESS, ANN))
        assert found(who, PROVED) == (side, PersonalEntryKind.ADDRESS)
        assert found(who, FORGED) is None
    domain = person(entry(EntryAction.ALLOW, PersonalEntryKind.DOMAIN, "a.example"))
    assert (found(domain, PROVED), found(domain, FORGED)) == (
        (EntryAction.ALLOW, PersonalEntryKind.DOMAIN),
        None,
    )
    for kind, value in ((PersonalEntryKind.ADDRESS, ANN), (PersonalEntryKind.DOMAIN, "a.example")):
        who = person(entry(EntryAction.DENY, kind, value))
        assert found(who, PROVED) == found(who, FORGED) == (EntryAction.DENY, kind)


def test_who_complains_of_a_forgery_does_not_deny_whose_name_it_bore() -> None:
    who = person(entry(EntryAction.DENY, PersonalEntryKind.CLAIMED, ANN))
    assert found(who, FORGED) == (EntryAction.DENY, PersonalEntryKind.CLAIMED)
    assert found(who, PROVED) is None
    ours = MessageOrigin(claimed=ANN, own=True)
    assert found(who, ours) is None, "our own people's mail is not authenticated that way"


def test_of_one_thing_the_newest_counts_and_a_lift_allows_nothing() -> None:
    deny = entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, ANN, time=NOW - 3)
    allow = entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, ANN, time=NOW - 2, word=1)
    lift = entry(EntryAction.LIFT, PersonalEntryKind.ADDRESS, ANN, time=NOW - 1, word=2)
    again = entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, ANN, time=NOW, word=3)
    assert found(person(deny, allow), PROVED) == (EntryAction.ALLOW, PersonalEntryKind.ADDRESS)
    assert found(person(deny, allow), FORGED) is None
    assert found(person(allow, again), PROVED) == (EntryAction.DENY, PersonalEntryKind.ADDRESS)
    assert found(person(deny, lift), PROVED) is None
    assert found(person(deny, lift, again), FORGED) == (EntryAction.DENY, PersonalEntryKind.ADDRESS)
    assert found(person(allow, lift), PROVED) == (EntryAction.ALLOW, PersonalEntryKind.ADDRESS), (
        "what was allowed is not lifted"
    )


def test_what_is_over_is_as_if_it_had_never_been_said() -> None:
    who = person(
        entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, ANN, time=1, expires=NOW + 1),
        entry(EntryAction.CONTACT, PersonalEntryKind.ADDRESS, ANN, expires=NOW + 5),
    )
    assert found(who, PROVED) == (EntryAction.DENY, PersonalEntryKind.ADDRESS)
    assert found(who, PROVED, NOW + 1) == (EntryAction.CONTACT, PersonalEntryKind.ADDRESS)
    assert found(who, PROVED, NOW + 5) is None


def test_the_narrower_comes_first() -> None:
    who = person(
        entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, ANN, time=1),
        entry(EntryAction.DENY, PersonalEntryKind.DOMAIN, "a.example", time=2),
        entry(EntryAction.DENY, PersonalEntryKind.LIST, "chess.a.example", time=3),
    )
    assert found(who, PROVED) == (EntryAction.ALLOW, PersonalEntryKind.ADDRESS)
    assert found(who, FORGED) == (EntryAction.DENY, PersonalEntryKind.DOMAIN)


def test_a_list_is_allowed_beside_the_domain_that_it_came_with_alone() -> None:
    who = person(
        entry(EntryAction.ALLOW, PersonalEntryKind.LIST, "<Chess.a.example>", beside="a.example")
    )
    assert found(who, MessageOrigin(list_id="chess.a.example", list_domain="a.example")) == (
        EntryAction.ALLOW,
        PersonalEntryKind.LIST,
    )
    assert found(who, MessageOrigin(list_id="chess.a.example", list_domain="e.example")) is None
    assert found(who, MessageOrigin(list_id="chess.a.example")) is None
    denied = person(entry(EntryAction.DENY, PersonalEntryKind.LIST, "chess.a.example"))
    assert found(denied, MessageOrigin(list_id="chess.a.example")) == (
        EntryAction.DENY,
        PersonalEntryKind.LIST,
    )


def values(start: int, number: int = 32, kind: int = 5) -> list[Shingle]:
    return [Shingle(kind, value) for value in range(start, start + number)]


def text(side: EntryAction, start: int, when: float = NOW) -> PersonalEntry:
    return of_text(side, values(start), time=when, source=PersonalEntrySource.WORD)


@pytest.mark.parametrize(
    ("shared", "denied", "allowed"), [(0, 0, 0), (7, 0, 0), (8, 1, 0), (23, 1, 0), (24, 1, 1)]
)
def test_a_text_is_denied_when_it_is_nearly_the_same_and_allowed_when_it_is_mostly(
    shared: int, denied: bool, allowed: bool
) -> None:
    shown = MessageOrigin(text=frozenset(values(32 - shared)))
    assert (found(person(text(EntryAction.DENY, 0)), shown) is not None) == denied
    assert (found(person(text(EntryAction.ALLOW, 0)), shown) is not None) == allowed


def test_of_texts_the_newest_that_is_like_it_counts_and_other_kinds_of_values_are_no_likeness() -> (
    None
):
    shown = MessageOrigin(text=frozenset(values(0)))
    assert found(person(text(EntryAction.DENY, 0, NOW - 1), text(EntryAction.ALLOW, 0)), shown) == (
        EntryAction.ALLOW,
        PersonalEntryKind.TEXT,
    )
    assert found(person(text(EntryAction.ALLOW, 0, NOW - 1), text(EntryAction.DENY, 0)), shown) == (
        EntryAction.DENY,
        PersonalEntryKind.TEXT,
    )
    assert (
        found(person(text(EntryAction.DENY, 0)), MessageOrigin(text=frozenset(values(0, kind=6))))
        is None
    )


def test_a_text_does_not_stand_against_somebody_they_know() -> None:
    who = person(
        text(EntryAction.DENY, 0), entry(EntryAction.CONTACT, PersonalEntryKind.ADDRESS, ANN)
    )
    proved = MessageOrigin(author=ANN, claimed=ANN, text=frozenset(values(0)))
    assert found(who, proved) == (EntryAction.CONTACT, PersonalEntryKind.ADDRESS)
    assert found(who, MessageOrigin(claimed=ANN, text=frozenset(values(0)))) == (
        EntryAction.DENY,
        PersonalEntryKind.TEXT,
    )


SIDES = st.sampled_from([EntryAction.DENY, EntryAction.ALLOW, EntryAction.LIFT])
NAMES = st.sampled_from([ANN, EVE, "bob@a.example"])
ENTRIES = st.lists(
    st.one_of(
        st.builds(
            lambda side, name, when: entry(side, PersonalEntryKind.ADDRESS, name, time=when),
            SIDES,
            NAMES,
            st.floats(0, 9),
        ),
        st.builds(lambda name: entry(EntryAction.CONTACT, PersonalEntryKind.ADDRESS, name), NAMES),
        st.builds(lambda name: entry(EntryAction.DENY, PersonalEntryKind.CLAIMED, name), NAMES),
        st.builds(
            lambda side, domain: entry(side, PersonalEntryKind.DOMAIN, domain),
            SIDES,
            st.sampled_from(["a.example", "e.example"]),
        ),
        st.builds(
            lambda side, name: entry(side, PersonalEntryKind.LIST, name, beside="a.example"),
            SIDES,
            st.sampled_from(["l.a.example"]),
        ),
    ),
    max_size=8,
)


@given(ENTRIES, NAMES, st.booleans())
def test_nothing_that_is_not_proved_is_ever_let_in(
    entries: list[PersonalEntry], name: str, listed: bool
) -> None:
    """Invariant: whatever a person has said, a message that proves nothing meets a denial or
    nothing; and the order of entries never matters.
    """
    shown = MessageOrigin(
        claimed=name,
        claimed_domain=name.partition("@")[2],
        claimed_sender=name,
        list_id="l.a.example" if listed else "",
    )
    given_ = found(person(*entries), shown)
    assert given_ is None or given_[0] is EntryAction.DENY
    proved = MessageOrigin(author=name, author_domain=name.partition("@")[2], claimed=name)
    distinct = {(one.kind, one.value, one.time): one for one in entries}
    one_way, other = list(distinct.values()), list(distinct.values())[::-1]
    assert found(person(*one_way), proved) == found(person(*other), proved)


@given(st.binary(max_size=400), st.sets(st.integers(0, 40)))
def test_any_octets_may_stand_for_a_text(octets: bytes, numbers: set[int]) -> None:
    """Invariant: values that were cut or changed are like a text or not, and never an error."""
    one = text(EntryAction.DENY, 0)
    broken = msgspec.structs.replace(one, text=octets)
    shown = MessageOrigin(text=frozenset(Shingle(5, number) for number in numbers))
    assert found(person(broken), shown) in (None, (EntryAction.DENY, PersonalEntryKind.TEXT))
    cut = msgspec.structs.replace(one, text=one.text[:-3])
    assert (found(person(cut), shown) is not None) == (len(numbers & set(range(31))) >= 8)
