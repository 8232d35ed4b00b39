"""What goes before what: the table of docs/people/personal.md, row by row, and one verdict for
several readers.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from oborona.message.hashing import ShingleType
from oborona.policy.decision import set_apart
from oborona.policy.personal_list_match import (
    MOST_ASKED,
    PERSONAL,
    DeliveredFacts,
    NoPersons,
    list_domain,
    mildest_verdict,
    personal_verdict,
    reader_verdict,
    readers,
)
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalProfile,
    entry,
    of_text,
)
from oborona.types import Action, ProvedIdentity, Shingle, Verdict

NOW = 1_795_170_000.0
PAGE = Path(__file__).parents[2] / "docs/people/personal.md"
TEXT = tuple(Shingle(ShingleType.WORDS, number) for number in range(32))
ANN = "ann@a.example"


class Row(NamedTuple):
    site: str
    entry: str
    contact: str
    strictness: str
    malware: str
    score: str
    verdict: str
    decided_by: str


def table() -> list[Row]:
    lines = PAGE.read_text().splitlines()
    start = (
        next(number for number, line in enumerate(lines) if line.startswith("| site's list |")) + 2
    )
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append(Row(*(cell.strip() for cell in line.strip().strip("|").split("|"))))
    return rows


def letter(score: float = 0.0, **more: object) -> DeliveredFacts:
    """A message from Ann, whom the DNS bears out."""
    action = Action.REJECT if score >= 200 else Action.SPAM if score >= 100 else Action.ACCEPT
    given: dict[str, object] = {
        "action": action,
        "score": score,
        "spam_score": 100.0,
        "reject_score": 200.0,
        "decided_by": "RULE",
        "enforced": False,
        "malware": False,
        "author": ANN,
        "author_domain": "a.example",
        "claimed": ANN,
        "claimed_sender": ANN,
        "text": TEXT,
    }
    return DeliveredFacts(**(given | more))  # type: ignore[arg-type]


def test_the_page_has_a_table_with_every_kind_of_row() -> None:
    rows = table()
    assert len(rows) >= 35
    assert {row.decided_by for row in rows} == {"policy", "site", "person"}
    assert {row.verdict for row in rows} == {"accept", "spam", "reject"}


@pytest.mark.parametrize("row", table(), ids=lambda row: " ".join(filter(None, row)))
def test_what_goes_before_what(row: Row) -> None:
    entries: list[PersonalEntry] = []
    unproved = {row.entry, row.contact} & {"not proved", "allow, not proved", "deny, not proved"}
    if row.entry:
        side = EntryAction(row.entry.partition(",")[0])
        text = row.entry.endswith(", text")
        entries.append(
            of_text(side, TEXT, time=NOW, source=entry(side, PersonalEntryKind.ADDRESS, ANN).source)
            if text
            else entry(side, PersonalEntryKind.ADDRESS, ANN)
        )
    if row.contact:
        entries.append(entry(EntryAction.CONTACT, PersonalEntryKind.ADDRESS, ANN))
    message = letter(float(row.score), malware=row.malware == "yes")
    if unproved:
        message = msgspec.structs.replace(message, author="", author_domain="")
    if row.site:
        action = Action.ACCEPT if row.site == "allow" else Action.REJECT
        message = msgspec.structs.replace(
            message, action=action, enforced=True, decided_by="SITE_LIST"
        )
    given = reader_verdict(
        message, PersonalProfile("joe@b.example", float(row.strictness), entries), NOW
    )
    assert given.action.value == row.verdict
    assert (
        given.decided_by
        == {"policy": "RULE", "site": "SITE_LIST", "person": PERSONAL}[row.decided_by]
    )
    assert bool(given.say) is (row.decided_by == "person")


def test_what_was_put_off_or_is_unfinished_stays_that() -> None:
    allows = PersonalProfile(
        "joe@b.example", 2.0, [entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, ANN)]
    )
    put_off = letter(150, action=Action.TEMPFAIL, decided_by="greylisted")
    assert reader_verdict(put_off, allows, NOW).action is Action.TEMPFAIL
    strict = PersonalProfile("joe@b.example", 0.5)
    partial = letter(0, decided_by="partial")
    assert reader_verdict(partial, strict, NOW).decided_by == "partial"


def test_what_was_not_looked_into_is_filed_for_whoever_is_lenient() -> None:
    apart = set_apart(100.0)
    given = letter(apart.score, action=apart.action, decided_by=apart.decided_by)
    assert reader_verdict(given, PersonalProfile("joe@b.example", 2.0), NOW).action is Action.SPAM


def test_another_readers_word_is_none_of_this_one() -> None:
    """At the door a message comes with the mildest verdict of all: each copy is judged from its
    score again.
    """
    for score, action in ((250, Action.REJECT), (150, Action.SPAM), (0, Action.ACCEPT)):
        given = letter(score, action=Action.ACCEPT, decided_by=PERSONAL)
        assert reader_verdict(given, NOBODY, NOW).action is action
        assert reader_verdict(given, PersonalProfile("kim@b.example", 1.5), NOW).action is (
            Action.ACCEPT if score < 150 else action
        )


def known(**people: PersonalProfile) -> list[PersonalProfile]:
    return list(people.values())


DENIES = PersonalProfile(
    "d@b.example", 1.0, [entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, ANN)]
)
ALLOWS = PersonalProfile(
    "a@b.example", 1.0, [entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, ANN)]
)


@pytest.mark.parametrize(
    ("score", "people", "action"),
    [
        (0, [DENIES], Action.SPAM),
        (0, [DENIES, NOBODY], None),
        (0, [DENIES, DENIES], Action.SPAM),
        (150, [ALLOWS], Action.ACCEPT),
        (150, [NOBODY, ALLOWS], Action.ACCEPT),
        (250, [DENIES, ALLOWS], Action.ACCEPT),
        (250, [DENIES, NOBODY], None),
        (150, [DENIES, NOBODY], None),
        (0, [ALLOWS, NOBODY], None),
        (0, [ALLOWS], Action.ACCEPT),
    ],
)
def test_one_verdict_for_all_is_the_mildest(
    score: float, people: list[PersonalProfile], action: Action | None
) -> None:
    given = mildest_verdict(letter(score), people, NOW)
    assert (given.action if given else None) is action
    if given is not None and len(people) > 1:
        assert "ann" not in given.say, "what one has on a list is not told to the others"


async def test_who_has_said_nothing_costs_nothing_and_too_many_are_not_all_asked() -> None:
    asked: list[str] = []

    class Some:
        async def of(self, address: str) -> PersonalProfile:
            asked.append(address)
            return DENIES

    assert await readers(["x@b.example"] * 3, NoPersons()) == ()
    people = await readers([f"{number}@b.example" for number in range(300)], Some())
    assert len(people) == 300
    assert len(asked) == MOST_ASKED
    assert mildest_verdict(letter(0), people, NOW) is None, (
        "policy speaks for those who were not asked"
    )


def test_a_verdict_says_who_decided_and_by_what() -> None:
    before = Verdict(action=Action.ACCEPT, score=12.0, line=100.0, decided_by="below-threshold")
    given = mildest_verdict(letter(12), [DENIES], NOW)
    assert given is not None
    after = personal_verdict(before, given)
    assert (after.action, after.score, after.decided_by) == (Action.SPAM, 12.0, PERSONAL)
    assert (after.rules[0].name, after.rules[0].say) == (
        PERSONAL,
        f"their list: deny address {ANN}",
    )


@pytest.mark.parametrize(
    ("list_id", "signed", "proved", "domain"),
    [
        (
            "chess.a.example",
            ["mail.a.example", "x.example"],
            ProvedIdentity(author_domain="x.example"),
            "a.example",
        ),
        (
            "chess.a.example",
            [],
            ProvedIdentity(author_domain="x.example", sender="b@s.example"),
            "x.example",
        ),
        ("chess.a.example", ["evil.example"], ProvedIdentity(), "evil.example"),
        ("chess.a.example", [], ProvedIdentity(sender="b@mail.a.example"), "a.example"),
        ("chess.a.example", [], ProvedIdentity(), ""),
    ],
)
def test_the_domain_that_a_list_is_proved_to_come_from(
    list_id: str, signed: list[str], proved: ProvedIdentity, domain: str
) -> None:
    assert list_domain(list_id, signed, proved) == domain
