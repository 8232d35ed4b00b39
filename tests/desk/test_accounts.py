"""Calls about accounts, incidents, flows and the alarm."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oborona import state_files
from oborona.accounts.excess import parse_excess
from oborona.accounts.flows.store import FlowStore
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.inspector import Inspector, inspector_rules
from oborona.desk.call import CallError
from oborona.errors import StoreError
from tests.cli.incident.test_incident_command import EXCESS
from tests.desk.spoken_site import SpokenSite

WHEN = time.time() + 86_400


@pytest.fixture
def site(tmp_path: Path) -> SpokenSite:
    spoken = SpokenSite(tmp_path)
    settings = spoken.site.loaded.settings.inspector
    with IncidentStore(spoken.state / state_files.ACCOUNTS) as store:
        inspector = Inspector(
            store,
            lambda: spoken.site.policy().account_tests,
            inspector_rules(settings),
            live=True,
            clock=time.time,
        )
        line = {"account": "joe@b.example", "at": time.time()} | EXCESS
        inspector.take(parse_excess(json.dumps(line).encode()))
    return spoken


def account(site: SpokenSite) -> str:
    name = site.ask("account.list")["accounts"][0]["account"]["id"]
    assert isinstance(name, str)
    return name


def standing(site: SpokenSite, name: str) -> dict[str, Any]:
    told = site.ask("account.show", name=name)["standing"]
    told["account"].pop("trust")
    told["account"].pop("block")
    return dict(told)


def test_each_ask_answers(site: SpokenSite) -> None:
    name = account(site)
    assert site.ask("account.show", name=name)["standing"]["account"]["id"] == name
    assert site.ask("account.explain", name=name)["account"] == name
    (incident,) = site.ask("incident.list", open=True, account=name)["incidents"]
    assert site.ask("incident.show", id=incident["id"])["account"] == name
    assert site.ask("incident.stats")["limits"]
    with FlowStore(site.state / state_files.FLOWS):
        pass
    assert site.ask("flows.status")["runs"] is False
    assert site.ask("alarm.test", dry=True) == site.ask("alarm.test") == {"channels": []}


@pytest.mark.parametrize(
    ("name", "more"),
    [("ban", {}), ("limit", {"until": WHEN}), ("trust", {"until": WHEN}), ("ban", {"until": WHEN})],
)
def test_what_is_said_of_an_account_is_tried_done_and_taken_back(
    site: SpokenSite, name: str, more: dict[str, object]
) -> None:
    of = account(site)
    asked = {"name": of, "reason": "it sends spam", **more}
    before, stores = standing(site, of), site.stores()
    assert site.ask(f"account.{name}", dry=True, **asked)["done"]
    assert site.stores() == stores
    done = site.ask(f"account.{name}", **asked)
    assert standing(site, of) != before
    undo = done["undo"]
    site.ask(undo["call"], **{"reason": "a mistake", **undo["asked"]})
    assert standing(site, of) == before


def test_a_ban_over_a_limit_goes_back_to_the_limit(site: SpokenSite) -> None:
    of = account(site)
    site.ask("account.limit", name=of, until=WHEN, reason="first")
    undo = site.ask("account.ban", name=of, reason="second")["undo"]
    assert undo["call"] == "account.limit"
    site.ask(undo["call"], **undo["asked"])
    block = site.ask("account.show", name=of)["standing"]["account"]["block"]
    assert (block["state"], block["why"], block["until"]) == ("limited", "first", WHEN)


def test_a_login_that_is_no_account_becomes_none_in_a_dry_run(site: SpokenSite) -> None:
    told = site.ask("account.ban", name="New@b.example", reason="x", dry=True)
    assert (told["standing"], told["new"]) == (None, True)
    with pytest.raises(CallError, match="there is no account"):
        site.ask("account.show", name="new@b.example")


def test_an_incident_is_taken_closed_and_undone(site: SpokenSite) -> None:
    stores = site.stores()
    site.ask("incident.take", id=1, dry=True)
    site.ask("incident.close", id=1, verdict="spam", dry=True)
    site.ask("incident.undo", id=1, dry=True)
    site.ask("account.forget", name=account(site), dry=True)
    assert site.stores() == stores
    assert site.ask("incident.take", id=1)["incident"]["taken_by"] == "anna"
    could = site.ask("incident.undo", id=1, dry=True)["taken_back"]
    assert site.ask("incident.undo", id=1)["taken_back"] == could
    closed = site.ask("incident.close", id=1, verdict="not-spam", reason="a newsletter")
    assert closed["incident"]["note"] == "a newsletter"
    assert site.ask("incident.list", open=True)["incidents"] == []
    with pytest.raises(StoreError, match="is closed"):
        site.ask("incident.take", id=1, dry=True)
    of = account(site)
    assert site.ask("account.forget", name=of) == {"account": of}
    assert site.ask("account.list")["accounts"] == []


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("account.show", {"name": ""}),
        ("account.show", {"name": "\x00"}),
        ("account.list", {"state": "dead"}),
        ("account.ban", {"name": "x@b.example", "reason": ""}),
        ("account.ban", {"name": "x@b.example", "reason": "a\nb"}),
        ("account.ban", {"name": "x@b.example", "reason": "x", "until": 1.0}),
        ("account.ban", {"name": "x@b.example", "reason": "x", "until": 1e300}),
        ("account.ban", {"name": "a b\x1b", "reason": "x"}),
        ("account.limit", {"name": "x@b.example", "reason": "x"}),
        ("account.unban", {"name": "nobody@b.example", "reason": "x"}),
        ("account.forget", {"name": "nobody@b.example"}),
        ("incident.show", {"id": 99}),
        ("incident.close", {"id": 1, "verdict": "maybe"}),
        ("incident.close", {"id": 1, "verdict": "spam", "reason": "a\nb"}),
        ("incident.undo", {"id": -1}),
        ("flows.status", {"hours": 25}),
    ],
)
def test_what_is_no_order_is_refused_plainly(
    site: SpokenSite, name: str, asked: dict[str, object]
) -> None:
    with pytest.raises((CallError, msgspec.ValidationError)):
        site.ask(name, **asked)
