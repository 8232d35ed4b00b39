"""A session whose recipients have lists of their own: who decides is told, and what is counted is
the site's.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from oborona.doors.reply import ReplyAction
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.models.ports import NoModels
from oborona.policy.personal_list_match import PERSONAL, Persons
from oborona.recheck.rejudgement import Rejudger
from oborona.reputation.personal import (
    NOBODY,
    EntryAction,
    PersonalEntry,
    PersonalEntryKind,
    PersonalProfile,
    entry,
)
from oborona.session.services import SessionServices
from oborona.session.session import Session
from oborona.types import Action, Client, Envelope, Metric, Verdict, Window
from tests.session.test_session import GTUBE, KEY, Table, added

CLIENT = Client(ip="192.0.2.7", name="a.example")
BOB = "bob@b.example"
LISTS = (
    '[[local_list]]\nname = "FRIENDS"\naction = "allow"\nof = ["sender"]\nentries = '
    '["ann@a.example"]\n'
)
GREY = (
    '[greylist]\nenabled = true\nscore = 50\n[[rule]]\nname = "GREY"\nwhen = "true"\nscore = 60\n'
)


class People:
    """A `Persons` of whom one has said something."""

    def __init__(self, *entries: PersonalEntry, strictness: float = 1.0) -> None:
        self._bob = PersonalProfile(BOB, strictness, entries)

    async def of(self, address: str) -> PersonalProfile:
        return self._bob if address == BOB else NOBODY


class Failing:
    async def of(self, address: str) -> PersonalProfile:
        raise RuntimeError("a bug")


def seated(
    folder: Path, persons: Persons, rules: str = ""
) -> tuple[Table, list[tuple[Envelope, Verdict]]]:
    """A table whose session knows persons, and what outgoing mail is told of."""
    table = Table(folder, rules)
    wrote: list[tuple[Envelope, Verdict]] = []
    bench: SessionServices = table.session._services
    table.session = Session(
        msgspec.structs.replace(
            bench,
            site=msgspec.structs.replace(bench.site, persons=persons),
            learn_contacts=lambda envelope, verdict, _now: wrote.append((envelope, verdict)),
        )
    )
    return table, wrote


def deny(value: str = "ann@a.example") -> PersonalEntry:
    return entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, value)


async def spam(table: Table) -> int:
    totals = await table.counts.read(
        [Hasher(KEY).shingle(ShingleType.CLIENT_IP, "192.0.2.7")], table.now
    )
    return totals[0][Window.DAY][Metric.SPAM]


async def test_a_denial_is_told_journaled_and_counted_as_what_the_site_says(tmp_path: Path) -> None:
    table, wrote = seated(tmp_path, People(deny()))
    await table.session.connect(CLIENT)
    reply = await table.message()
    assert reply.answer is ReplyAction.ACCEPT
    assert added(reply)["X-Mras"] == "Probable"
    assert added(reply)["X-Mras-Reason"] == "PERSONAL=0.0(their list: deny address ann@a.example)"
    (kept,) = table.journal
    assert (kept.verdict, kept.decided_by) == (Action.SPAM, PERSONAL)
    assert kept.kept is not None
    assert kept.kept.site == (Action.ACCEPT, "below-threshold")
    assert await table.seen(ShingleType.CLIENT_IP, "192.0.2.7") == 1
    assert await spam(table) == 0, "what one reader wants says nothing of a sender"
    assert [verdict.action for _envelope, verdict in wrote] == [Action.ACCEPT]


async def test_replay_keeps_what_a_readers_list_has_decided(tmp_path: Path) -> None:
    table, _wrote = seated(tmp_path, People(deny()))
    await table.message()
    again = Rejudger(table.session._services.policy.current, NoModels()).judge(
        table.journal[0], None
    )
    assert again is not None
    assert (again.verdict.action, again.verdict.decided_by) == (Action.SPAM, PERSONAL)
    assert again.mildest is again.severest is Action.SPAM


async def test_strictness_files_what_the_policy_lets_through_and_lets_through_what_it_files(
    tmp_path: Path,
) -> None:
    rules = (
        '[[rule]]\nname = "SIXTY"\nwhen = "contains(text, \'sixty\')"\nscore = '
        '60\n[[rule]]\nname = "MORE"\nwhen = "contains(text, \'more\')"\nscore = 60\n'
    )
    strict, _ = seated(tmp_path / "a", People(strictness=0.5), rules)
    assert added(await strict.message(b"sixty"))["X-Mras"] == "Probable"
    relaxed, _ = seated(tmp_path / "b", People(strictness=1.5), rules)
    reply = await relaxed.message(b"sixty more")
    assert (added(reply)["X-Mras"], added(reply)["X-Mras-Score"]) == ("Ok", "120.0 / 150")


async def test_a_refusal_is_only_taken_back_for_whoever_is_proved(tmp_path: Path) -> None:
    table, _ = seated(
        tmp_path, People(entry(EntryAction.ALLOW, PersonalEntryKind.ADDRESS, "ann@a.example"))
    )
    assert (await table.message(GTUBE)).code == 550


async def test_an_enforced_list_of_the_site_stands_above(tmp_path: Path) -> None:
    table, _ = seated(
        tmp_path,
        People(deny()),
        LISTS.replace('"sender"', '"client"').replace("ann@a.example", "192.0.2.7"),
    )
    await table.session.connect(CLIENT)
    reply = await table.message()
    assert added(reply)["X-Mras"] == "Ok"
    assert table.journal[0].decided_by == "FRIENDS"


async def test_what_a_readers_list_has_decided_is_not_put_off(tmp_path: Path) -> None:
    table, _ = seated(tmp_path / "a", People(), GREY)
    await table.session.connect(CLIENT)
    assert (await table.message()).code == 451
    table, _ = seated(tmp_path / "b", People(strictness=0.6), GREY)
    await table.session.connect(CLIENT)
    assert added(await table.message())["X-Mras"] == "Probable"


async def test_a_fault_of_the_lists_costs_no_mail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table, _ = seated(tmp_path, Failing())
    reply = await table.message()
    assert reply.answer is ReplyAction.ACCEPT
    assert any(record.exc_info for record in caplog.records)
