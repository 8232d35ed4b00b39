"""Which entry of which list decides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.reputation.locallists import (
    SUBJECTS,
    ListAction,
    LocalList,
    LocalListMatch,
    LocalLists,
    entries,
)
from oborona.reputation.subject import ListSubject
from oborona.types import RuleMode

ALL = tuple(SUBJECTS)


def a_list(
    name: str,
    action: str,
    *texts: str,
    of: tuple[ListSubject, ...] = ALL,
    mode: RuleMode = RuleMode.LIVE,
) -> LocalList:
    return LocalList(
        name=name, action=ListAction(action), of=of, tables=(entries(texts),), mode=mode
    )


def decided(lists: LocalLists, of: ListSubject, value: str) -> str:
    match = lists.look(of, value)
    return f"{match.list} {match.action} {match.entry}" if match else ""


@pytest.mark.parametrize(
    ("of", "value", "expected"),
    [
        (ListSubject.CLIENT, "192.0.2.7", "ALLOW allow 192.0.2.7"),
        (ListSubject.CLIENT, "::ffff:192.0.2.7", "ALLOW allow 192.0.2.7"),
        (ListSubject.CLIENT, "192.0.2.8", "DENY deny 192.0.2.0/24"),
        (ListSubject.CLIENT, "2001:db8::7", "DENY deny 2001:db8::/32"),
        (ListSubject.CLIENT, "192.0.3.1", ""),
        (ListSubject.CLIENT, "example.com", ""),
        (ListSubject.RDNS, "mail.example.com", "ALLOW allow mail.example.com"),
        (ListSubject.RDNS, "MAIL.Example.COM.", "ALLOW allow mail.example.com"),
        (ListSubject.RDNS, "other.example.com", "DENY deny .example.com"),
        (ListSubject.RDNS, "example.com", "DENY deny .example.com"),
        (ListSubject.RDNS, "notexample.com", ""),
        (ListSubject.RDNS, "a.b.trusted.example.com", "ALLOW allow .trusted.example.com"),
        (ListSubject.HELO, "[192.0.2.8]", "DENY deny 192.0.2.0/24"),
        (ListSubject.HELO, "[IPv6:2001:db8::7]", "DENY deny 2001:db8::/32"),
        (ListSubject.HELO, "192.0.2.8", "DENY deny 192.0.2.0/24"),
        (ListSubject.HELO, "other.example.com", "DENY deny .example.com"),
        (ListSubject.SENDER, "Ann@Other.Example.com", "ALLOW allow ann@other.example.com"),
        (ListSubject.SENDER, "bob@other.example.com", "DENY deny .example.com"),
        (ListSubject.SENDER, "bob@mail.example.com", "ALLOW allow mail.example.com"),
        (ListSubject.SENDER, "bob@lists.example.net", "DENY deny @lists.example.net"),
        (ListSubject.SENDER, "bob@sub.lists.example.net", ""),
        (ListSubject.SENDER, "bob", ""),
        (ListSubject.SENDER, "@lists.example.net", "DENY deny @lists.example.net"),
        (ListSubject.SENDER, "", ""),
        (ListSubject.RECIPIENT, "ann@xn--bcher-kva.example", "DENY deny .xn--bcher-kva.example"),
        (ListSubject.FROM, "ann@bücher.example", "DENY deny .xn--bcher-kva.example"),
        (ListSubject.LINKS, "www.example.com", ""),
    ],
)
def test_the_narrowest_entry_decides(of: ListSubject, value: str, expected: str) -> None:
    lists = LocalLists(
        [
            a_list(
                "DENY",
                "deny",
                "192.0.2.0/24",
                "2001:db8::/32",
                ".example.com",
                "@lists.example.net",
                ".bücher.example",
            ),
            a_list(
                "ALLOW",
                "allow",
                "192.0.2.7",
                "mail.example.com",
                ".trusted.example.com",
                "ann@other.example.com",
            ),
        ]
    )
    assert decided(lists, of, value) == expected


@pytest.mark.parametrize(
    "texts",
    [("192.0.2.0/24", "192.0.2.0/24"), ("a.example", "@a.example"), (".a.example", ".a.example")],
)
@pytest.mark.parametrize("turned", [False, True])
def test_of_equally_narrow_ones_the_deny_holds(texts: tuple[str, str], turned: bool) -> None:
    lists = [a_list("ALLOW", "allow", texts[0]), a_list("DENY", "deny", texts[1])]
    of, value = (
        (ListSubject.CLIENT, "192.0.2.1")
        if texts[0][0] == "1"
        else (ListSubject.SENDER, "x@a.example")
    )
    assert (
        decided(LocalLists(lists[::-1] if turned else lists), of, value) == f"DENY deny {texts[1]}"
    )


def test_of_equal_lists_the_first_is_named() -> None:
    lists = LocalLists([a_list("ONE", "deny", "a.example"), a_list("TWO", "deny", "a.example")])
    assert decided(lists, ListSubject.RDNS, "a.example") == "ONE deny a.example"


def test_a_list_is_asked_about_its_subjects_alone() -> None:
    lists = LocalLists([a_list("HELO", "deny", "a.example", of=(ListSubject.HELO,))])
    assert lists.subjects == {ListSubject.HELO}
    assert decided(lists, ListSubject.HELO, "a.example")
    assert not decided(lists, ListSubject.RDNS, "a.example")


def test_lists_in_shadow_mode_decide_nothing_and_can_be_asked_apart() -> None:
    lists = LocalLists(
        [
            a_list("TRIAL", "deny", "192.0.2.7", mode=RuleMode.SHADOW),
            a_list("REAL", "allow", "192.0.2.0/24"),
        ]
    )
    assert decided(lists, ListSubject.CLIENT, "192.0.2.7") == "REAL allow 192.0.2.0/24"
    assert lists.look(ListSubject.CLIENT, "192.0.2.7", shadow=True) == LocalListMatch(
        list="TRIAL",
        action=ListAction.DENY,
        entry="192.0.2.7",
        of=ListSubject.CLIENT,
        mode=RuleMode.SHADOW,
    )
    assert lists.look(ListSubject.CLIENT, "192.0.2.8", shadow=True) is None


def test_all_tables_of_a_list_are_looked_into() -> None:
    both = LocalList(
        name="BOTH",
        action=ListAction.DENY,
        of=ALL,
        tables=(entries(["192.0.2.0/24"]), entries(["192.0.2.7", "a.example"])),
    )
    lists = LocalLists([both])
    assert len(lists) == 3
    assert decided(lists, ListSubject.CLIENT, "192.0.2.7") == "BOTH deny 192.0.2.7"
    assert decided(lists, ListSubject.CLIENT, "192.0.2.8") == "BOTH deny 192.0.2.0/24"


def test_no_lists_know_nothing() -> None:
    assert LocalLists().look(ListSubject.CLIENT, "192.0.2.1") is None
    assert (len(LocalLists()), LocalLists().subjects) == (0, frozenset())


LABEL = st.sampled_from(["a", "b", "example", "com"])
NAME = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
ENTRY = st.one_of(
    NAME,
    NAME.map(lambda name: f".{name}"),
    NAME.map(lambda name: f"@{name}"),
    NAME.map(lambda name: f"ann@{name}"),
)


def _narrow(text: str, value: str) -> int:
    """How narrow an entry is around a mail address, in other words than the code's.

    -1 where it is not.
    """
    domain = value.split("@")[1]
    if text == value:
        return 1000
    if text.lstrip("@") == domain and text[0] != ".":
        return 500
    return (
        text.count(".") if text[0] == "." and (domain == text[1:] or domain.endswith(text)) else -1
    )


@given(st.lists(st.tuples(ENTRY, st.sampled_from(["allow", "deny"])), max_size=8), NAME)
def test_the_narrowest_entry_decides_whatever_the_lists_hold(
    made: list[tuple[str, str]], name: str
) -> None:
    lists = LocalLists(
        [a_list(f"L{number}", action, text) for number, (text, action) in enumerate(made)]
    )
    for value in (f"ann@{name}", f"bob@{name}"):
        matching = [
            (_narrow(text, value), action == "deny")
            for text, action in made
            if _narrow(text, value) >= 0
        ]
        match = lists.look(ListSubject.SENDER, value)
        assert (match is not None) == bool(matching)
        if match is not None:
            best = max(matching)
            assert (match.action is ListAction.DENY) == best[1]
            assert _narrow(match.entry, value) == best[0]


@given(
    st.sampled_from(ListSubject),
    st.text(max_size=400)
    | st.binary(max_size=60).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
def test_whatever_is_asked_nothing_is_raised(of: ListSubject, value: str) -> None:
    lists = LocalLists([a_list("ANY", "deny", "0.0.0.0/0", "::/0", ".com", "ann@a.example")])
    match = lists.look(of, value)
    assert match is None or match.of is of
