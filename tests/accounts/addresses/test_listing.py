"""What an answer about an own address changes."""

from __future__ import annotations

from oborona.accounts.addresses.listing import ListingChange, ListingState, OwnListing, changed
from oborona.reputation.dnsbl import DnsblFailure, DnsblFault, DnsblListing
from oborona.reputation.subject import ListSubject

AT = 1_800_000_000.0
AWAY = DnsblFailure(name="L", fault=DnsblFault.TEMPERROR, why="no answer")


def said(score: float = 5.0) -> DnsblListing:
    return DnsblListing(
        name="L", of=ListSubject.CLIENT, asked="9.1.0.1", codes=("127.0.0.2",), score=score, say="bad"
    )  # fmt: skip


def change(
    before: OwnListing | None, answer: DnsblListing | DnsblFailure | None, at: float = AT
) -> ListingChange:
    return changed(before, "9.1.0.1", "L", answer, at)


def kept(found: ListingChange) -> OwnListing:
    assert found.now is not None
    return found.now


def test_a_new_listing_is_told_once() -> None:
    first = change(None, said())
    assert (first.listed, kept(first).state) == (False, ListingState.SUSPECTED)
    twice = change(first.now, said(), AT + 9)
    assert (twice.listed, kept(twice).state) == (True, ListingState.LISTED)
    again = change(twice.now, said(), AT + 99)
    assert (again.listed, kept(again).since, kept(again).asked) == (False, AT, AT + 99)
    assert change(first.now, None).now is None


def test_no_answer_is_not_clean_and_takes_nobody_off_a_list() -> None:
    unknown = change(None, AWAY)
    assert (kept(unknown).state, unknown.listed) == (ListingState.UNKNOWN, False)
    assert kept(change(unknown.now, AWAY, AT + 9)).since == AT
    assert kept(change(unknown.now, said())).state is ListingState.SUSPECTED
    assert change(unknown.now, None) == change(None, None)
    listed = change(change(None, said()).now, said()).now
    assert change(listed, AWAY).now == listed


def test_it_is_off_a_list_when_the_list_says_so_twice() -> None:
    listed = change(change(None, said()).now, said()).now
    once = change(listed, None, AT + 1)
    assert (once.delisted, kept(once).state) == (False, ListingState.LISTED)
    assert change(once.now, AWAY).now == once.now
    assert kept(change(once.now, said(), AT + 2)).clean == 0
    twice = change(once.now, None, AT + 2)
    assert (twice.delisted, twice.now) == (True, None)


def test_a_list_of_good_addresses_is_no_trouble() -> None:
    assert change(None, said(-5.0)).now is None
