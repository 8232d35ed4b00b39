"""What accounts, addresses and messages can cost others: no more than docs/people/abuse.md states.
All through the daemon's own scan, glance, counters and believer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona.feedback.events.model import EventKind
from oborona.message.hashing import ShingleType
from oborona.types import Metric, Window
from tests.abuse import scenes
from tests.abuse.attacked import HASHER, HERE, TRAPS, Attacked
from tests.abuse.scenes import NEWS, RELAY, RIVAL, Harm, letter
from tests.feedback.processing.scene import DAY

NOTHING_LOST = Harm(10, 0, 0)
SAME_64 = [f"2001:db8:bad:1::{place:x}" for place in range(1, 10)]
NINE = [f"100.{64 + place}.0.1" for place in range(9)]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Attacked]:
    with Attacked(tmp_path) as made:
        yield made


def counted(site: Attacked, kind: ShingleType, piece: str) -> int:
    """Return the complaints of a piece in the last day."""
    (row,) = asyncio.run(site.counters.read([HASHER.shingle(kind, piece)], site.now))
    return row[Window.DAY][Metric.COMPLAINTS]


@pytest.mark.parametrize(
    ("accounts", "each", "aged", "past"),
    [
        (1, 20, True, False),
        (1, 20, True, True),
        (3, 8, True, True),
        (9, 2, True, False),
        (14, 2, False, False),
    ],
)
def test_few_accounts_and_new_ones_refuse_nobody_who_writes_from_the_same_relay(
    site: Attacked, accounts: int, each: int, aged: bool, past: bool
) -> None:
    harm = scenes.relay(
        site, accounts=accounts, each=each, aged=aged, mails=24, users=12, past=past
    )
    assert harm == Harm(12, 0, 0)


def test_many_aged_accounts_refuse_nobody_where_known_authors_write(site: Attacked) -> None:
    assert (
        scenes.relay(site, accounts=20, each=1, aged=True, mails=24, users=12, past=True).lost == 0
    )


@pytest.mark.parametrize(("traps", "each", "past"), [(1, 12, False), (3, 4, False), (12, 1, True)])
def test_traps_count_once_each_and_are_no_word_on_an_address_with_known_authors(
    site: Attacked, traps: int, each: int, past: bool
) -> None:
    assert (
        scenes.relay_to_traps(site, traps=traps, each=each, mails=24, users=12, past=past).lost == 0
    )


def test_a_person_counts_once_a_day_on_whatever_they_complain_of(site: Attacked) -> None:
    ann, bob = site.ages(f"ann@{HERE}"), f"bob@{HERE}"
    for number in range(6):
        for person in (ann, bob):
            own = site.mail(RELAY, "m@relay.example", person, letter(number), proved=True)
            assert site.complains(person, own).counts
    assert counted(site, ShingleType.CLIENT_IP, RELAY) == 1, "of bob nobody knows anything"
    assert counted(site, ShingleType.AUTHOR, "m@relay.example") == 2
    site.passes(DAY + 700)
    site.complains(ann, site.mail(RELAY, "m@relay.example", ann, letter(7), proved=True))
    assert counted(site, ShingleType.CLIENT_IP, RELAY) == 1


def test_a_word_that_is_taken_back_frees_its_voice(site: Attacked) -> None:
    ann = site.ages(f"ann@{HERE}")
    first = site.mail(RELAY, "m@relay.example", ann, letter(1), proved=True)
    site.complains(ann, first)
    site.says(EventKind.PARDON, ann, first.ident)
    assert counted(site, ShingleType.CLIENT_IP, RELAY) == 0
    site.complains(ann, site.mail(RELAY, "m@relay.example", ann, letter(2), proved=True))
    assert counted(site, ShingleType.CLIENT_IP, RELAY) == 1


def test_a_spammer_whom_no_rule_sees_is_still_refused_for_complaints(site: Attacked) -> None:
    found = scenes.spammed(site, mails=60, complains=0.25)
    assert found.stopped
    assert found.complained == 10
    assert found.inbox < 50


@pytest.mark.parametrize("proved", [True, False])
@pytest.mark.parametrize(("traps", "networks"), [(1, 1), (4, 1), (1, 4)])
def test_copies_of_a_newsletter_in_traps_are_held_against_who_sent_them(
    site: Attacked, traps: int, networks: int, proved: bool
) -> None:
    harm, answers = scenes.newsletter_to_traps(site, traps=traps, networks=networks, proved=proved)
    assert harm == NOTHING_LOST
    assert not any(
        "TRAPPED" in hit.name for one in answers if one.result for hit in one.result.verdict.rules
    )


def test_no_number_of_networks_and_traps_harms_a_newsletter_that_proves_who_sends_it(
    site: Attacked,
) -> None:
    assert scenes.newsletter_to_traps(site, traps=4, networks=4, proved=True)[0] == NOTHING_LOST


def test_one_that_proves_nothing_is_filed_by_two_networks_and_two_traps_and_never_refused(
    site: Attacked,
) -> None:
    assert scenes.newsletter_to_traps(site, traps=2, networks=2, proved=False)[0] == Harm(10, 0, 10)


def test_who_came_to_a_trap_himself_is_held_to_it(site: Attacked) -> None:
    for number in range(2):
        site.mail("192.0.2.9", "s@spam.example", f"t{number}@{TRAPS}", NEWS)
    answer = site.mail("192.0.2.9", "s@spam.example", f"reader@{HERE}", NEWS)
    assert answer.result is not None
    assert "MASS_TRAPPED" in {hit.name for hit in answer.result.verdict.rules}
    assert "trap" not in " ".join(answer.headers.values()).lower()
    site.mail("192.0.2.9", "s@spam.example", f"t9@{TRAPS}", NEWS)
    assert site.mail("192.0.2.9", "s@spam.example", f"reader@{HERE}", NEWS).word == "refused"


@pytest.mark.parametrize(
    ("clients", "proved"),
    [(SAME_64, True), (SAME_64, False), (NINE, True)],
    ids=["/64", "/64 unproved", "9"],
)
def test_copies_of_a_newsletter_from_elsewhere_do_not_lift_the_next_mailing(
    site: Attacked, clients: list[str], proved: bool
) -> None:
    assert scenes.newsletter_flooded(site, clients=clients, proved=proved) == NOTHING_LOST


def test_nor_do_copies_that_nine_domains_prove_where_the_rival_wrote_before_today(
    site: Attacked,
) -> None:
    site.now -= 3 * DAY
    for number in range(3):
        scenes.rival(site, 100 + number, proved=True, text=letter(number))
    site.now += 3 * DAY
    assert (
        scenes.newsletter_flooded(site, clients=NINE, proved=True, forgers_proved=True)
        == NOTHING_LOST
    )


def test_a_real_campaign_from_everywhere_is_still_filed(site: Attacked) -> None:
    found = [
        site.mail(ip, f"x{place}@x{place}.example", f"reader{place}@{HERE}", NEWS).word
        for place, ip in enumerate([*NINE, *(f"100.{80 + place}.0.1" for place in range(9))])
    ]
    assert "inbox" not in found[8:]


def test_headers_of_one_try_tell_no_trap_from_a_person(tmp_path: Path) -> None:
    told = []
    for place, candidate in enumerate((f"reader@{HERE}", f"t0@{TRAPS}")):
        (tmp_path / str(place)).mkdir()
        with Attacked(tmp_path / str(place)) as site:
            told.append(scenes.told(site, candidate))
    assert told[0] == told[1]


def test_a_young_memory_refuses_nobody(tmp_path: Path) -> None:
    with Attacked(tmp_path, old=False) as site:
        assert scenes.spammed(site, mails=15, complains=1).stopped == 0
        site.passes(11 * DAY)
        for number in range(12):
            site.complains(
                site.ages(f"late{number}@{HERE}"),
                site.mail(
                    RIVAL, "s@spam.example", f"late{number}@{HERE}", letter(number), proved=True
                ),
            )
        assert not site.connects(RIVAL)


def test_ten_aged_accounts_do_refuse_an_address_whose_authors_nobody_knows(site: Attacked) -> None:
    """So that the scenes can fail."""
    assert scenes.relay(site, accounts=10, each=1, aged=True, mails=24, users=12).refused == 12


def test_so_do_ten_traps(site: Attacked) -> None:
    assert scenes.relay_to_traps(site, traps=10, each=1, mails=24, users=12).refused == 12


def test_nine_networks_do_lift_a_mailing_that_proves_nothing(site: Attacked) -> None:
    assert scenes.newsletter_flooded(site, clients=NINE, proved=False).lost == 10
