"""The keeper tries limits on complaints and traps when people have spoken, over the stores that a
site has.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest

from oborona import secret, state_files
from oborona.accounts.excess import Excess, check_excess
from oborona.counters.store import LmdbCounters
from oborona.counters.write_only import WriteOnlyCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.daemon.keeper.complaint_watch import MERGED_S, ComplaintWatch
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.feedback.label import LabelKind, LabelSource
from oborona.feedback.label_counter import LabelCounter
from oborona.feedback.label_store import LabelStore
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.message.hashing import Hasher, ShingleType
from oborona.types import Action
from tests.feedback.words import NOW, word

LIMITS: Final = """
[[limit]]
name = "COMPLAINTS"
each = "account"
count = "complaints"
window = "day"
limit = 1
then = "alert"

[[limit]]
name = "TRAPS"
each = "account"
count = "traps"
window = "fortnight"
limit = 0
then = "alert"
mode = "shadow"
"""
SENT: Final = 4711 << 22


class SpokenOf:
    """A site of whose mail people complain."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = NOW
        self.heard: list[Excess] = []
        self.hasher = Hasher(secret.make(state).shingles)
        folder = state / "policy"
        folder.mkdir()
        (folder / "10.toml").write_text(LIMITS)
        self.labels = LabelStore(state / state_files.FEEDBACK)
        self.writer = LmdbCounterWriter(state / state_files.COUNTERS, doorkeeper_bytes=0)
        self.counters = WriteOnlyCounters(state / state_files.COUNTERS, "trainer")
        self.counting = LabelCounter(self.counters)
        self.policy = PolicyInForce(state, folder)
        self.watch = self.new_watch()

    def new_watch(self) -> ComplaintWatch:
        """Return a keeper's watch, as after a start."""
        return ComplaintWatch(self.state, self.reading, lambda: self.policy, self, lambda: self.now)

    @contextmanager
    def reading(self) -> Iterator[LmdbCounters]:
        """Give the counters; LMDB opens a store once in a process, and the writer is here."""
        folder = self.state / state_files.COUNTERS
        counters = LmdbCounters(folder, "keeper", environment=self.writer.environment)
        try:
            yield counters
        finally:
            counters.close()

    def take(self, excess: Excess) -> None:
        """Take an excess, as its spool does."""
        check_excess(excess)
        self.heard.append(excess)

    async def sent(self, login: str) -> None:
        """Have ten messages of a login in the journal."""
        journal = await JournalWriter.open(self.state / state_files.JOURNAL)
        for number in range(10):
            journal.append(
                JournalEntry(
                    id=SENT + number,
                    time=NOW - 60,
                    verdict=Action.ACCEPT,
                    score=0.0,
                    line=100.0,
                    decided_by="",
                    login=login,
                    sender="ann@a.example",
                    client_ip="192.0.2.7",
                )
            )
        await journal.close()

    def speak(
        self, number: int, *, source: LabelSource = LabelSource.COMPLAINT, login: str = "ann"
    ) -> None:
        """Have somebody say that the message of a number is spam, and count it."""
        person = "" if source is LabelSource.TRAP else f"p{number}@b.example"
        pieces = (self.hasher.shingle(ShingleType.ACCOUNT, login),) if login else ()
        label = msgspec.structs.replace(
            word(number, LabelKind.SPAM, person=person),
            source=source,
            journal=SENT + number,
            pieces=(*pieces, self.hasher.shingle(ShingleType.TEXT, f"text {number}")),
        )
        self.labels.add([label], now=self.now)
        while self.counting.step(self.labels, self.now):
            pass
        while self.writer.step(self.now):
            pass

    async def later(self) -> None:
        """Let the watch look when the counters have it."""
        self.now += MERGED_S + 1
        await self.watch.step()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[SpokenOf]:
    made = SpokenOf(tmp_path)
    await made.watch.step()  # what was said before is not its business
    yield made
    await made.watch.close()
    made.labels.close()
    made.counters.close()
    made.writer.close()


async def test_an_account_is_told_of_once_its_complaints_are_too_many(site: SpokenOf) -> None:
    await site.sent("Ann")
    site.speak(0)
    await site.later()
    assert site.heard == []
    site.speak(1)
    await site.watch.step()
    assert site.heard == [], "the counters may not have it yet"
    await site.later()
    (excess,) = site.heard
    assert (excess.account, excess.limit, excess.value, excess.most) == ("ann", "COMPLAINTS", 2, 1)
    assert (excess.idents, excess.shadow) == ((SENT + 1,), False)
    await site.later()
    assert len(site.heard) == 1, "nobody has said more"


async def test_the_first_trap_is_told(site: SpokenOf) -> None:
    await site.sent("ann")
    site.speak(0, source=LabelSource.TRAP)
    await site.later()
    (excess,) = site.heard
    assert (excess.metric, excess.value, excess.shadow) == ("traps", 1, True)


async def test_what_is_no_accounts_or_not_in_the_journal_is_nothing(site: SpokenOf) -> None:
    await site.sent("")
    for number in range(3):
        site.speak(number, login="")
        site.speak(number + 3)
        site.speak(number + 100)
    await site.later()
    assert site.heard == []


async def test_a_start_goes_on_where_it_was(site: SpokenOf) -> None:
    """What was said while no keeper ran is tried; what was tried before is not."""
    await site.sent("ann")
    site.speak(0)
    site.speak(1)
    await site.later()
    assert len(site.heard) == 1
    await site.watch.close()
    site.watch = site.new_watch()
    await site.later()
    assert len(site.heard) == 1
    await site.watch.close()
    site.speak(2)
    site.watch = site.new_watch()
    await site.later()
    assert [one.value for one in site.heard] == [2, 3]


async def test_another_file_begins_anew(site: SpokenOf) -> None:
    await site.sent("ann")
    place = site.state / state_files.COMPLAINTS_HEARD
    for text in ("999999", "nonsense", ""):
        place.write_text(text)
        await site.later()
        assert place.read_text() == "0"
    site.speak(0, source=LabelSource.TRAP)
    await site.later()
    assert len(site.heard) == 1


async def test_trouble_is_said_once_and_over(
    site: SpokenOf, caplog: pytest.LogCaptureFixture
) -> None:
    journal = site.state / state_files.JOURNAL
    journal.write_bytes(b"no journal" * 1000)
    site.speak(0, source=LabelSource.TRAP)
    with caplog.at_level(logging.INFO, "oborona"):
        for _ in range(3):
            await site.later()
        assert site.heard == []
        journal.unlink()
        await site.sent("ann")
        await site.later()
    assert len(site.heard) == 1
    messages = [record.message for record in caplog.records]
    assert messages.count("limits on complaints wait") == 1
    assert messages.count("limits on complaints are tried again") == 1
