"""Logins as a log of events: from the door to checked tables, a table for each slot, and a person
who is taken out of them and out of flows.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from oborona import secret, state_files
from oborona.config import Settings
from oborona.daemon.state import prepare_state
from oborona.doors.login_attempt import LoginAttempt
from oborona.doors.login_recorder import LoginRecorder
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.erasure.book import ErasureBook
from oborona.eventlog.erasure.persons import persons_of
from oborona.eventlog.event_spool import EventSpool
from oborona.eventlog.export import logins
from oborona.eventlog.export.empty_slots import EmptySlots
from oborona.eventlog.folder import LogFolder
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.known_logs import own_kinds
from oborona.eventlog.logs import open_logs
from oborona.eventlog.slots import SLOT_S, slot_name
from oborona.stores.policy_folders import policy_folders
from tests.eventlog.test_flow_log import FlowSite, read_file
from tests.eventlog.worlds import SETTINGS, START

SHIPPED = Path(__file__).parents[2] / "etc/policy.d"
READER = """
folder = "{folder}"
tables = ["5min"]
[logs]
logins = ["service", "client"]
[masked]
logins = ["client"]
"""


class LoginSite:
    """A site whose workers hear of logins, with the rules that ship."""

    def __init__(self, state: Path) -> None:
        prepare_state(state)
        self.state = state
        self.now = START + 1.0
        self.spool = state / state_files.EVENT_LOG_RECEIVED
        readers = state / "readers.d"
        readers.mkdir()
        self.reader = state / "analysts"
        self.reader.mkdir(mode=0o750)
        (readers / "analysts.toml").write_text(READER.format(folder=self.reader))
        plain = Settings()
        self.settings = msgspec.structs.replace(
            plain,
            eventlog=msgspec.structs.replace(
                SETTINGS, enabled=True, back_hours=0.1, ready_minutes=0.0, daily_pass=False
            ),
            paths=msgspec.structs.replace(
                plain.paths,
                event_logs=str(state / "none.d"),
                event_readers=str(readers),
                policy=str(SHIPPED),
            ),
        )

    def hear(self, *attempts: LoginAttempt, gap_s: float = 1.0) -> None:
        """Have a worker hear of logins, one after the other."""
        recorder = LoginRecorder(EventSpool(self.spool, 1 << 30), lambda: self.now)
        for attempt in attempts:
            recorder.note(attempt)
            self.now += gap_s
        recorder.close()

    def work(self, until: float) -> None:
        """Do what is due by then, as the process of event logs does."""
        self.now = until
        with ExitStack() as closings:
            policy = policy_folders(self.settings.paths)
            logs = open_logs(self.settings, self.state, policy, closings, clock=lambda: self.now)
            while logs.step(lambda: True):
                pass
            assert logs.troubles == {}

    def files(self, log: str) -> list[Path]:
        return sorted((self.state / state_files.EVENT_LOGS / log).rglob("*.parquet"))

    def checked(self, log: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of each checked table."""
        folder = self.state / state_files.EVENT_LOGS / log / "checked/stream/5min"
        return {path.stem: pq.read_table(path).to_pylist() for path in sorted(folder.glob("*"))}

    def fired(self, log: str) -> dict[str, int]:
        """Return how often each rule fired."""
        found: dict[str, int] = {}
        with LogStore(self.state / state_files.EVENT_LOG_STORE) as store:
            for table in store.checked(log):
                for name, number in table.fired.items():
                    found[name] = found.get(name, 0) + number
        return found

    def person(self, name: str) -> int | None:
        return EventHasher(secret.load(self.state).eventlog).person(name)


@pytest.fixture
def site(tmp_path: Path) -> LoginSite:
    """A site where nobody has logged in."""
    return LoginSite(tmp_path)


def guesses(number: int, networks: int, login: str = "ann") -> list[LoginAttempt]:
    """Return wrong passwords of one account, from as many networks in turn."""
    return [
        LoginAttempt(
            login=login, address=f"198.51.{n % networks}.{n}", protocol="imap", why="password"
        )
        for n in range(number)
    ]


def test_who_logs_in_after_many_guesses_is_told_and_others_are_not(site: LoginSite) -> None:
    in_time = LoginAttempt(login="Ann", address="203.0.113.9", protocol="smtp")
    site.hear(*guesses(21, 6), in_time)
    site.hear(*guesses(20, 6, "few"), LoginAttempt(login="few"))
    site.hear(*guesses(21, 4, "near"), LoginAttempt(login="near", address="198.51.0.1"))
    site.work(START + SLOT_S + 11)
    ((name, rows),) = ((name, rows) for name, rows in site.checked("logins").items() if rows)
    assert name == f"{slot_name(START)}.http"
    assert len(rows) == 65
    assert site.fired("logins") == {"LOGIN_AFTER_GUESSES (shadow)": 1}
    assert not any(row["rules"] for row in rows)
    hasher = EventHasher(secret.load(site.state).eventlog)
    (row,) = (row for row in rows if row["client"] == hasher.text("203.0.113.9"))
    assert (row["event"], row["person"], row["service"], row["why"], row["key"]) == (
        "login", site.person("account ann"), "smtp", None, None,
    )  # fmt: skip
    assert row["network"] == hasher.text("203.0.113.0/24")
    assert len({row["id"] for row in rows}) == 65


def test_each_slot_has_a_table_and_nothing_stays_in_the_spool(site: LoginSite) -> None:
    site.work(START + 1)
    site.hear(*guesses(3, 1))
    site.work(START + 3 * SLOT_S + 11)
    assert {name: len(rows) for name, rows in site.checked("logins").items()} == {
        slot_name(START - SLOT_S): 0,
        f"{slot_name(START)}.http": 3,
        slot_name(START + SLOT_S): 0,
        slot_name(START + 2 * SLOT_S): 0,
    }
    assert [path for path in site.spool.rglob("*") if path.is_file()] == []


def test_a_slot_is_closed_once_whatever_the_clock_does_and_whoever_is_killed(
    site: LoginSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = LogFolder(site.state / "logs", "logins")
    now = START + 1.0
    with LogStore(site.state / state_files.EVENT_LOG_STORE) as store:
        slots = EmptySlots(logins.SCHEMA, folder, store, clock=lambda: now)
        assert not slots.step()
        now = START + 11.0
        with monkeypatch.context() as patched:
            patched.setattr(LogStore, "deliver", lambda *_: exec("raise KeyboardInterrupt"))
            with pytest.raises(KeyboardInterrupt):
                slots.step()
        assert store.sources("logins") == []
        assert slots.step()
        now = START + 3.0  # set back
        assert not slots.step()
        now = START + 12.0
        assert not slots.step()
        tables = store.sources("logins")
        assert [table.name for table in tables] == [slot_name(START - SLOT_S)]


def test_a_person_is_taken_out_of_logins_and_flows(site: LoginSite) -> None:
    with ExitStack() as closings:
        flows = FlowSite(site.state, closings)
        flows.take(read_file("a", START, sources=2), START + 70)  # joe's and nobody's
    site.work(START + 1)
    site.hear(*guesses(9, 2, "joe"), *guesses(5, 2))
    site.work(START + SLOT_S + 11)
    site.work(START + 2 * SLOT_S + 11)
    joe = site.person("account joe")
    for log in ("logins", "flows"):
        assert [path for path in site.files(log) if _has(path, joe)]
    assert site.fired("flows") == {"FLOWS_TO_MANY (shadow)": 2}
    hasher = EventHasher(secret.load(site.state).eventlog)
    with LogStore(site.state / state_files.EVENT_LOG_STORE) as store:
        for own in own_kinds():
            ErasureBook(store, own.schema.name).ask(
                sorted(persons_of(["Joe"], own, hasher)), site.now
            )
    site.work(START + 3 * SLOT_S + 11)
    for log, left in (("logins", 5), ("flows", 1)):
        assert not [path for path in site.files(log) if _has(path, joe)]
        assert sum(map(len, site.checked(log).values())) == left
    with LogStore(site.state / state_files.EVENT_LOG_STORE) as store:
        assert all(one.done is not None for one in ErasureBook(store, "logins").all())


def _has(path: Path, person: int | None) -> bool:
    table = pq.read_table(path, partitioning=None)
    return "person" in table.column_names and person in table.column("person").to_pylist()


def test_a_reader_gets_the_columns_that_are_declared_and_masks(site: LoginSite) -> None:
    site.work(START + 1)
    site.hear(*guesses(6, 2))
    site.work(START + SLOT_S + 11)
    (theirs,) = (pq.read_table(path) for path in site.reader.rglob("*.http.parquet"))
    assert theirs.column_names == [
        "id", "time", "event", "person", "key", "service", "client", "rules",
    ]  # fmt: skip
    (ours,) = (rows for rows in site.checked("logins").values() if rows)
    assert theirs.column("service").to_pylist() == ["imap"] * 6
    for column in ("person", "client"):
        assert not {row[column] for row in ours} & set(theirs.column(column).to_pylist())
    assert len(set(theirs.column("client").to_pylist())) == 6


def test_damaged_files_of_the_spool_cost_their_own_rows(site: LoginSite) -> None:
    site.work(START + 1)
    site.hear(*guesses(2, 1))
    spool = EventSpool(site.spool, 1 << 30)
    for octets in (b"", b"{", b"\xff\n", b'{"at": 1}\n', b"[" * 9999 + b"\n"):
        spool.put("logins", "", octets, 1, site.now)
    site.work(START + SLOT_S + 11)
    assert sum(map(len, site.checked("logins").values())) == 2
