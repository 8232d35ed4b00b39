"""A file of flows is counted once, wherever its process dies."""

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from oborona.accounts.flows import spool_records
from oborona.accounts.flows.addresses import AddressTable
from oborona.accounts.flows.flow_taker import FlowTaker, ReadFile
from oborona.accounts.flows.records import from_rows
from oborona.accounts.flows.store import ExporterWindow, FileState, FlowStore
from oborona.accounts.flows.windows import SYN, windows
from oborona.counters.store import LmdbCounters
from oborona.counters.whole_spool import WholeSpool
from oborona.counters.writer import LmdbCounterWriter
from oborona.message.hashing import Hasher, ShingleType
from oborona.types import CounterPrefix, Metric, Shingle, Window

NOW = 1_700_000_100.0
START = 1_700_000_040
KEY = b"k" * 32


class DeathError(Exception):
    """Where a process dies."""


def read_file(name: str, streams: int, sources: int = 1) -> ReadFile:
    """Return a file of as many streams of 192.0.2.1, and of each of its neighbours."""
    table = AddressTable()
    ms = START * 1000
    rows = [
        (
            table.id_of(f"192.0.2.{1 + source}"), table.id_of(f"198.51.100.{n % 200}"), n, 3, 700,
            ms, ms + 5, ms + 9, SYN, 0,
        )
        for source in range(sources)
        for n in range(streams)
    ]  # fmt: skip
    return ReadFile(
        name=name,
        size=1,
        start=START,
        windows=windows(from_rows(rows), START, 60, sampled=[False], timeless=[False]),
        table=table,
        exporters=[
            ExporterWindow(
                start=START, exporter="203.0.113.1", records=streams, flows=streams, datagrams=1,
                failures=0, times_wrong=0, lag_s=1.0, shared=0.0, sampling=1,
            )
        ],
        records=streams,
    )  # fmt: skip


class Site:
    """A state folder: flows are taken into its counters."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counters = folder / "counters"
        self.counters.mkdir()

    def take(self, read: ReadFile, dies: Callable[[], None] = lambda: None) -> None:
        """Do what a process does from its start on: recover, and take a file that is not taken."""
        with FlowStore(self.folder / "flows.db") as store:
            spool = WholeSpool(self.folder / "staged", self.counters / "spool", "flows")
            taker = FlowTaker(store, spool, Hasher(KEY), kept_from=10)
            taker.recover(NOW)
            if any(file.name == read.name for file in store.files()):
                return
            taker.take(read, NOW, dies)

    def counted(self, address: str = "192.0.2.1") -> dict[CounterPrefix, int]:
        """Return what the counters have of a source."""
        (source,) = Hasher(KEY).each(ShingleType.CLIENT_IP, [address.encode()])
        return self._seen(source)

    def destinations(self, address: str = "192.0.2.1") -> int:
        """Return to how many addresses a source sent within the day."""
        kinds = ShingleType.FLOW_DESTINATION, ShingleType.FLOW_DESTINATIONS
        (pair,) = Hasher(KEY).pairs(*kinds, [address.encode()], [b"any"])
        return self._seen(pair.distinct)[CounterPrefix.FLOW_STREAMS]

    def _seen(self, shingle: Shingle) -> dict[CounterPrefix, int]:
        with closing(LmdbCounterWriter(self.counters)) as writer:
            while writer.step(NOW):
                pass
            counters = LmdbCounters(self.counters, "worker-0", environment=writer.environment)
            with closing(counters):
                return {
                    prefix: seen(counters, shingle, prefix)
                    for prefix in CounterPrefix
                    if prefix.value.startswith("flow-")
                }

    def states(self) -> list[FileState]:
        with FlowStore(self.folder / "flows.db") as store:
            return [file.state for file in store.files()]


def seen(counters: LmdbCounters, shingle: Shingle, prefix: CounterPrefix) -> int:
    ((*windows_of,),) = asyncio.run(counters.read([shingle], NOW, prefix))
    return windows_of[Window.DAY][Metric.SEEN]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def of_streams(number: int) -> dict[CounterPrefix, int]:
    return {
        CounterPrefix.FLOW_PACKETS: 3 * number,
        CounterPrefix.FLOW_OCTETS: 700 * number,
        CounterPrefix.FLOW_STREAMS: number,
    }


def test_a_file_is_counted(site: Site) -> None:
    site.take(read_file("a", 300))
    assert site.states() == [FileState.TAKEN]
    assert site.counted() == of_streams(300)
    with FlowStore(site.folder / "flows.db") as store:
        (window,) = store.windows(START)
        assert (window.address, window.streams, window.destinations) == ("192.0.2.1", 300, 200)
        assert window.octets == 210_000
        (exporter,) = store.exporters(START)
        assert exporter.records == 300


@pytest.mark.parametrize("between", [True, False])
def test_a_destination_counts_once_a_day_in_however_many_files(site: Site, between: bool) -> None:
    site.take(read_file("a", 300))
    if between:  # else both files are counted at once
        assert site.destinations() == 200
    site.take(read_file("b", 150))
    assert site.destinations() == 200


@pytest.mark.parametrize("at_once", [1, 7, 206, 207, 1000])
@pytest.mark.parametrize("counted_first", [True, False])
def test_however_few_sources_are_made_ready_at_once_all_are_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch, at_once: int, counted_first: bool
) -> None:
    monkeypatch.setattr(spool_records, "AT_ONCE", at_once)
    monkeypatch.setattr(spool_records, "KNOWN", at_once)
    for name in ("a", "b"):
        site.take(read_file(name, 300, sources=5))
        if counted_first:
            site.counted()
    for last in range(1, 6):
        assert site.counted(f"192.0.2.{last}") == of_streams(600)
        assert site.destinations(f"192.0.2.{last}") == 200


def test_of_one_source_a_thousand_destinations_a_window_are_paired(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_records, "MOST_DESTINATIONS", 150)
    site.take(read_file("a", 300))
    assert site.destinations() == 150
    assert site.counted() == of_streams(300)


@pytest.mark.parametrize("place", range(6))
def test_a_death_anywhere_neither_loses_nor_repeats(
    site: Site, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dies at each step in turn: before the stage, behind it, before and behind the note, before
    and behind the release.
    """
    steps = [
        (WholeSpool, "stage"),
        (FlowStore, "take"),
        (WholeSpool, "release"),
    ]
    owner, name = steps[place // 2]
    real = getattr(owner, name)

    def dying(*args: object, **options: object) -> object:
        if place % 2 == 0:
            raise DeathError
        real(*args, **options)
        raise DeathError

    with monkeypatch.context() as patched, suppress(DeathError):
        patched.setattr(owner, name, dying)
        site.take(read_file("a", 250))
        pytest.fail("it did not die")
    site.take(read_file("a", 250))
    site.take(read_file("a", 250))
    assert site.states() == [FileState.TAKEN]
    assert site.counted() == of_streams(250)
    assert not list((site.folder / "staged").iterdir())


def test_two_files_add_up(site: Site) -> None:
    site.take(read_file("a", 120))
    site.take(read_file("b", 130))
    assert site.counted() == of_streams(250)


def test_a_source_below_the_floor_is_counted_and_not_kept(site: Site) -> None:
    site.take(read_file("a", 9))
    with FlowStore(site.folder / "flows.db") as store:
        assert store.windows(START) == []
    assert site.counted()[CounterPrefix.FLOW_OCTETS] == 6300


def test_what_nobody_asks_for_is_purged(site: Site) -> None:
    site.take(read_file("a", 20))
    with FlowStore(site.folder / "flows.db") as store:
        store.purge(NOW + 3 * 86_400)
        assert store.windows(0) == []
        assert store.exporters(0) == []
        assert [file.name for file in store.files()] == ["a"]
        store.purge(NOW + 31 * 86_400)
        assert store.files() == []
