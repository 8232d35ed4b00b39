"""Whoever believes over the stores of a site: the journal, persons' lists, signatures.

And what `oborona explain` tells of it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from oborona import secret, state_files
from oborona.cli import main
from oborona.config import Settings
from oborona.counters.memory import MemoryCounters
from oborona.daemon.state import prepare_state
from oborona.daemon.trainer import journal as known
from oborona.daemon.trainer.process import EventProcessorRunner
from oborona.daemon.trainer.turn import TrainerTurn
from oborona.feedback.events.log import EventLog
from oborona.feedback.events.model import EventChannel, EventKind, FeedbackEvent
from oborona.feedback.label_store import LabelStore
from oborona.feedback.processing.event_processor import DECIDED
from oborona.ident import JournalIdGenerator, sign, to_text
from oborona.journal.entry import CopyDelivery
from oborona.journal.journal import JournalWriter
from oborona.message.hashing import Hasher
from oborona.policy.evidence import NoInquiry
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.policy.scan import ScanSite, scan
from oborona.session.journal_entry import entry_of
from oborona.stores.persons.store import PersonStore as Persons
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore as Signatures
from oborona.types import Client, Envelope
from tests.cli.journaled import policy

PEOPLE: Final = tuple(f"p{number}@b.example" for number in range(5))
TEXT: Final = (
    "Dear friend, our certified dealer sends replica watches of the best makers to your "
    "door within two days"
)


def letter(number: int) -> bytes:
    return (
        f"From: Shop <shop@s.example>\r\nTo: you@b.example\r\nSubject: watches\r\nMessage-ID: "
        f"<{number}@s.example>\r\n"
        f"Date: Fri, 20 Nov 2026 10:00:00 +0000\r\n\r\n{TEXT}\r\n"
    ).encode()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    prepare_state(tmp_path / "state")
    return tmp_path / "state"


def delivered(state: Path) -> list[int]:
    """Deliver a message to each person; return the ids in the journal."""

    async def fill() -> list[int]:
        current, numbers, idents = (
            load_policy(policy(state / "policy"), SCHEMA),
            JournalIdGenerator(),
            [],
        )
        site = ScanSite(
            name="mx.b.example",
            hasher=Hasher(secret.load(state).shingles),
            counters=MemoryCounters(),
        )
        async with await JournalWriter.open(state / "journal.db") as journal:
            for number, person in enumerate(PEOPLE):
                envelope = Envelope(
                    client=Client(ip="198.51.100.7"),
                    sender="shop@s.example",
                    recipients=(person.upper(),),
                )
                now = time.time() - 60
                result = await scan(letter(number), envelope, site, current, NoInquiry(), now=now)
                idents.append(numbers.next(now))
                journal.append(
                    entry_of(idents[-1], now, current, envelope, 500, result.verdict, result)
                )
        return idents

    return asyncio.run(fill())


def complaint(ident: int | None, number: int) -> FeedbackEvent:
    return FeedbackEvent(
        what=EventKind.COMPLAINT,
        way=EventChannel.SIEVE,
        time=time.time(),
        person=PEOPLE[number],
        ident=ident,
        raw=letter(number),
        mailbox="Junk",
        source="dovecot",
    )


def settle(believing: EventProcessorRunner) -> None:
    for _ in range(1000):
        if not believing.step():
            return
    raise AssertionError("it does not come to an end")


def explained(state: Path, ident: int, *more: str) -> Any:
    words = [
        "--state",
        str(state),
        "--set",
        f"paths.policy={state / 'policy'}",
        "--set",
        "paths.shipped_policy=none",
        "explain",
        to_text(ident),
        *more,
    ]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_campaign_that_five_people_complain_of(state: Path) -> None:
    """Words, lists, proposals; and all of it in what is explained."""
    idents = delivered(state)
    with EventLog(state / state_files.EVENTS) as log:
        log.add([complaint(ident, number) for number, ident in enumerate(idents)], now=time.time())
    believing = EventProcessorRunner(Settings(), state, "mx.b.example", TrainerTurn(state))
    try:
        settle(believing)
        assert DECIDED.values == {("complaint", "sieve", "believed"): 5}
        assert (believing.waiting(), believing.age_s()) == (0, 0.0)
    finally:
        believing.close()
    with (
        LabelStore(state / state_files.FEEDBACK) as words,
        Persons(state / state_files.PERSONS) as persons,
    ):
        said = words.last(9)
        assert {(one.person, one.journal) for one in said} == set(zip(PEOPLE, idents, strict=True))
        assert all(0 < one.weight < 1 for one in said)
        assert {len(persons.of(person).entries) for person in PEOPLE} == {
            2
        }  # who claims to write, and the text
    with Signatures(state / state_files.SIGNATURES) as signatures:
        (proposed,) = signatures.all(SignatureState.PROPOSED)
        assert "replica watches" in proposed.signature.value
        assert signatures.in_force(time.time()) == 0
    (told,) = json.loads(explained(state, idents[2], "--json"))["feedback"]
    assert (told["what"], told["way"], told["person"], told["mailbox"]) == (
        "complaint",
        "sieve",
        PEOPLE[2],
        "Junk",
    )
    assert (told["decision"], told["rules"], told["done"]) == ("believed", [], True)
    assert (told["word_state"], told["counted"]) == ("queued", "not yet")
    assert told["proposals"] == [proposed.signature.id]
    assert len(told["own_list"]) == 2
    assert len(told["effects"]) == 3
    shown = explained(state, idents[2])
    for words_shown in (
        "spam report of p2@b.example by sieve: accepted",
        "trained with weight",
        "proposed signature",
    ):
        assert words_shown in shown


def test_who_got_it_by_an_alias_is_a_recipient_too(state: Path) -> None:
    (ident, *_) = delivered(state)

    async def told() -> None:
        async with await JournalWriter.open(state / "journal.db") as journal:
            journal.append_went(
                CopyDelivery(id=ident, recipient="Boss@b.example", spam=False, time=time.time())
            )

    asyncio.run(told())
    journal = known.FeedbackJournal(state, "journal.db")
    try:
        assert journal.get([ident, 1])[ident].recipients == {PEOPLE[0], "boss@b.example"}
        assert journal.get([1]) == {}
        assert journal.find("0@s.example", "boss@b.example") == ident
        assert journal.find("0@s.example", PEOPLE[1]) is None
    finally:
        journal.close()


def test_what_an_admin_teaches_is_a_line_of_the_log_too(state: Path, tmp_path: Path) -> None:
    (ident, *_), file = delivered(state), tmp_path / "a.eml"
    signed = sign(ident, secret.load(state).signature)
    file.write_bytes(f"X-Mras-Id: {signed}\r\n".encode() + letter(0))
    learn = ["--state", str(state), "learn"]
    for words in (
        ["spam", str(file)],
        ["ham", str(file), "--person", PEOPLE[0]],
        ["ham", str(file)],
        ["ham", str(file)],
    ):
        assert CliRunner().invoke(main, [*learn, *words], catch_exceptions=False).exit_code == 0
    first, own, instead = json.loads(explained(state, ident, "--json"))["feedback"]
    assert (first["what"], first["way"], first["decision"], first["rules"]) == (
        "complaint",
        "command",
        "refused",
        ["OPPOSITE"],
    )
    assert [one["decision"] for one in first["before"]] == ["believed"]
    assert (own["what"], own["person"], own["decision"]) == ("pardon", PEOPLE[0], "believed")
    assert any("lift" in entry or "allow" in entry for entry in own["own_list"])
    assert (instead["what"], instead["word_state"]) == ("pardon", "queued")
    believing = EventProcessorRunner(Settings(), state, "mx.b.example", TrainerTurn(state))
    try:
        settle(believing)
    finally:
        believing.close()
    with LabelStore(state / state_files.FEEDBACK) as store:
        assert [one.state.value for one in store.last(9)] == ["queued", "queued", "taken-back"]


def test_a_store_that_is_away_is_said_once_and_what_was_said_waits(
    state: Path, caplog: pytest.LogCaptureFixture
) -> None:
    idents, clock = delivered(state), [0.0]
    with EventLog(state / state_files.EVENTS) as log:
        log.add([complaint(idents[0], 0)], now=time.time())
    journal, aside = state / "journal.db", state / "aside.db"
    aside.write_bytes(journal.read_bytes())
    journal.write_bytes(b"no journal" * 1000)
    believing = EventProcessorRunner(
        Settings(), state, "mx.b.example", TrainerTurn(state), monotonic=lambda: clock[0]
    )
    try:
        with caplog.at_level(logging.WARNING, "oborona.trainer"):
            for _ in range(3):
                assert not believing.step()
                clock[0] += 11
            assert believing.trouble
            assert len(caplog.records) == 1
            journal.write_bytes(aside.read_bytes())
            settle(believing)
            assert not believing.trouble
            assert len(caplog.records) == 2
        assert DECIDED.values == {("complaint", "sieve", "believed"): 1}
    finally:
        believing.close()


def test_where_nobody_has_said_anything_there_is_nothing_to_do(state: Path) -> None:
    (state / state_files.EVENTS).unlink()  # as before the first start
    believing = EventProcessorRunner(Settings(), state, "mx.b.example", TrainerTurn(state))
    assert not believing.step()
    assert not (state / state_files.EVENTS).exists()
    believing.close()
