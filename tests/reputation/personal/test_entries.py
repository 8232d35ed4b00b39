"""Entries of persons: what can be one, and what a message must show for it."""

from __future__ import annotations

from math import ceil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.personal import (
    BrokenEntry,
    Entry,
    Kind,
    Personal,
    Shown,
    Side,
    Source,
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


def person(*entries: Entry) -> Personal:
    return Personal("joe@b.example", 1.0, entries)


def found(who: Personal, shown: Shown, now: float = NOW) -> tuple[Side, Kind] | None:
    one = who.match(shown, now, quarter)
    return None if one is None else (one.side, one.kind)


PROVED = Shown(
    author=ANN,
    author_domain="a.example",
    claimed=ANN,
    claimed_domain="a.example",
    claimed_sender=ANN,
)
FORGED = Shown(claimed=ANN, claimed_domain="a.example", claimed_sender=EVE, sender=EVE)


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
        (Side.DENY, Kind.ADDRESS, "ann", "", "is not a mail address"),
        (Side.DENY, Kind.DOMAIN, "mail.a.example", "", "is not a domain that somebody registered"),
        (Side.DENY, Kind.LIST, "no list", "", "List-Id"),
        (Side.ALLOW, Kind.LIST, "chess.a.example", "", "anybody can write a List-Id"),
        (Side.ALLOW, Kind.LIST, "chess.a.example", "x y", "is no domain"),
        (Side.ALLOW, Kind.CLAIMED, ANN, "", "never allowed"),
        (Side.CONTACT, Kind.DOMAIN, "a.example", "", "a contact is a mail address"),
        (Side.ALLOW, Kind.TEXT, "x", "", "not typed"),
    ],
)
def test_what_is_no_entry_says_why(
    side: Side, kind: Kind, value: str, beside: str, words: str
) -> None:
    with pytest.raises(BrokenEntry, match=words):
        entry(side, kind, value, beside=beside)


def test_a_forged_from_gains_nothing_by_a_friends_name_and_a_denied_one_is_denied_forged_or_not() -> (
    None
):
    for side in (Side.ALLOW, Side.CONTACT):
        who = person(entry(side, Kind.ADDRESS, ANN))
        assert found(who, PROVED) == (side, Kind.ADDRESS)
        assert found(who, FORGED) is None
    domain = person(entry(Side.ALLOW, Kind.DOMAIN, "a.example"))
    assert (found(domain, PROVED), found(domain, FORGED)) == ((Side.ALLOW, Kind.DOMAIN), None)
    for kind, value in ((Kind.ADDRESS, ANN), (Kind.DOMAIN, "a.example")):
        who = person(entry(Side.DENY, kind, value))
        assert found(who, PROVED) == found(who, FORGED) == (Side.DENY, kind)


def test_who_complains_of_a_forgery_does_not_deny_whose_name_it_bore() -> None:
    who = person(entry(Side.DENY, Kind.CLAIMED, ANN))
    assert found(who, FORGED) == (Side.DENY, Kind.CLAIMED)
    assert found(who, PROVED) is None
    ours = Shown(claimed=ANN, own=True)
    assert found(who, ours) is None, "our own people's mail is not authenticated that way"


def test_of_one_thing_the_newest_counts_and_a_lift_allows_nothing() -> None:
    deny = entry(Side.DENY, Kind.ADDRESS, ANN, time=NOW - 3)
    allow = entry(Side.ALLOW, Kind.ADDRESS, ANN, time=NOW - 2, word=1)
    lift = entry(Side.LIFT, Kind.ADDRESS, ANN, time=NOW - 1, word=2)
    again = entry(Side.DENY, Kind.ADDRESS, ANN, time=NOW, word=3)
    assert found(person(deny, allow), PROVED) == (Side.ALLOW, Kind.ADDRESS)
    assert found(person(deny, allow), FORGED) is None
    assert found(person(allow, again), PROVED) == (Side.DENY, Kind.ADDRESS)
    assert found(person(deny, lift), PROVED) is None
    assert found(person(deny, lift, again), FORGED) == (Side.DENY, Kind.ADDRESS)
    assert found(person(allow, lift), PROVED) == (Side.ALLOW, Kind.ADDRESS), (
        "what was allowed is not lifted"
    )


def test_what_is_over_is_as_if_it_had_never_been_said() -> None:
    who = person(
        entry(Side.DENY, Kind.ADDRESS, ANN, time=1, expires=NOW + 1),
        entry(Side.CONTACT, Kind.ADDRESS, ANN, expires=NOW + 5),
    )
    assert found(who, PROVED) == (Side.DENY, Kind.ADDRESS)
    assert found(who, PROVED, NOW + 1) == (Side.CONTACT, Kind.ADDRESS)
    assert found(who, PROVED, NOW + 5) is None


def test_the_narrower_comes_first() -> None:
    who = person(
        entry(Side.ALLOW, Kind.ADDRESS, ANN, time=1),
        entry(Side.DENY, Kind.DOMAIN, "a.example", time=2),
        entry(Side.DENY, Kind.LIST, "chess.a.example", time=3),
    )
    assert found(who, PROVED) == (Side.ALLOW, Kind.ADDRESS)
    assert found(who, FORGED) == (Side.DENY, Kind.DOMAIN)


def test_a_list_is_allowed_beside_the_domain_that_it_came_with_alone() -> None:
    who = person(entry(Side.ALLOW, Kind.LIST, "<Chess.a.example>", beside="a.example"))
    assert found(who, Shown(list_id="chess.a.example", list_domain="a.example")) == (
        Side.ALLOW,
        Kind.LIST,
    )
    assert found(who, Shown(list_id="chess.a.example", list_domain="e.example")) is None
    assert found(who, Shown(list_id="chess.a.example")) is None
    denied = person(entry(Side.DENY, Kind.LIST, "chess.a.example"))
    assert found(denied, Shown(list_id="chess.a.example")) == (Side.DENY, Kind.LIST)


def values(start: int, number: int = 32, kind: int = 5) -> list[Shingle]:
    return [Shingle(kind, value) for value in range(start, start + number)]


def text(side: Side, start: int, when: float = NOW) -> Entry:
    return of_text(side, values(start), time=when, source=Source.WORD)


@pytest.mark.parametrize(
    ("shared", "denied", "allowed"), [(0, 0, 0), (7, 0, 0), (8, 1, 0), (23, 1, 0), (24, 1, 1)]
)
def test_a_text_is_denied_when_it_is_nearly_the_same_and_allowed_when_it_is_mostly(
    shared: int, denied: bool, allowed: bool
) -> None:
    shown = Shown(text=frozenset(values(32 - shared)))
    assert (found(person(text(Side.DENY, 0)), shown) is not None) == denied
    assert (found(person(text(Side.ALLOW, 0)), shown) is not None) == allowed


def test_of_texts_the_newest_that_is_like_it_counts_and_other_kinds_of_values_are_no_likeness() -> (
    None
):
    shown = Shown(text=frozenset(values(0)))
    assert found(person(text(Side.DENY, 0, NOW - 1), text(Side.ALLOW, 0)), shown) == (
        Side.ALLOW,
        Kind.TEXT,
    )
    assert found(person(text(Side.ALLOW, 0, NOW - 1), text(Side.DENY, 0)), shown) == (
        Side.DENY,
        Kind.TEXT,
    )
    assert found(person(text(Side.DENY, 0)), Shown(text=frozenset(values(0, kind=6)))) is None


def test_a_text_does_not_stand_against_somebody_they_know() -> None:
    who = person(text(Side.DENY, 0), entry(Side.CONTACT, Kind.ADDRESS, ANN))
    proved = Shown(author=ANN, claimed=ANN, text=frozenset(values(0)))
    assert found(who, proved) == (Side.CONTACT, Kind.ADDRESS)
    assert found(who, Shown(claimed=ANN, text=frozenset(values(0)))) == (Side.DENY, Kind.TEXT)


SIDES = st.sampled_from([Side.DENY, Side.ALLOW, Side.LIFT])
NAMES = st.sampled_from([ANN, EVE, "bob@a.example"])
ENTRIES = st.lists(
    st.one_of(
        st.builds(
            lambda side, name, when: entry(side, Kind.ADDRESS, name, time=when),
            SIDES,
            NAMES,
            st.floats(0, 9),
        ),
        st.builds(lambda name: entry(Side.CONTACT, Kind.ADDRESS, name), NAMES),
        st.builds(lambda name: entry(Side.DENY, Kind.CLAIMED, name), NAMES),
        st.builds(
            lambda side, domain: entry(side, Kind.DOMAIN, domain),
            SIDES,
            st.sampled_from(["a.example", "e.example"]),
        ),
        st.builds(
            lambda side, name: entry(side, Kind.LIST, name, beside="a.example"),
            SIDES,
            st.sampled_from(["l.a.example"]),
        ),
    ),
    max_size=8,
)


@given(ENTRIES, NAMES, st.booleans())
def test_nothing_that_is_not_proved_is_ever_let_in(
    entries: list[Entry], name: str, listed: bool
) -> None:
    """Invariant: whatever a person has said, a message that proves nothing meets a denial or
    nothing; and the order of entries never matters.
    """
    shown = Shown(
        claimed=name,
        claimed_domain=name.partition("@")[2],
        claimed_sender=name,
        list_id="l.a.example" if listed else "",
    )
    given_ = found(person(*entries), shown)
    assert given_ is None or given_[0] is Side.DENY
    proved = Shown(author=name, author_domain=name.partition("@")[2], claimed=name)
    distinct = {(one.kind, one.value, one.time): one for one in entries}
    one_way, other = list(distinct.values()), list(distinct.values())[::-1]
    assert found(person(*one_way), proved) == found(person(*other), proved)


@given(st.binary(max_size=400), st.sets(st.integers(0, 40)))
def test_any_octets_may_stand_for_a_text(octets: bytes, numbers: set[int]) -> None:
    """Invariant: values that were cut or changed are like a text or not, and never an error."""
    one = text(Side.DENY, 0)
    broken = msgspec.structs.replace(one, text=octets)
    shown = Shown(text=frozenset(Shingle(5, number) for number in numbers))
    assert found(person(broken), shown) in (None, (Side.DENY, Kind.TEXT))
    cut = msgspec.structs.replace(one, text=one.text[:-3])
    assert (found(person(cut), shown) is not None) == (len(numbers & set(range(31))) >= 8)
