"""The store of persons: what is kept, what makes room, what is taken back, and a file that is not
what it should be.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from oborona import state_files
from oborona.errors import StoreError, StoreVersion
from oborona.reputation.personal import (
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalEntrySource,
    entry,
    of_text,
)
from oborona.stores.persons import schema
from oborona.stores.persons import store as store_of
from oborona.stores.persons.contacts import LEARNED, MOST_RECIPIENTS, ContactLearner
from oborona.stores.persons.store import (
    DAY_S,
    WRITTEN_A_DAY,
    WRITTEN_S,
    PersonStore,
    PersonStoreCounts,
)
from oborona.types import Action, Envelope, Shingle, Verdict

NOW = 1_795_170_000.0
JOE, KIM, ANN, BOB = "joe@b.example", "kim@b.example", "ann@a.example", "bob@a.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.PERSONS


def said(
    side: EntryAction, value: str, word: int = 0, when: float = NOW, **more: object
) -> PersonalEntry:
    source = PersonalEntrySource.WORD if word else PersonalEntrySource.COMMAND
    return entry(
        side,
        PersonalEntryKind.ADDRESS,
        value,
        time=when,
        word=word,
        source=source,
        **more,  # type: ignore[arg-type]
    )


def contacts(store: PersonStore, person: str) -> list[str]:
    return [one.value for one in store.of(person).entries if one.side is EntryAction.CONTACT]


def test_what_was_said_is_there_whole(path: Path) -> None:
    wanted = [
        said(EntryAction.DENY, ANN, expires=NOW + 5, note="rude"),
        entry(
            EntryAction.ALLOW,
            PersonalEntryKind.LIST,
            "chess.a.example",
            beside="a.example",
            time=NOW + 1,
        ),
        of_text(
            EntryAction.DENY,
            [Shingle(5, 2**64 - 1), Shingle(6, 0)],
            time=NOW + 2,
            source=PersonalEntrySource.WORD,
            word=7,
        ),
    ]
    with PersonStore(path) as store:
        assert store.put(JOE, wanted, now=NOW) == 3
        assert store.put(JOE, wanted, now=NOW) == 0, "the same is no more"
        store.strict(JOE, 0.5)
        assert store.of(JOE) == (0.5, wanted)
        assert store.of(KIM) == (1.0, [])
        assert store.counted() == PersonStoreCounts(persons=1, entries=3, contacts=0)
        for factor in (0.49, 2.01, float("nan"), float("inf")):
            with pytest.raises(ValueError, match="is not within"):
                store.strict(JOE, factor)
    assert path.stat().st_mode & 0o777 == 0o640


def test_taking_a_word_back_removes_exactly_what_followed_from_it(path: Path) -> None:
    with PersonStore(path) as store:
        store.put(
            JOE, [said(EntryAction.ALLOW, ANN, when=NOW - 9), said(EntryAction.DENY, BOB)], now=NOW
        )
        before = store.of(JOE)
        store.say(
            JOE,
            5,
            [said(EntryAction.DENY, ANN, 5), said(EntryAction.DENY, "eve@e.example", 5)],
            now=NOW,
        )
        store.say(KIM, 6, [said(EntryAction.DENY, ANN, 6)], now=NOW)
        assert len(store.of(JOE).entries) == 4
        assert store.take_back([5, 99, 0, -1]) == 2
        assert store.of(JOE) == before, "what was said before stands again"
        assert len(store.of(KIM).entries) == 1
        assert store.take_back([5]) == 0


def test_the_opposite_word_replaces_and_the_same_said_again_mends(path: Path) -> None:
    with PersonStore(path) as store:
        store.say(JOE, 5, [said(EntryAction.DENY, ANN, 5)], now=NOW)
        store.say(JOE, 5, [said(EntryAction.DENY, ANN, 5)], now=NOW)
        store.say(JOE, 6, [said(EntryAction.ALLOW, ANN, 6, NOW + 1)], replaced=5, now=NOW)
        assert [(one.side, one.word) for one in store.of(JOE).entries] == [(EntryAction.ALLOW, 6)]


def test_removing_takes_all_that_was_said_of_a_thing(path: Path) -> None:
    with PersonStore(path) as store:
        store.put(JOE, [said(EntryAction.DENY, ANN), said(EntryAction.DENY, BOB)], now=NOW)
        store.put(
            JOE,
            [
                entry(
                    EntryAction.CONTACT,
                    PersonalEntryKind.ADDRESS,
                    ANN,
                    source=PersonalEntrySource.BOOK,
                )
            ],
            now=NOW,
        )
        store.say(JOE, 5, [said(EntryAction.DENY, ANN, 5)], now=NOW)
        assert (
            store.remove(
                JOE, [(PersonalEntryKind.ADDRESS, ANN), (PersonalEntryKind.DOMAIN, "a.example")]
            )
            == 3
        )
        assert [one.value for one in store.of(JOE).entries] == [BOB]
        store.strict(JOE, 2.0)
        assert store.clear(JOE) == 1
        assert store.of(JOE) == (1.0, [])


def test_words_make_room_and_what_was_typed_does_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_of, "_ROOM", (("contact = 0", 3), ("contact = 1", 2)))
    with PersonStore(path) as store:
        store.put(JOE, [said(EntryAction.DENY, ANN)], now=NOW)
        for word in range(1, 5):
            store.say(
                JOE, word, [said(EntryAction.DENY, f"{word}@e.example", word, NOW + word)], now=NOW
            )
        assert [one.value for one in store.of(JOE).entries] == [ANN, "3@e.example", "4@e.example"]
        with pytest.raises(StoreError, match="more than 3 entries"):
            store.put(
                JOE,
                [said(EntryAction.DENY, f"{number}@typed.example") for number in range(4)],
                now=NOW,
            )
        assert len(store.of(JOE).entries) == 3, "nothing of it was done"
        store.put(JOE, [said(EntryAction.DENY, "x@typed.example", expires=NOW + 1)], now=NOW)
        store.put(JOE, [said(EntryAction.DENY, "y@typed.example")], now=NOW + 2)
        assert "x@typed.example" not in [one.value for one in store.of(JOE).entries], (
            "what is over goes"
        )
        store.written({JOE: [ANN, BOB]}, now=NOW)
        with pytest.raises(StoreError, match="more than 2 contacts"):
            store.put(
                JOE,
                [
                    entry(
                        EntryAction.CONTACT,
                        PersonalEntryKind.ADDRESS,
                        f"{n}@c.example",
                        source=PersonalEntrySource.BOOK,
                    )
                    for n in range(3)
                ],
                now=NOW,
            )


def test_a_stolen_password_makes_few_contacts(path: Path) -> None:
    many = [f"{number}@c.example" for number in range(WRITTEN_A_DAY + 50)]
    with PersonStore(path) as store:
        assert store.written({JOE: many, KIM: [ANN]}, now=NOW) == WRITTEN_A_DAY + 1
        assert store.written({JOE: [*many, "late@c.example"]}, now=NOW + DAY_S / 2) == 0
        assert store.written({JOE: ["next@c.example"]}, now=NOW + DAY_S + 1) == 1
        assert len(contacts(store, JOE)) == WRITTEN_A_DAY + 1


def test_who_is_written_to_again_stays_and_an_address_book_is_for_ever(path: Path) -> None:
    with PersonStore(path) as store:
        store.put(
            JOE,
            [
                entry(
                    EntryAction.CONTACT,
                    PersonalEntryKind.ADDRESS,
                    BOB,
                    source=PersonalEntrySource.BOOK,
                )
            ],
            now=NOW,
        )
        store.written({JOE: [ANN, BOB]}, now=NOW)
        store.written({JOE: [ANN, BOB]}, now=NOW + 100)
        ends = {one.value: (one.source, one.expires) for one in store.of(JOE).entries}
        assert ends == {
            BOB: (PersonalEntrySource.BOOK, 0.0),
            ANN: (PersonalEntrySource.WRITTEN, NOW + 100 + WRITTEN_S),
        }


@pytest.mark.parametrize(
    ("learned", "login", "sender", "recipients", "action", "number"),
    [
        ("login", JOE, JOE, 1, Action.ACCEPT, 1),
        ("login", "JOE", "Joe@b.example", 2, Action.ACCEPT, 2),
        ("login", "u17", JOE, 1, Action.ACCEPT, 0),
        ("sender", "u17", JOE, 1, Action.ACCEPT, 1),
        ("none", JOE, JOE, 1, Action.ACCEPT, 0),
        ("sender", "", JOE, 1, Action.ACCEPT, 0),
        ("login", JOE, JOE, 1, Action.SPAM, 0),
        ("login", JOE, JOE, MOST_RECIPIENTS + 1, Action.ACCEPT, 0),
        ("sender", JOE, "", 1, Action.ACCEPT, 0),
    ],
)
def test_whose_outgoing_mail_teaches_contacts(
    path: Path, learned: str, login: str, sender: str, recipients: int, action: Action, number: int
) -> None:
    learns = ContactLearner(path, learned)  # type: ignore[arg-type]
    to = (*(f"{n}@c.example" for n in range(recipients)), JOE)[: max(recipients, 2)]
    envelope = Envelope(login=login, sender=sender, recipients=to[:recipients])
    learns.learn_contacts(envelope, Verdict(action=action, score=0, line=100, decided_by="x"), NOW)
    learns.close()
    assert LEARNED.value() == number
    assert path.exists() is (number > 0), "no store is begun for nothing"


def test_to_remove_something_of_nobody_makes_nobody_known(path: Path) -> None:
    with PersonStore(path) as store:
        store.put(JOE, [said(EntryAction.DENY, ANN)], now=NOW)
        assert (
            store.remove("typo@b.example", [(PersonalEntryKind.ADDRESS, ANN)]),
            store.clear("typo@b.example"),
        ) == (
            0,
            0,
        )
        assert store.persons() == [JOE]
        assert store.clear(JOE) == 1


def test_who_writes_under_a_tag_learns_contacts_for_themselves(path: Path) -> None:
    """Else joe+shop@ would be somebody, and what joe@ has said no longer hold there."""
    learns = ContactLearner(path, "sender")
    tagged = "joe+shop@b.example"
    learns.learn_contacts(
        Envelope(login="joe", sender=tagged, recipients=(ANN, JOE, tagged)),
        Verdict(action=Action.ACCEPT, score=0, line=100, decided_by="x"),
        NOW,
    )
    learns.close()
    with PersonStore(path) as store:
        assert store.persons() == [JOE]
        assert [one.value for one in store.of(JOE).entries] == [ANN]


def test_a_store_that_cant_be_written_costs_contacts_and_is_told_once(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(b"not SQLite at all, but long enough to be looked at" * 100)
    learns = ContactLearner(path, "login")
    for _ in range(3):
        learns.learn_contacts(
            Envelope(login=JOE, sender=JOE, recipients=(ANN,)),
            Verdict(action=Action.ACCEPT, score=0, line=100, decided_by="x"),
            NOW,
        )
        learns.close()
    assert [record.message for record in caplog.records] == ["contacts are not learned"]
    path.unlink()
    learns.learn_contacts(
        Envelope(login=JOE, sender=JOE, recipients=(ANN,)),
        Verdict(action=Action.ACCEPT, score=0, line=100, decided_by="x"),
        NOW,
    )
    learns.close()
    assert caplog.records[-1].message == "contacts are learned again"


def test_a_file_of_an_older_version_is_brought_up_to_date_and_one_of_a_newer_left_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PersonStore(path) as store:
        store.put(JOE, [said(EntryAction.DENY, ANN)], now=NOW)
    newer = schema.SHARED._replace(
        format=schema.SHARED.format._replace(
            migrations=(
                *schema.MIGRATIONS,
                ("ALTER TABLE person ADD COLUMN later TEXT NOT NULL DEFAULT 'x'",),
            )
        )
    )
    with monkeypatch.context() as patched:
        patched.setattr(PersonStore, "shared", newer)
        with PersonStore(path) as store:
            assert store.rows("SELECT later FROM person") == [("x",)]
            assert len(store.of(JOE).entries) == 1
            store.put(KIM, [said(EntryAction.DENY, ANN)], now=NOW)
    before = path.read_bytes()
    with pytest.raises(StoreVersion, match="written by a newer one"):
        PersonStore(path)
    assert path.read_bytes() == before


def test_a_file_that_is_not_ours_or_damaged_is_refused_and_left_alone(path: Path) -> None:
    with pytest.raises(StoreError, match="nobody has said anything"):
        PersonStore(path, make=False)
    path.write_bytes(b"not SQLite at all, but long enough to be looked at" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged.*\.recover"):
        PersonStore(path)
    assert path.read_bytes() == before
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(StoreError, match="not a store of persons"):
        PersonStore(path)


def test_an_entry_that_this_version_cant_read_costs_no_other(path: Path) -> None:
    with PersonStore(path) as store:
        store.put(JOE, [said(EntryAction.DENY, ANN), said(EntryAction.DENY, BOB)], now=NOW)
        with store.transaction() as db:
            db.execute("UPDATE entry SET side = 'later' WHERE value = ?", (ANN,))
        assert [one.value for one in store.of(JOE).entries] == [BOB]
