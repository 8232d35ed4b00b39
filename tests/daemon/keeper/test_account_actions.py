"""What the keeper does of incidents and bans: people are told, and another system is, signed, once
and again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.account import (
    AccountBlock,
    AccountNetwork,
    AccountRecord,
    AccountState,
    NetworkRole,
)
from oborona.accounts.excess import Excess
from oborona.accounts.incidents.incident import ActionKind, ActionState, IncidentVerdict
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import InspectorRules
from oborona.accounts.inspector.inspector import Inspector
from oborona.daemon.keeper.account_actions import INCIDENTS, AccountActions
from oborona.policy.account_tests import AccountTests
from oborona.policy.rules import Rule
from oborona.telemetry.alert import Alert
from tests.daemon.alarm.test_alarm import Hook, alarmed, hooked

NOW = 1_795_170_000.0
KEY = b"0123456789abcdef"
JOE = AccountRecord(
    id="joe",
    logins=("joe",),
    since=NOW - 86_400,
    networks=(
        AccountNetwork(network="192.0.2.0/28"),
        AccountNetwork(network="192.0.2.16/32", role=NetworkRole.RELAY),
    ),
)
BAN = AccountBlock(
    account="joe", state=AccountState.BANNED, until=NOW + 3600, why="stolen", by="anna"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IncidentStore]:
    with IncidentStore(tmp_path / state_files.ACCOUNTS) as opened:
        opened.put([JOE], by="anna", now=NOW)
        yield opened


def states(store: IncidentStore) -> list[str]:
    rows = store.rows("SELECT state FROM action WHERE kind = 'hook' ORDER BY id")
    return [state for (state,) in rows]


def is_signed(hook: Hook, number: int) -> bool:
    stamp, _, digest = hook.signatures[number].partition(",v1=")
    signed = stamp.removeprefix("t=").encode() + b"." + hook.raw[number]
    return hmac.compare_digest(digest, hmac.new(KEY, signed, hashlib.sha256).hexdigest())


async def test_another_system_hears_of_a_ban_and_of_its_end_signed_and_once(
    tmp_path: Path, store: IncidentStore
) -> None:
    async with hooked(Hook()) as hook, alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: NOW, hook=hook.url, key=KEY)
        store.block(BAN, now=NOW)
        await actions.step()
        await actions.step()
        assert hook.bodies == [
            {
                "id": 1,
                "account": "joe",
                "state": "banned",
                "networks": ["192.0.2.0/28"],
                "reason": "stolen",
                "until": NOW + 3600,
                "incident": 0,
                "at": NOW,
            }
        ]
        store.unblock("joe", by="anna", why="changed", now=NOW)
        await actions.step()
        assert [body["state"] for body in hook.bodies] == ["banned", "open"]
        assert hook.bodies[1]["id"] > hook.bodies[0]["id"]
        assert is_signed(hook, 0)
        assert is_signed(hook, 1)
        assert states(store) == ["done", "done"]
        actions.close()


async def test_a_later_word_on_an_account_replaces_one_that_was_not_told(
    tmp_path: Path, store: IncidentStore
) -> None:
    async with hooked(Hook()) as hook, alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: NOW, hook=hook.url)
        store.block(BAN, now=NOW)
        store.unblock("joe", by="anna", why="a mistake", now=NOW)
        await actions.step()
        assert [body["state"] for body in hook.bodies] == ["open"]
        assert states(store) == ["skipped", "done"]
        actions.close()


async def test_what_fails_is_tried_again_under_the_same_id_and_people_are_told(
    tmp_path: Path, store: IncidentStore
) -> None:
    now = NOW
    told: list[Alert] = []

    async def note(alert: Alert) -> None:
        told.append(alert)

    async with hooked(Hook(500, 500, 500, 200)) as hook, alarmed() as alarm:
        alarm.raise_ = note  # type: ignore[method-assign]
        actions = AccountActions(tmp_path, alarm, lambda: now, hook=hook.url)
        store.block(BAN, now=NOW)
        for pause_s in (60, 120, 240):
            await actions.step()
            (action,) = store.wanted()
            assert action.retry_at == now + pause_s
            await actions.step()
            now += pause_s - 1
            await actions.step()
            now += 1
        assert [one.kind for one in told] == ["hook"]
        assert "answered 500" in told[0].text
        await actions.step()
        assert [body["id"] for body in hook.bodies] == [1] * 4
        assert states(store) == ["done"]
        actions.close()


async def test_another_system_hears_when_a_ban_ends_by_itself(
    tmp_path: Path, store: IncidentStore
) -> None:
    now = NOW
    async with hooked(Hook()) as hook, alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: now, hook=hook.url)
        store.block(BAN, now=NOW)
        await actions.step()
        now = BAN.until - 1
        await actions.step()
        assert [body["state"] for body in hook.bodies] == ["banned"]
        now = BAN.until
        await actions.step()
        await actions.step()
        assert [body["state"] for body in hook.bodies] == ["banned", "open"]
        assert store.blocked(now) == {}
        assert [deed.what for deed in store.deeds("joe")] == ["import", "ban"], "nobody did it"
        actions.close()


async def test_a_ban_that_a_person_made_longer_meanwhile_does_not_end(
    tmp_path: Path, store: IncidentStore
) -> None:
    now = NOW
    async with hooked(Hook()) as hook, alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: now, hook=hook.url)
        store.block(BAN, now=NOW)
        await actions.step()
        store.block(msgspec.structs.replace(BAN, until=0.0), now=NOW)
        now = BAN.until + 1
        await actions.step()
        assert [body["state"] for body in hook.bodies] == ["banned", "banned"]
        assert store.blocked(now)["joe"].state is AccountState.BANNED
        actions.close()


async def test_without_a_hook_nobody_is_to_be_told(tmp_path: Path, store: IncidentStore) -> None:
    async with alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: NOW)
        store.block(BAN, now=NOW)
        await actions.step()
        assert states(store) == ["skipped"]
        actions.close()


async def test_an_incident_is_told_and_counted_once_by_whichever_process_lives(
    tmp_path: Path, store: IncidentStore
) -> None:
    tests = AccountTests([Rule(name="ALL", when="incidents.spam_month >= 0", score=90.0)])
    inspector = Inspector(store, lambda: tests, InspectorRules(), live=True, clock=lambda: NOW)
    told: list[Alert] = []

    async def note(alert: Alert) -> None:
        told.append(alert)

    async with hooked(Hook()) as hook, alarmed() as alarm:
        alarm.raise_ = note  # type: ignore[method-assign]
        actions = AccountActions(tmp_path, alarm, lambda: NOW, hook=hook.url)
        await actions.step()
        inspector.take(
            Excess(
                account="joe", limit="HOURLY", metric="recipients", window="hour",
                value=900, most=200, at=NOW, evidence={"subjects": ["Buy now"]},
            )
        )  # fmt: skip
        await actions.step()
        await actions.step()
        (alert,) = told
        assert alert.title == "incident 1: joe is over HOURLY"
        assert "900 recipients in a window (hour) of 200" in alert.text
        assert alert.evidence == {"incident": 1, "account": "joe", "subjects": ["Buy now"]}
        assert INCIDENTS.value("recipients", "ban") == 1
        assert [(body["state"], body["incident"]) for body in hook.bodies] == [("banned", 1)]
        another = AccountActions(tmp_path, alarm, lambda: NOW, hook=hook.url)
        await another.step()
        assert len(told) == 1
        assert INCIDENTS.value("recipients", "ban") == 1
        done = {action.kind: action.state for action in store.actions(1)}
        assert done.pop(ActionKind.SECOND) is ActionState.SKIPPED, "there is no second line"
        assert done.pop(ActionKind.COMMAND) is ActionState.SKIPPED, "nor a command"
        assert done == dict.fromkeys(
            (ActionKind.ALERT, ActionKind.BAN, ActionKind.HOOK), ActionState.DONE
        )
        another.close()
        actions.close()


async def test_the_second_line_hears_of_what_nobody_has_taken_and_of_nothing_else(
    tmp_path: Path, store: IncidentStore
) -> None:
    now = NOW
    tests = AccountTests([Rule(name="ALL", when="incidents.spam_month >= 0", score=50.0)])
    inspector = Inspector(store, lambda: tests, InspectorRules(), live=True, clock=lambda: NOW)
    told: list[Alert] = []

    async def note(alert: Alert) -> None:
        told.append(alert)

    async with alarmed() as alarm, alarmed() as second:
        second.raise_ = note  # type: ignore[method-assign]
        actions = AccountActions(tmp_path, alarm, lambda: now, second=second)
        for limit in ("FIRST", "TAKEN", "CLOSED"):
            inspector.take(
                Excess(
                    account="joe", limit=limit, metric="recipients", window="hour",
                    value=900, most=200, at=NOW,
                )
            )  # fmt: skip
        await actions.step()
        store.take(2, "anna")
        store.close_incident(3, IncidentVerdict.SPAM, by="anna", note="", now=NOW)
        now = NOW + 1799
        await actions.step()
        assert told == []
        now = NOW + 1800
        await actions.step()
        await actions.step()
        assert [alert.title for alert in told] == ["nobody has taken incident 1: joe is over FIRST"]
        actions.close()


async def test_a_damaged_file_is_told_once_and_ends_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / state_files.ACCOUNTS
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    async with alarmed() as alarm:
        actions = AccountActions(tmp_path, alarm, lambda: NOW)
        await actions.step()
        await actions.step()
        messages = [record.message for record in caplog.records]
        assert messages.count("nobody is told of incidents") == 1
        path.unlink()
        with IncidentStore(path) as store:
            store.put([JOE], by="anna", now=NOW)
        await actions.step()
        assert "people are told of incidents again" in [record.message for record in caplog.records]
        actions.close()
