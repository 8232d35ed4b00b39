"""`oborona policy limits`: what limits would have done, from the journal."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from oborona.ident import JournalIdGenerator
from oborona.journal.entry import JournalEntry
from oborona.journal.journal import JournalWriter
from oborona.session.judged_message import HELD
from oborona.session.limit_report import PASSED
from oborona.types import Action, Finding
from tests.cli.journaled import policy, run

DAY: Final = 86_400.0
TABLE: Final = """
[[limit]]
name = "HOURLY"
each = "account"
count = "recipients"
window = "hour"
limit = "max(10, 3 * usual)"
then = "hold"
mode = "shadow"
[[limit]]
name = "SPAM"
each = "account"
count = "spam"
window = "day"
limit = 1
then = "alert"
[[limit]]
name = "CONTACTS"
each = "account"
count = "first_contacts"
window = "day"
limit = 1
then = "alert"
[[limit]]
name = "NETWORKS"
each = "account"
count = "addresses"
window = "day"
limit = 2
then = "alert"
[[limit]]
name = "NEW"
each = "account"
count = "new_recipients"
window = "hour"
limit = 10
then = "alert"
[[limit]]
name = "COUNTRIES"
each = "account"
count = "countries"
window = "day"
limit = 2
then = "alert"
"""


class Past:
    """Messages of the journal, told by how long ago they came."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self._now = time.time()
        self._idents = JournalIdGenerator(1)

    def sent(
        self,
        ago_s: float,
        recipients: int = 1,
        *,
        login: str = "ann@a.example",
        ip: str = "192.0.2.1",
        verdict: Action = Action.ACCEPT,
        own: bool = False,
        country: str | None = None,
        findings: Sequence[Finding] = (),
    ) -> None:
        at = self._now - ago_s
        self.entries.append(
            JournalEntry(
                id=self._idents.next(at),
                time=at,
                verdict=verdict,
                score=0.0,
                line=100.0,
                decided_by="below-threshold",
                client_ip=ip,
                sender="ann@a.example",
                recipients=tuple(f"r{number}@b.example" for number in range(recipients)),
                login=login,
                size=1_000,
                facts={"outgoing": own or bool(login), "client.country": country},
                findings=tuple(findings),
            )
        )

    def tried(self, folder: Path, text: str = TABLE, *more: str) -> dict[str, Any]:
        """Journal them, and return what limits would have done, by limit, too."""

        async def fill() -> None:
            async with await JournalWriter.open(folder / "state/journal.db") as written:
                for entry in self.entries:
                    written.append(entry)

        (folder / "state").mkdir(exist_ok=True)
        asyncio.run(fill())
        policy(folder / "policy", text)
        told = run(folder / "state", folder / "policy", "policy", "limits", "--json", *more)
        found: dict[str, Any] = json.loads(told.stdout)
        return found | {one["limit"]: one for one in found["limits"]}


def test_what_goes_over_is_named_with_its_sender(tmp_path: Path) -> None:
    past = Past()
    for minute in range(15):
        past.sent(3_000 - 60 * minute)
    past.sent(1_000, 4, login="bob@a.example")
    found = past.tried(tmp_path)
    assert found["outgoing"] == 16
    hourly = found["HOURLY"]
    assert (hourly["messages"], hourly["senders"], hourly["highest"]) == (
        5,
        {"ann@a.example": 5},
        15,
    )
    assert (hourly["mode"], hourly["then"], len(hourly["first"])) == ("shadow", "hold", 13)


def test_earlier_days_make_a_usual_one(tmp_path: Path) -> None:
    past = Past()
    for day in range(13, 7, -1):
        past.sent(day * DAY, 30)
    past.sent(6 * DAY, 80)
    past.sent(6 * DAY - 60, 15)  # 95 of 90
    found = past.tried(tmp_path)
    assert (found["HOURLY"]["messages"], found["HOURLY"]["highest"]) == (1, 95)
    assert found["outgoing"] == 2  # what came before is a past alone


def test_what_was_not_taken_uses_up_nothing(tmp_path: Path) -> None:
    past = Past()
    stopped = [Finding(PASSED, "OTHER: 12 of 10, refuse")]
    held = [Finding(PASSED, "OTHER: 12 of 10, hold"), HELD]
    no_place = [Finding(PASSED, "OTHER: 12 of 10, hold")]  # its mail server refused it
    past.sent(900, 9)
    past.sent(800, 9, verdict=Action.TEMPFAIL)
    past.sent(700, 9, verdict=Action.REJECT)
    past.sent(600, 9, findings=stopped)
    past.sent(590, 9, findings=no_place)
    past.sent(500, 1)
    past.sent(400, 1, findings=held)
    past.sent(300, 0, verdict=Action.REJECT)
    past.sent(200, 1)
    found = past.tried(tmp_path)
    assert (found["HOURLY"]["messages"], found["HOURLY"]["highest"]) == (2, 12)
    assert found["SPAM"]["messages"] == 1  # after two that were refused


def test_spam_uses_up_a_limit_where_it_was_held_and_not_where_it_was_refused(
    tmp_path: Path,
) -> None:
    past = Past()
    past.sent(900, 9, verdict=Action.SPAM)  # its mail server has no place for it
    past.sent(800, 9, verdict=Action.SPAM, findings=[HELD])
    past.sent(700, 2)
    assert past.tried(tmp_path)["HOURLY"]["highest"] == 11


def test_addresses_are_counted_once_a_day_and_strangers_are_not(tmp_path: Path) -> None:
    past = Past()
    for number in (1, 2, 3, 3, 3):
        past.sent(1_000 - number, ip=f"192.0.2.{number}")
    for _ in range(50):
        past.sent(500, login="", ip="198.51.100.1")
    past.sent(400, login="", ip="192.0.2.77", own=True)
    found = past.tried(tmp_path)
    assert found["NETWORKS"]["messages"] == 2
    assert found["outgoing"] == 6


def test_new_recipients_are_counted_once(tmp_path: Path) -> None:
    past = Past()
    for minute in range(6):
        past.sent(3_000 - 60 * minute, 8)  # always the same
    past.sent(300, 12)
    past.sent(200, 1)
    found = past.tried(tmp_path)["NEW"]
    assert (found["messages"], found["highest"]) == (2, 12)


def test_countries_are_those_of_the_time(tmp_path: Path) -> None:
    past = Past()
    for number, country in enumerate(("DE", "DE", None, "FR", "US", "US", "DE")):
        past.sent(1_000 - number, country=country)
    found = past.tried(tmp_path)["COUNTRIES"]
    assert (found["messages"], found["highest"]) == (2, 3)


def test_what_the_journal_does_not_have_is_said(tmp_path: Path) -> None:
    past = Past()
    past.sent(100)
    found = past.tried(tmp_path)
    assert [one["limit"] for one in found["limits"] if not one["tried"]] == ["CONTACTS"]
    shown = run(tmp_path / "state", tmp_path / "policy", "policy", "limits").stdout
    assert "not tried" in shown
    assert "1 outgoing messages" in shown


def test_another_folder_and_another_time(tmp_path: Path) -> None:
    past = Past()
    past.sent(2 * DAY, 12)
    past.sent(100, 12)
    other = policy(tmp_path / "other", TABLE.replace("max(10,", "max(20,"))
    assert past.tried(tmp_path)["HOURLY"]["messages"] == 2
    past.entries.clear()
    assert past.tried(tmp_path, TABLE, "--since", "1d")["HOURLY"]["messages"] == 1
    assert past.tried(tmp_path, TABLE, "--policy", str(other))["HOURLY"]["messages"] == 0


def test_a_policy_without_limits_says_so(tmp_path: Path) -> None:
    past = Past()
    past.sent(100)
    past.tried(tmp_path)
    policy(tmp_path / "policy", TABLE.replace("then =", "enabled = false\nthen ="))
    told = run(tmp_path / "state", tmp_path / "policy", "policy", "limits", status=1)
    assert "no limits" in told.output
