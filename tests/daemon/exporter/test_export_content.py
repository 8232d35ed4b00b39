"""What tables are to hold: what local lists, RepIP and pins say, so that who looks up hears what
the daemon would say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oborona.config import ExportSettings, PathSettings, Settings, SiteSettings
from oborona.daemon.exporter import list_rows as lists_of
from oborona.daemon.exporter.exporter import TableExporter
from oborona.daemon.exporter.files import ExportTables, export_tables
from oborona.daemon.exporter.list_rows import list_rows
from oborona.daemon.exporter.row import ALLOW, DENY, ExportRow
from oborona.errors import StoreError
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import load_policy
from oborona.reputation.locallists import ListAction
from oborona.reputation.subject import ListSubject
from oborona.types import Amounts
from tests.cli.remembered import Happened, aged, journal, remember, run

BAD, GOOD, NOBODY = "198.51.100.7", "192.0.2.1", "192.0.2.200"
BASE = "[verdict]\nspam_score = 100\nreject_score = 200\n"


def written(folder: Path, policy: str = "", files: Mapping[str, str] | None = None) -> Path:
    """A policy folder."""
    folder.mkdir(exist_ok=True)
    (folder / "10.toml").write_text(f"{BASE}{policy}")
    for name, text in (files or {}).items():
        (folder / name).write_text(text)
    return folder


def local_list(
    name: str, action: str, of: str, entries: str = "", file: str = "", more: str = ""
) -> str:
    given = (
        f"entries = [{', '.join(map(repr, entries.split()))}]\n"
        if entries
        else f'file = "{file}"\n'
    )
    return f'[[local_list]]\nname = "{name}"\naction = "{action}"\nof = {of}\n{given}{more}\n'


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One address with a bad past, one with a good one.

    Both in the journal, and one that has no past.
    """
    folder = tmp_path_factory.mktemp("exporting") / "state"
    bad = [
        Happened(entity, Amounts(seen=40, spam=40, traps=2), hour * 600.0 + 60)
        for hour in range(6)
        for entity in (BAD, "198.51.100.0/24")
    ]
    remember(folder, [*bad, Happened(GOOD, Amounts(seen=30, reads=9))])
    aged(folder)
    journal(
        folder,
        [{"client_ip": ip} for ip in (BAD, GOOD, NOBODY, "", "::ffff:192.0.2.9", "no address")],
    )
    return folder


def exported(
    state: Path, policy: Path, networks: str = "", now: float | None = None
) -> ExportTables:
    settings = Settings(
        site=SiteSettings(networks=networks),
        paths=PathSettings(state=str(state), policy=str(policy)),
        export=ExportSettings(),
    )
    found = TableExporter(settings, state).round(now or time.time())
    assert found.troubles == ()
    return found.tables


def test_who_has_a_bad_past_is_denied_for_a_day(state: Path, tmp_path: Path) -> None:
    found = exported(state, written(tmp_path / "policy"))
    assert list(found.clients) == [BAD]
    row = found.clients[BAD]
    assert (row.verdict, row.code, row.text) == (DENY, 554, "5.7.1 Client refused")
    assert "spam of" in row.why
    assert time.time() < row.until <= time.time() + 86_400


@pytest.mark.parametrize(
    "policy",
    [
        '[repip]\nbad = "none"\n',
        "[verdict]\nrefuse = false\nspam_score = 100\nreject_score = 200\n",
    ],
)
def test_nobody_is_denied_where_the_policy_refuses_nobody(
    state: Path, tmp_path: Path, policy: str
) -> None:
    folder = written(tmp_path / "policy")
    (folder / "20.toml").write_text(policy)
    assert exported(state, folder).clients == {}


def test_who_is_ours_is_not_denied(state: Path, tmp_path: Path) -> None:
    assert exported(state, written(tmp_path / "policy"), networks="198.51.100.0/24").clients == {}


def test_a_day_without_mail_and_the_address_is_gone(state: Path, tmp_path: Path) -> None:
    folder = written(tmp_path / "policy")
    assert exported(state, folder, now=time.time() + 2 * 86_400).clients == {}


def test_a_list_that_lets_somebody_in_stands_above_a_bad_past(state: Path, tmp_path: Path) -> None:
    policy = local_list("PARTNERS", "allow", '["client"]', "198.51.100.0/24")
    found = exported(state, written(tmp_path / "policy", policy))
    assert found.clients == {}
    assert [(str(one), row.verdict) for one, row in found.networks] == [("198.51.100.0/24", ALLOW)]


def test_lists_say_what_they_say_of_clients_and_senders(tmp_path: Path, state: Path) -> None:
    policy = (
        local_list("OUT", "deny", '["client", "sender"]', file="out.list")
        + local_list("IN", "allow", '["sender"]', "boss@bad.example")
        + local_list("HELO_OUT", "deny", '["helo"]', "liar.example")
        + local_list("LATER", "deny", '["client"]', "203.0.113.9", more='mode = "shadow"')
        + local_list("OFF", "deny", '["client"]', "203.0.113.10", more="enabled = false")
    )
    files = {
        "out.list": (
            "# ours\n192.0.2.7\n2001:DB8::/32\n@Bad.example  # all of "
            "it\n.worse.example\nann@a.example\n"
        )
    }
    found = exported(state, written(tmp_path / "policy", policy, files))
    assert {key for key, row in found.clients.items() if row.verdict == DENY} == {BAD, "192.0.2.7"}
    assert [str(one) for one, _ in found.networks] == ["2001:db8::/32"]
    assert {key: (row.verdict, row.why) for key, row in found.senders.items()} == {
        "*@bad.example": (DENY, "OUT @bad.example"),
        ".worse.example": (DENY, "OUT .worse.example"),
        "ann@a.example": (DENY, "OUT ann@a.example"),
        "boss@bad.example": (ALLOW, "IN boss@bad.example"),
    }


def test_pins_say_what_they_say_until_they_end(tmp_path: Path) -> None:
    state = tmp_path / "state"
    remember(state, [Happened(GOOD, Amounts(seen=1))])
    journal(state, [{"client_ip": GOOD}])
    policy = written(
        tmp_path / "policy", local_list("PARTNERS", "allow", '["client"]', "203.0.113.0/24")
    )
    for entity, flag in (
        ("198.51.100.9", "bad"), ("198.51.100.0/24", "bad"), (GOOD, "good"), ("2001:db8::7", "bad"), ("203.0.113.7", "bad"),
        ("eve@a.example", "bad"), ("sender:bob@a.example", "good"), ("shop.example", "poor"), ("account:joe", "bad"),
    ):  # fmt: skip
        run(state, "set", entity, flag, "--reason", 'said "so"', "--for", "7d")
    found = exported(state, policy)
    assert {key: row.verdict for key, row in found.clients.items()} == {
        "198.51.100.9": DENY,
        GOOD: "good",
        "2001:db8::7": DENY,
    }
    assert [(str(one), row.verdict) for one, row in found.networks] == [
        ("198.51.100.0/24", DENY),
        ("203.0.113.0/24", ALLOW),
    ]
    assert {key: row.verdict for key, row in found.senders.items()} == {
        "eve@a.example": "bad",
        "bob@a.example": "good",
        "*@shop.example": "poor",
    }
    assert all(time.time() < row.until < time.time() + 8 * 86_400 for row in found.clients.values())
    run(state, "clear", "198.51.100.9", "--reason", "no")
    assert "198.51.100.9" not in exported(state, policy).clients
    assert exported(state, policy, now=time.time() + 8 * 86_400).clients == {}


def test_without_counters_lists_are_exported_and_it_is_said(tmp_path: Path) -> None:
    state = tmp_path / "state"
    remember(state, [])
    policy = written(tmp_path / "policy", local_list("OUT", "deny", '["client"]', "192.0.2.7"))
    found = TableExporter(
        Settings(paths=PathSettings(state=str(state), policy=str(policy))), state
    ).round(time.time())
    assert list(found.tables.clients) == ["192.0.2.7"]
    (trouble,) = found.troubles
    assert "journal" in trouble


def test_a_list_that_is_too_long_is_not_exported_by_half(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists_of, "MOST", 3)
    folder = written(
        tmp_path / "policy", local_list("OUT", "deny", '["client"]', "9.0.0.1 9.0.0.2")
    )
    exporter = TableExporter(
        Settings(paths=PathSettings(state=str(state), policy=str(folder))), state
    )
    assert {"9.0.0.1", "9.0.0.2"} <= set(exporter.round(time.time()).tables.clients)
    written(folder, local_list("OUT", "deny", '["client"]', "9.0.0.1 9.0.0.2 9.0.0.3 9.0.0.4"))
    for _ in range(2):
        with pytest.raises(StoreError, match="more than 3 entries"):
            exporter.round(time.time())
    written(folder, local_list("OUT", "deny", '["client"]', "9.0.0.4"))
    assert set(exporter.round(time.time()).tables.clients) == {"9.0.0.4", BAD}


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (ExportRow(ALLOW, "a"), 'verdict=allow code=0 until=0 text="" why="a"'),
        (
            ExportRow(DENY, 'q " b \\ n \n ю', 550, "5.7.1 x", 7),
            'verdict=deny code=550 until=7 text="5.7.1 x" why="q \\" b \\\\ n ? ?"',
        ),
    ],
)
def test_a_row_is_one_line_whatever_it_holds(row: ExportRow, line: str) -> None:
    assert row.line == line


ADDRESSES = st.builds(lambda low: f"192.0.2.{low}", st.integers(0, 31))
NETWORKS = st.builds(
    lambda low, length: str(ip_network(f"192.0.2.{low}/{length}", strict=False)),
    st.integers(0, 31),
    st.integers(24, 32),
)
NAMES = st.sampled_from(
    ["a.example", ".a.example", "x.a.example", ".example", "@x.a.example", "ann@x.a.example", "ann@a.example", "@a.example"]
)  # fmt: skip
ASKED = st.builds(
    lambda who, where: f"{who}@{where}",
    st.sampled_from(["ann", "Bob"]),
    st.sampled_from(["a.example", "X.a.example", "y.x.a.example", "b.example", "else.test"]),
)


@given(
    st.lists(
        st.tuples(st.sampled_from(ListAction), st.lists(NETWORKS | NAMES, min_size=1)), max_size=3
    ),
    ADDRESSES,
    ASKED,
)
def test_who_looks_up_from_narrow_to_wide_hears_what_the_lists_say(
    tmp_path_factory: pytest.TempPathFactory,
    given_lists: list[tuple[ListAction, list[str]]],
    address: str,
    sender: str,
) -> None:
    """Whatever lists there are: the address, then the first network around it.

    The sender, its domain, what is above it.
    """
    text = "".join(
        local_list(f"L{number}", action, '["client", "sender"]', " ".join(entries))
        for number, (action, entries) in enumerate(given_lists)
    )
    folder = written(tmp_path_factory.mktemp("policy"), text)
    policy = load_policy(folder, SCHEMA)
    said = list_rows(policy, folder)
    found = export_tables(said.networks, said.senders)
    row = found.clients.get(address) or next(
        (row for one, row in found.networks if ip_address(address) in one), None
    )
    match = policy.local_lists.look(ListSubject.CLIENT, address)
    assert (row and row.verdict) == (match and match.action.value)
    sender = sender.lower()
    labels = sender.partition("@")[2].split(".")
    keys = [
        sender,
        f"*@{'.'.join(labels)}",
        *(f".{'.'.join(labels[n:])}" for n in range(len(labels))),
    ]
    row = next((found.senders[key] for key in keys if key in found.senders), None)
    match = policy.local_lists.look(ListSubject.SENDER, sender)
    assert (row and row.verdict) == (match and match.action.value)
