"""Who is blamed for the death of a worker, what workers learn of it, and what is kept."""

import os
import signal
from pathlib import Path

import msgspec
import pytest

from oborona import state_files
from oborona.daemon.suspects import PRUNE_S, DeathSuspects
from oborona.doors.raw_message import RawMessage
from oborona.errors import StoreError
from oborona.session.quarantine import suspect_store
from oborona.session.quarantine.in_flight import IDENTITY_BYTES, InFlightTable
from oborona.session.quarantine.scan_tracker import ScanTracker
from oborona.session.quarantine.shared_list import QuarantineList
from oborona.session.quarantine.suspect_store import AGE_S, DEATHS, MOST, Suspect
from oborona.types import Client, Envelope

NOW = 1_800_000_000.0
ONE, OTHER = b"1" * IDENTITY_BYTES, b"2" * IDENTITY_BYTES
ENVELOPE = Envelope(
    client=Client(ip="192.0.2.7"),
    sender="ann@a.example",
    recipients=("bob@b.example",),
    queue_id="4Xyz",
)


class Site:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.now = NOW
        self.notes = InFlightTable()
        self.begin()

    def begin(self) -> None:
        self.suspects = DeathSuspects(self.state, {"worker-0": self.notes}, lambda: self.now)

    def dies(
        self,
        number: int = signal.SIGSEGV,
        *,
        in_flight: tuple[bytes, ...] = (ONE,),
        running: bytes = b"",
    ) -> None:
        """A worker dies of a signal with these messages in flight, in a step of one of them, or of
        none.
        """
        notes = self.notes
        slots = {identity: notes.take(identity, ENVELOPE) for identity in in_flight}
        notes._running[0] = slots.get(running, 0)
        self.now += 1
        self.suspects.died("worker-0", number)
        for slot in slots.values():
            notes._free.append(slot)  # the next worker is forked with all slots free

    @property
    def apart(self) -> set[bytes]:
        return {one for one in (ONE, OTHER) if one in self.suspects.board}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_two_deaths_set_a_message_apart_and_one_does_not(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.dies(in_flight=(ONE, OTHER), running=ONE)
    assert site.apart == set()
    site.dies(in_flight=(ONE, OTHER), running=ONE)
    assert site.apart == {ONE}
    (known,) = suspect_store.read_suspects(site.state, site.now)
    assert known == Suspect(
        identity=ONE.hex(),
        deaths=2,
        first=NOW + 1,
        last=NOW + 2,
        how="was killed by SIGSEGV",
        queue_id="4Xyz",
        client="192.0.2.7",
        sender="ann@a.example",
    )
    assert [record.fields["beside"] for record in caplog.records] == [1, 1]  # type: ignore[attr-defined]
    assert DEATHS == 2


def test_who_was_beside_it_is_never_blamed(site: Site) -> None:
    """Thirty-one are in flight beside it, at each of its deaths and at many others."""
    beside = tuple(bytes([40 + n]) * IDENTITY_BYTES for n in range(31))
    for number in range(20):
        site.dies(
            in_flight=(*beside, bytes([100 + number]) * IDENTITY_BYTES),
            running=bytes([100 + number]) * IDENTITY_BYTES,
        )
    assert not any(one in site.suspects.board for one in beside)
    assert all(one.deaths == 1 for one in suspect_store.read_suspects(site.state, site.now))


def test_one_that_was_alone_is_blamed_for_a_fault_in_no_step(site: Site) -> None:
    for _ in range(DEATHS):
        site.dies(signal.SIGBUS)
    assert site.apart == {ONE}


@pytest.mark.parametrize(
    ("status", "in_flight"),
    [
        (signal.SIGSEGV, (ONE, OTHER)),  # nobody knows which
        (signal.SIGSEGV, ()),
        (signal.SIGTERM, (ONE,)),  # it was told to
        (signal.SIGHUP, (ONE,)),
        (0, (ONE,)),
        (70 << 8, (ONE,)),  # by itself, in no step
    ],
)
def test_nobody_is_blamed_for_what_nobody_did(
    site: Site, status: int, in_flight: tuple[bytes, ...]
) -> None:
    for _ in range(3):
        site.dies(status, in_flight=in_flight)
    assert suspect_store.read_suspects(site.state, site.now) == []
    assert site.notes.all() == []


def test_nobody_is_blamed_for_a_worker_that_stood_still(site: Site) -> None:
    for _ in range(3):
        site.notes._running[0] = site.notes.take(ONE, ENVELOPE)
        site.suspects.died("worker-0", signal.SIGABRT, stood_still=True)
    assert suspect_store.read_suspects(site.state, site.now) == []


def test_other_processes_blame_nobody(site: Site) -> None:
    site.notes.take(ONE, ENVELOPE)
    site.suspects.died("keeper", signal.SIGSEGV)
    assert suspect_store.read_suspects(site.state, site.now) == []
    assert len(site.notes.all()) == 1


def test_what_is_known_outlives_the_service(site: Site) -> None:
    site.dies(running=ONE)
    site.begin()
    site.dies(running=ONE)
    site.begin()
    assert site.apart == {ONE}


def test_what_an_admin_takes_away_is_judged_again(site: Site) -> None:
    for _ in range(DEATHS):
        site.dies(running=ONE)
    assert suspect_store.remove_suspect(site.state, ONE.hex())
    assert not suspect_store.remove_suspect(site.state, ONE.hex())
    site.suspects.look()
    assert site.apart == set()


def test_another_version_of_oborona_tries_again(site: Site) -> None:
    for _ in range(DEATHS):
        site.dies(running=ONE)
    (known,) = suspect_store.read_suspects(site.state, site.now)
    suspect_store.write_suspect(site.state, msgspec.structs.replace(known, version="0.0.1"))
    site.begin()
    assert site.apart == set()
    site.dies(running=ONE)
    assert site.apart == set()
    assert suspect_store.read_suspects(site.state, site.now)[0].deaths == 1


def test_what_is_old_is_forgotten(site: Site) -> None:
    for _ in range(DEATHS):
        site.dies(running=ONE)
    site.now += AGE_S
    site.dies(in_flight=(OTHER,), running=OTHER)
    site.begin()
    assert [one.identity for one in suspect_store.read_suspects(site.state, site.now)] == [
        OTHER.hex()
    ]
    assert site.apart == set()


def test_what_is_old_goes_from_the_disk_though_nobody_dies(site: Site) -> None:
    for _ in range(DEATHS):
        site.dies(running=ONE)
    suspect_store.keep_message(site.state, ONE.hex(), b"mail")
    folder = site.state / state_files.SET_APART
    site.now += AGE_S - PRUNE_S
    site.suspects.look()
    assert len(list(folder.iterdir())) == 2
    site.now += 2 * PRUNE_S
    for file in folder.iterdir():
        os.utime(file, (NOW, NOW))
    site.suspects.look()
    assert not list(folder.iterdir())
    assert not site.apart


@pytest.mark.parametrize("octets", [b"", b"{", b"[1]", b'{"identity": "zz"}', b"\xff" * 10_000])
def test_a_broken_file_is_left_out(site: Site, octets: bytes) -> None:
    for _ in range(DEATHS):
        site.dies(running=ONE)
    (site.state / state_files.SET_APART / "0123.json").write_bytes(octets)
    site.begin()
    assert site.apart == {ONE}


def test_without_a_disk_it_is_known_in_memory(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    (site.state / state_files.SET_APART).write_text("no folder")
    for _ in range(DEATHS):
        site.dies(running=ONE)
    assert site.apart == {ONE}
    assert "known until the service stops" in caplog.text


def test_the_folder_is_bounded_and_closed(tmp_path: Path) -> None:
    for number in range(MOST + 20):
        identity = number.to_bytes(IDENTITY_BYTES, "big").hex()
        suspect_store.write_suspect(
            tmp_path,
            Suspect(identity=identity, deaths=2, first=NOW, last=NOW + number, how="was killed"),
        )
        suspect_store.keep_message(tmp_path, identity, b"x" * 1000)
    suspect_store.prune_suspects(tmp_path, NOW)
    known = suspect_store.read_suspects(tmp_path, NOW)
    assert len(known) == MOST
    assert known[-1].last == NOW + MOST + 19
    assert len(list((tmp_path / state_files.SET_APART).iterdir())) == 2 * MOST
    assert {
        file.stat().st_mode & 0o777 for file in (tmp_path / state_files.SET_APART).iterdir()
    } == {0o600}
    assert (tmp_path / state_files.SET_APART).stat().st_mode & 0o777 == 0o700


def test_large_messages_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspect_store, "MOST_BYTES", 10_000)
    for number in range(10):
        identity = number.to_bytes(IDENTITY_BYTES, "big").hex()
        suspect_store.write_suspect(
            tmp_path, Suspect(identity=identity, deaths=2, first=NOW, last=NOW + number, how="")
        )
        suspect_store.keep_message(tmp_path, identity, b"x" * 3000)
    suspect_store.prune_suspects(tmp_path, NOW)
    assert (
        sum(file.stat().st_size for file in (tmp_path / state_files.SET_APART).iterdir()) <= 10_000
    )
    assert suspect_store.read_suspects(tmp_path, NOW)[-1].last == NOW + 9


def test_a_board_that_is_full_takes_the_first() -> None:
    board = QuarantineList()
    every = [number.to_bytes(IDENTITY_BYTES, "big") for number in range(1, MOST + 10)]
    board.write(every)
    assert all(one in board for one in every[:MOST])
    assert every[MOST] not in board
    board.write([])
    assert not any(one in board for one in every)


def test_a_worker_that_lives_learns_at_once(tmp_path: Path) -> None:
    site = Site(tmp_path)
    flights = ScanTracker(tmp_path, InFlightTable(), site.suspects.board)
    message = RawMessage(raw=b"From: a@b.example\r\n\r\nx", headers=(), size=22)
    flight = flights.begin(message, ENVELOPE)
    assert not flight.apart
    for _ in range(DEATHS):
        site.dies(in_flight=(flight.identity,), running=flight.identity)
    assert flights.begin(message, ENVELOPE).apart
    if (pid := os.fork()) == 0:
        os._exit(int(not flights.begin(message, ENVELOPE).apart))
    assert os.waitpid(pid, 0)[1] == 0


def test_a_folder_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / state_files.SET_APART).write_text("no folder")
    with pytest.raises(StoreError):
        suspect_store.keep_message(tmp_path, ONE.hex(), b"x")
