"""What an entity was seen with: found by search and by looking through, refused and hostile mail,
bounded in number and in time.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from oborona import secret, state_files
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation import neighbourhood
from oborona.desk.reputation.neighbourhood import EntityNeighbour, Neighbourhood, look_around
from oborona.desk.site import Site
from oborona.errors import StoreAbsent
from oborona.journal.entry import JournalEntry
from oborona.types import Action
from tests.desk.messages_site import entry_of, fill, make_site
from tests.journal.refusals import make_refusal

CLIENT, SIBLING, OTHER = "192.0.2.7", "192.0.2.9", "198.51.100.1"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = make_site(tmp_path)
    secret.make(site.state)
    return site


def look(site: Site, entity: str, days: int = 7, within_s: float = 5.0) -> Neighbourhood:
    return look_around(site, entity, days, within_s)


def found(around: Neighbourhood) -> dict[tuple[str, str], EntityNeighbour]:
    return {(one.kind, one.name): one for one in around.neighbours}


def test_an_address_has_its_names_domains_network_and_siblings(site: Site) -> None:
    facts = {
        "author": "ann@shop.example",
        "author_domain": "shop.example",
        "links_domains": ["parcel.example"],
        "client_as_number": 64496,
    }
    fill(
        site,
        entry_of(client_ip=CLIENT, helo="mx.shop.example", facts=facts, verdict=Action.SPAM),
        entry_of(500, client_ip=CLIENT, helo="MX.shop.example", facts=facts, verdict=Action.ACCEPT),
        entry_of(400, client_ip=SIBLING, helo="elsewhere", facts={}),
        entry_of(300, client_ip=OTHER, helo="nobody", facts={}),
    )
    around = look(site, CLIENT)
    assert (around.messages, around.reached, around.further) == (2, None, {})
    rows = found(around)
    assert set(rows) == {
        ("helo", "mx.shop.example"), ("author", "ann@shop.example"), ("domain", "shop.example"),
        ("link", "link:parcel.example"), ("as", "AS64496"), ("network", "192.0.2.0/24"),
        ("address", SIBLING),
    }  # fmt: skip
    domain = rows["domain", "shop.example"]
    assert (domain.messages, domain.against, domain.entity) == (2, 1, "shop.example")
    assert rows["helo", "mx.shop.example"].entity == ""
    assert rows["address", SIBLING].messages == 1


def test_a_domain_has_its_clients_and_not_those_of_one_that_looks_like_it(site: Site) -> None:
    def mail(client: str, mailbox: str) -> JournalEntry:
        return entry_of(client_ip=client, header_from=mailbox, sender="", facts={})

    fill(
        site,
        mail(CLIENT, "Ann <ann@mail.shop.example>"),
        mail(OTHER, "Ann <ann@notshop.example>"),
    )
    rows = found(look(site, "shop.example"))
    assert ("address", CLIENT) in rows
    assert ("address", OTHER) not in rows


@pytest.mark.parametrize("entity", ["link:parcel.example", "phone:+74951234567"])
def test_what_no_search_file_knows_is_looked_for_in_the_newest_mail(
    site: Site, entity: str
) -> None:
    kind, _, piece = entity.partition(":")
    fact = {"link": "links_domains", "phone": "phones"}[kind]
    fill(
        site,
        entry_of(client_ip=CLIENT, facts={fact: [piece]}),
        entry_of(500, client_ip=OTHER, facts={}),
        entry_of(9 * 86_400, client_ip=SIBLING, facts={fact: [piece]}),
    )
    around = look(site, entity)
    assert around.messages == 1
    assert ("address", CLIENT) in found(around)
    assert ("address", SIBLING) not in found(around)


def test_refusals_before_the_content_count_as_many_as_they_are(site: Site) -> None:
    now = time.time()
    knocks = [
        make_refusal(client_ip=CLIENT, sender="a@bank.example", time=now - 9 + number)
        for number in range(3)
    ]
    fill(site, refusals=knocks)
    rows = found(look(site, CLIENT))
    bank = rows["domain", "bank.example"]
    assert (bank.messages, bank.against) == (3, 3)
    assert ("network", "192.0.2.0/24") in rows


def test_it_is_bounded_and_says_how_far_it_came(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "LOOKED_AT", 5)
    monkeypatch.setattr(neighbourhood, "EACH", 2)
    entries = [
        entry_of(1000 - number, client_ip=CLIENT, helo=f"mx{number}", facts={})
        for number in range(20)
    ]
    fill(site, *entries)
    around = look(site, CLIENT)
    assert (around.messages, around.further) == (5, {"helo": 3})
    assert around.reached is not None
    assert around.reached == pytest.approx(entries[-5].time, abs=1)
    hurried = look(site, CLIENT, within_s=0.0)
    assert hurried.reached is not None


def test_names_of_strangers_break_nothing(site: Site) -> None:
    hostile = {"author": "<script>@\u202e.example", "links_domains": ["x" * 5000, "\ud800", ""]}
    fill(site, entry_of(client_ip=CLIENT, helo="\x00<b>\ud800", facts=hostile))
    names = {one.name for one in look(site, CLIENT).neighbours}
    assert "<script>@\u202e.example" in names
    assert not any(len(name) > 400 for name in names)


def test_a_site_without_a_journal_has_none_yet(site: Site) -> None:
    (site.state / state_files.JOURNAL).unlink(missing_ok=True)
    with pytest.raises(StoreAbsent, match="there is no journal"):
        look(site, CLIENT)
    with pytest.raises(UnusableValueError):
        look(site, "\x00")
