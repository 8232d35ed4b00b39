"""The inspector: golden histories of accounts, and what people say of its incidents."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.accounts.account import (
    AccountBlock,
    AccountNetwork,
    AccountRecord,
    AccountState,
    NetworkRole,
    Trust,
)
from oborona.accounts.excess import WINDOWS_S, Excess, WrongExcess
from oborona.accounts.incidents.incident import ActionKind, ActionState, IncidentVerdict
from oborona.accounts.incidents.statistics import LimitFigures, incident_figures
from oborona.accounts.incidents.store import IncidentStore
from oborona.accounts.inspector.decision import (
    AccountSituation,
    HeldBack,
    IncidentLine,
    InspectorRules,
    decide_incident,
)
from oborona.accounts.inspector.inspector import Inspector, role_of
from oborona.accounts.store.ratings import rate_account, rating_of, with_ends
from oborona.errors import StoreError
from oborona.policy.account_tests import AccountTests
from oborona.policy.rules import Rule

NOW = 1_795_000_000.0
HISTORIES = tomllib.loads(
    (Path(__file__).parents[2] / "golden/accounts/histories.toml").read_text()
)["history"]
RULES = InspectorRules()


def rated(rating: int) -> AccountTests:
    """Return tests that leave every account a rating."""
    return AccountTests([Rule(name="ALL", when="incidents.spam_month >= 0", score=100.0 - rating)])


def excess(at: float = NOW, account: str = "joe", **fields: Any) -> Excess:
    told: dict[str, Any] = {
        "limit": "HOURLY",
        "metric": "recipients",
        "window": "hour",
        "value": 900.0,
        "most": 200.0,
        "address": "192.0.2.1",
    }
    return Excess(account=account, at=at, **told | fields)


class Site:
    """An inspector with its file, at a time of its own."""

    def __init__(self, path: Path, rating: int, *, live: bool = True) -> None:
        self.store = IncidentStore(path)
        self.now = NOW
        self.inspector = Inspector(
            self.store, lambda: rated(rating), RULES, live=live, clock=lambda: self.now
        )

    def know(self, *names: str, since: float = NOW - 86_400, role: str = "host") -> None:
        self.store.put(
            [
                AccountRecord(
                    id=name,
                    logins=(name,),
                    since=since,
                    networks=(
                        AccountNetwork(network=f"192.0.2.{number}/32", role=NetworkRole(role)),
                    ),
                )
                for number, name in enumerate(names, 1)
            ],
            by="anna",
            now=NOW,
        )

    def state(self, name: str = "joe") -> AccountState:
        found = self.store.find(name)
        assert found is not None
        return found.state(self.now)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "accounts.db"


@pytest.fixture
def site(path: Path) -> Iterator[Site]:
    opened = Site(path, 20)
    opened.know("joe")
    yield opened
    opened.store.close()


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history["about"])
def test_golden_histories(history: dict[str, Any], path: Path) -> None:
    site = Site(path, history["rating"], live=history.get("mode", "live") == "live")
    since = 0.0 if history.get("young") else NOW - 86_400
    site.know("joe", since=since, role=history.get("role", "host"))
    if history.get("trusted"):
        site.store.trust("joe", Trust(by="anna", at=NOW, until=0.0, why="we talked"))
    for step in history["steps"]:
        site.now = NOW + step["hour"] * 3600
        known = len(site.store.incidents())
        if "line" in step:
            more = {"limit": step["limit"]} if "limit" in step else {}
            site.inspector.take(excess(site.now, shadow=step.get("shadow", False), **more))
        opened = site.store.incidents()[: len(site.store.incidents()) - known]
        assert [one.line for one in opened] == ([step["line"]] if step.get("line") else [])
        assert site.state() == step["state"], step
        for one in opened:
            alerts = [
                action for action in site.store.actions(one.id) if action.kind is ActionKind.ALERT
            ]
            assert [action.state for action in alerts] == (
                [ActionState.WANTED] if step.get("alert") else []
            )
            assert step.get("say", "") in one.say
    site.store.close()


@given(
    st.builds(
        AccountSituation,
        trusted=st.booleans(),
        rating=st.integers(0, 100),
        incidents_week=st.integers(0, 100),
        bans_hour=st.integers(0, 100),
        known_since=st.sampled_from([0.0, NOW]),
        role=st.sampled_from(NetworkRole),
        by_strangers=st.booleans(),
    )
)
def test_who_must_never_be_banned_is_not_and_every_block_has_an_end(
    situation: AccountSituation,
) -> None:
    decision = decide_incident(situation, RULES, NOW)
    if decision.state is not AccountState.OPEN:
        assert decision.until > NOW
        assert decision.alert
        assert not situation.trusted
        assert situation.rating < RULES.confident
        assert not situation.by_strangers
    if decision.state is AccountState.BANNED:
        assert situation.rating < RULES.ban
        assert situation.role not in (NetworkRole.RELAY, NetworkRole.MX)
        assert situation.known_since
        assert situation.bans_hour < RULES.most_bans_an_hour


@pytest.mark.parametrize("rating", [10, 50])
def test_what_strangers_do_to_an_account_is_told_and_costs_it_nothing(
    path: Path, rating: int
) -> None:
    site = Site(path, rating)
    site.know("joe")
    for hour in range(5):
        site.now = NOW + hour * 86_400
        site.inspector.take(excess(site.now, limit=f"GUESSED{hour}", metric="failed_logins"))
    assert [one.line for one in site.store.incidents()] == ["duty"] * 5
    assert site.state() is AccountState.OPEN
    assert ("strangers can do that" in site.store.incidents()[0].say) == (rating < RULES.ban)
    site.now += 60
    site.inspector.take(excess(site.now))
    assert site.state() is (AccountState.BANNED if rating < RULES.ban else AccountState.OPEN), (
        "none of them adds to those after which it is limited"
    )
    site.store.close()


def test_bans_beyond_the_most_of_an_hour_become_alerts_that_say_so(path: Path) -> None:
    site = Site(path, 0)
    names = [f"account{number}" for number in range(8)]
    site.know(*names)
    for name in names:
        site.inspector.take(excess(account=name))
    lines = [one.line for one in reversed(site.store.incidents())]
    assert lines == [IncidentLine.BAN] * 5 + [IncidentLine.DUTY] * 3
    assert HeldBack.MANY in site.store.incidents()[0].say
    site.now += 3601
    site.inspector.take(excess(site.now, account=names[-1], limit="another"))
    assert site.store.incidents()[0].line is IncidentLine.BAN
    site.store.close()


def test_an_excess_is_kept_with_what_shows_it(site: Site) -> None:
    site.inspector.take(
        excess(usual=40.0, then="hold", idents=tuple(range(30)), evidence={"subjects": ["Hi"]})
    )
    site.now += 60
    site.inspector.take(excess(site.now, value=1200.0))
    (found,) = site.store.incidents()
    assert (found.value, found.excesses, found.last) == (1200.0, 2, NOW + 60)
    assert (found.usual, found.then, found.idents) == (40.0, "hold", tuple(range(20)))
    assert found.evidence == {"subjects": ["Hi"]}
    site.inspector.take(excess(limit="big", evidence={"x": "x" * 20_000}))
    assert site.store.incidents()[0].evidence == {}, "it is too large"


def test_an_account_that_nobody_imported_is_known_from_its_first_excess(path: Path) -> None:
    site = Site(path, 0)
    site.inspector.take(excess(account="New@Example.com"))
    found = site.store.find("new@example.com")
    assert found is not None
    assert found.state(NOW) is AccountState.OPEN, "nothing is known of how long it has been here"
    site.store.close()


def test_not_spam_takes_back_what_was_done_and_counts_against_the_limit(site: Site) -> None:
    site.inspector.take(excess())
    assert site.state() is AccountState.BANNED
    (found,) = site.store.incidents()
    site.store.take(found.id, "anna")
    site.store.close_incident(
        found.id, IncidentVerdict.NOT_SPAM, by="anna", note="their newsletter", now=NOW + 60
    )
    assert site.state() is AccountState.OPEN
    closed = site.store.incident(found.id)
    assert closed is not None
    assert (closed.taken_by, closed.verdict, closed.note) == (
        "anna",
        IncidentVerdict.NOT_SPAM,
        "their newsletter",
    )
    kinds = {action.kind: action.state for action in site.store.actions(found.id)}
    assert kinds == {
        ActionKind.BAN: ActionState.UNDONE,
        ActionKind.ALERT: ActionState.UNDONE,
        ActionKind.SECOND: ActionState.UNDONE,
        ActionKind.HOOK: ActionState.SKIPPED,
        ActionKind.COMMAND: ActionState.SKIPPED,
    }
    told = site.store.wanted()
    assert [one.kind for one in told] == [ActionKind.HOOK, ActionKind.COMMAND]
    assert all('"state":"open"' in one.body for one in told), "others hear the latest alone"
    with pytest.raises(StoreError):
        site.store.take(found.id, "bob")
    figures = incident_figures(site.store, 36_000)
    assert figures.limits == {"HOURLY": LimitFigures(incidents=1, spam=0, not_spam=1)}
    assert figures.lines == {"ban": 1}
    assert figures.metrics == {"recipients": 1}
    assert sum(figures.ratings.values()) == 1
    site.inspector.take(excess(NOW + 120))
    assert len(site.store.incidents()) == 2, "a closed incident takes no more"


def test_undo_takes_back_the_ban_once_and_nothing_that_a_person_said_since(site: Site) -> None:
    site.inspector.take(excess())
    (found,) = site.store.incidents()
    for action in site.store.wanted():
        site.store.done(action.id, NOW)
    assert [one.kind for one in site.store.undo_incident(found.id, by="bob", now=NOW)] == [
        ActionKind.BAN
    ]
    assert site.state() is AccountState.OPEN
    assert site.store.undo_incident(found.id, by="bob", now=NOW) == []
    with pytest.raises(StoreError, match="no incident"):
        site.store.undo_incident(99, by="bob", now=NOW)

    site.inspector.take(excess(limit="another"))
    second = site.store.incidents()[0]
    ban = AccountBlock(account="joe", state=AccountState.BANNED, until=0.0, why="x", by="anna")
    site.store.block(ban, now=NOW)
    site.store.undo_incident(second.id, by="bob", now=NOW)
    assert site.state() is AccountState.BANNED, "anna said so"


def test_a_ban_of_a_person_is_not_shortened(site: Site) -> None:
    ban = AccountBlock(account="joe", state=AccountState.BANNED, until=0.0, why="x", by="anna")
    site.store.block(ban, now=NOW)
    site.inspector.take(excess())
    found = site.store.find("joe")
    assert found is not None
    assert found.block == ban


def test_a_confirmed_incident_lowers_the_rating_for_a_while(path: Path) -> None:
    tests = AccountTests([Rule(name="SENT_SPAM", when="incidents.spam_month > 0", score=40.0)])
    with IncidentStore(path) as store:
        inspector = Inspector(store, lambda: tests, RULES, live=True, clock=lambda: NOW)
        inspector.take(excess())
        (found,) = store.incidents()
        assert (found.rating, found.line) == (100, IncidentLine.CONFIDENT)
        store.close_incident(found.id, IncidentVerdict.SPAM, by="anna", note="", now=NOW)
        inspector.take(excess())
        assert store.incidents()[0].rating == 60


@pytest.mark.parametrize(
    ("metric", "fact"),
    [
        ("traps", "traps_month"),
        ("complaints", "complaints_month"),
        ("unknown_users", "unknown_users_month"),
        ("listed", "listed_month"),
    ],
)
def test_what_an_account_did_lowers_its_rating_for_a_month(
    path: Path, metric: str, fact: str
) -> None:
    tests = AccountTests([Rule(name="DID", when=f"incidents.{fact} > 0", score=30.0)])
    month = 30 * 86_400.0
    with IncidentStore(path) as store:
        Inspector(store, lambda: tests, RULES, live=True, clock=lambda: NOW).take(
            excess(metric=metric)
        )
        account = store.find("joe")
        assert account is not None
        assert account.rating == 100, "what it is judged for does not count against it already"
        assert rating_of(store, account, tests, NOW + 1).value == 70
        assert rating_of(store, account, tests, NOW + month - 1).value == 70
        assert rating_of(store, account, tests, NOW + month + 1).value == 100
        (found,) = store.incidents()
        store.close_incident(found.id, IncidentVerdict.NOT_SPAM, by="anna", note="", now=NOW)
        assert rating_of(store, account, tests, NOW + 1).value == 100


def test_each_penalty_for_what_an_account_did_has_an_end(path: Path) -> None:
    tests = AccountTests(
        [
            Rule(name="TRAPS", when="incidents.traps_month > 0", score=30.0),
            Rule(name="TWICE", when="incidents.traps_month > 1", score=5.0),
            Rule(name="SENT", when="incidents.spam_month > 0", score=40.0),
            Rule(name="AGED", when="account.age_hours != none", score=1.0),
        ],
        {"SENT": 60 * 86_400.0},
    )
    day, month, clock = 86_400.0, 30 * 86_400.0, [NOW]
    with IncidentStore(path) as store:
        store.put([AccountRecord(id="joe", logins=("joe",), since=NOW - day)], by="a", now=NOW)
        inspector = Inspector(store, lambda: tests, RULES, live=True, clock=lambda: clock[0])
        inspector.take(excess(metric="traps", limit="FIRST"))
        first = store.incidents()[0].id
        store.close_incident(first, IncidentVerdict.SPAM, by="anna", note="", now=NOW + 2 * day)
        inspector.take(excess(NOW + day, metric="traps", limit="SECOND"))
        now = NOW + 3 * day
        account = store.find("joe")
        assert account is not None
        rating = rating_of(store, account, tests, now)
        shown = {one.test: one.until for one in with_ends(store, account, tests, rating, now)}
        assert shown == {
            "TRAPS": NOW + day + month,
            "TWICE": NOW + month,
            "SENT": NOW + 2 * day + month + 60 * day,
            "AGED": 0.0,
        }
        for minute in range(-2 * 1440, 100 * 1440, 720):  # as the keeper rates, twice a day
            rated_at = now + minute * 60
            account = store.find("joe")
            assert account is not None
            there = {one.test for one in rate_account(store, account, tests, rated_at).penalties}
            if minute < 0:
                continue
            for test, until in shown.items():
                if abs(rated_at - until) > day / 2 or not until:
                    assert (test in there) is (not until or rated_at < until), (test, minute)


def test_several_processes_open_one_incident(path: Path) -> None:
    first = Site(path, 50)
    first.know("joe")
    first.store.close()

    def take(number: int) -> None:
        site = Site(path, 50)
        site.inspector.take(excess(NOW + number))
        site.store.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(8)))
    with IncidentStore(path) as store:
        (found,) = store.incidents()
        assert found.excesses == 8
        assert [one.kind for one in store.wanted()] == [ActionKind.ALERT, ActionKind.SECOND]


@pytest.mark.parametrize(
    "wrong",
    [
        {"account": ""},
        {"account": "x" * 300},
        {"account": "a\nb"},
        {"limit": ""},
        {"metric": "\u202e"},
        {"window": "year"},
        {"value": float("nan")},
        {"value": -1.0},
        {"most": float("inf")},
        {"at": -1.0},
        {"at": float("nan")},
    ],
)
def test_what_is_no_excess_is_refused(site: Site, wrong: dict[str, Any]) -> None:
    with pytest.raises(WrongExcess):
        site.inspector.take(excess(**wrong))
    assert site.store.incidents() == []


def test_every_window_of_the_counters_has_its_length() -> None:
    assert list(WINDOWS_S) == ["recent", "hour", "day", "fortnight"]
    assert sorted(WINDOWS_S.values()) == list(WINDOWS_S.values())


def test_the_narrowest_network_says_what_a_machine_is(path: Path) -> None:
    with IncidentStore(path) as store:
        networks = (
            AccountNetwork(network="192.0.2.0/24"),
            AccountNetwork(network="192.0.2.7/32", role=NetworkRole.RELAY),
            AccountNetwork(network="2001:db8::/32", role=NetworkRole.MX),
        )
        record = AccountRecord(id="joe", logins=("joe",), networks=networks)
        store.put([record], by="anna", now=NOW)
        account = store.find("joe")
    assert account is not None
    told = {
        "192.0.2.7": "relay",
        "192.0.2.8": "host",
        "2001:db8::1": "mx",
        "": "host",
        "x%": "host",
    }
    assert {address: role_of(account, address).value for address in told} == told


def test_forgetting_an_account_forgets_its_incidents(site: Site) -> None:
    site.inspector.take(excess())
    site.store.unblock("joe", by="anna", why="x", now=NOW)
    site.store.forget("joe", now=NOW)
    assert site.store.incidents() == []
    assert site.store.wanted() == []
