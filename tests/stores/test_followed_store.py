"""The followed stores: files of an older Oborona, and what a follower does when the store can't be
read for a moment.
"""

from __future__ import annotations

import gzip
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from oborona import state_files
from oborona.errors import StoreBusy, StoreError
from oborona.policy.signatures.model import Signature
from oborona.policy.signatures.model import SignatureFlag as Mark
from oborona.policy.signatures.model import SignatureKind as What
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.personal import EntryAction, PersonalEntryKind, entry
from oborona.reputation.pins import Pin
from oborona.sqlite_file import SqliteFileDamaged
from oborona.stores.followed_store import READ_WHOLE, FollowedStore, StoreFollower
from oborona.stores.persons.follower import FollowedPersons
from oborona.stores.persons.store import PersonStore as Persons
from oborona.stores.persons.store import PersonStoreCounts
from oborona.stores.pins.follower import PINS, FollowedPins
from oborona.stores.pins.store import PinStore as Pins
from oborona.stores.signatures.follower import FollowedSignatures
from oborona.stores.signatures.rows import SignatureState, SignatureStoreChanges
from oborona.stores.signatures.store import SignatureStore as Signatures
from oborona.types import Shingle

NOW = 1_795_170_000.0
# written by the Oborona that had three stores of its own
BEFORE = Path(__file__).with_name("stores_before")
BAD, CLEARED = Shingle(15, 2**64 - 1), Shingle(15, 2)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    for packed in BEFORE.glob("*.gz"):
        (tmp_path / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return tmp_path


def pin(number: int, flag: ReputationFlag = ReputationFlag.BAD) -> Pin:
    return Pin(
        type=15, hash=number, name=f"n{number}", flag=flag, reason="spams", by="ann", since=NOW
    )


def test_pins_of_an_older_oborona_are_read_followed_and_added_to(state: Path) -> None:
    followed = FollowedPins(state / state_files.PINS)
    followed.look()
    assert PINS.value("bad") == 1
    with Pins(state / state_files.PINS, make=False) as store:
        assert store.version() == 3
        assert [one.shingle for one in store.all(NOW)] == [BAD]
        assert [one.what for one in store.changes()] == ["note", "clear", "pin", "pin"]
        assert [note.text for note in store.notes(CLEARED)] == ["was ours"]
        store.put([pin(7)])
        assert store.version() == 4
    followed.look()
    assert PINS.value("bad") == 2
    followed.close()


def test_signatures_of_an_older_oborona_are_read_followed_and_added_to(state: Path) -> None:
    followed = FollowedSignatures(state / state_files.SIGNATURES)
    followed.begin({})
    assert followed.number == 1
    with Signatures(state / state_files.SIGNATURES, make=False) as store:
        assert store.version() == 2
        assert [one.signature.id for one in store.all(SignatureState.REMOVED)] == ["s2"]
        assert store.hits(NOW)["s1"].total == 3
        store.decide("s2", SignatureState.ACTIVE, by="ann", now=NOW)
    followed.look()
    assert followed.number == 2
    followed.close()


async def test_persons_of_an_older_oborona_are_read_followed_and_added_to(state: Path) -> None:
    followed = FollowedPersons(state / state_files.PERSONS)
    await followed.look()
    assert (await followed.of("joe@b.example")).strictness == 0.5
    with Persons(state / state_files.PERSONS, make=False) as store:
        assert (store.version(), store.counted()) == (
            3,
            PersonStoreCounts(persons=2, entries=2, contacts=1),
        )
        (contact,) = store.of("kim@b.example").entries
        assert (contact.value, contact.side) == ("bob@a.example", EntryAction.CONTACT)
        store.put(
            "ann@b.example",
            [entry(EntryAction.DENY, PersonalEntryKind.ADDRESS, "eve@e.example", time=NOW)],
            now=NOW,
        )
        assert store.version() == 4
    await followed.look()
    assert followed.known == 3
    await followed.close()


def sign(value: str) -> Signature:
    return Signature(
        id="", flag=Mark.SPAM, kind=What.PHRASE, value=value, created=NOW, author="ann"
    )


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[StoreFollower[Signatures, SignatureStoreChanges]]:
    made: StoreFollower[Signatures, SignatureStoreChanges] = StoreFollower(
        tmp_path / state_files.SIGNATURES,
        Signatures,
        Signatures.since,
        log=logging.getLogger("oborona.signatures"),
        failing="it fails",
        well="it is well",
    )
    yield made
    made.close()


def taken(changes: SignatureStoreChanges | None) -> tuple[int, bool] | None:
    return None if changes is None else (len(changes.active), changes.whole)


@pytest.mark.parametrize(
    ("error", "forgets", "expected"),
    [
        (StoreBusy("it is held"), False, (1, False)),
        (StoreBusy("it is held"), True, (3, True)),
        (SqliteFileDamaged("it is damaged"), False, (3, True)),
    ],
)
def test_after_trouble_a_follower_goes_on_or_reads_all(
    tmp_path: Path,
    follower: StoreFollower[Signatures, SignatureStoreChanges],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: StoreError,
    forgets: bool,
    expected: tuple[int, bool],
) -> None:
    def fail(_: FollowedStore) -> int:
        raise error

    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(Signatures, "forgets", forgets)
    with Signatures(tmp_path / state_files.SIGNATURES) as store:
        store.add([sign("cheap pills"), sign("by post")], now=NOW)
        assert taken(follower.changes()) == (2, True)
        assert follower.changes() is None
        with monkeypatch.context() as patched:
            patched.setattr(FollowedStore, "_number", fail)
            assert follower.changes() is follower.changes() is None
            assert follower.stale
        store.add([sign("for free")], now=NOW)
        assert taken(follower.changes()) == expected
        assert not follower.stale
    assert [record.message for record in caplog.records] == ["it fails", "it is well"]


def test_nothing_is_written_while_the_store_is_not_open(
    tmp_path: Path, follower: StoreFollower[Signatures, SignatureStoreChanges]
) -> None:
    def write(store: Signatures) -> None:
        store.add([sign("cheap pills")], now=NOW)

    assert not follower.write(write)
    Signatures(tmp_path / state_files.SIGNATURES).close()
    assert taken(follower.changes()) == (0, True)
    assert follower.write(write)
    assert taken(follower.changes()) == (1, False)


def test_what_is_read_since_a_version_is_of_one_moment(tmp_path: Path) -> None:
    with Pins(tmp_path / state_files.PINS) as store, Pins(tmp_path / state_files.PINS) as other:
        store.put([pin(number) for number in range(1_200)])
        sql = "SELECT hash FROM pin WHERE ? >= 0"
        with store.rows_since(READ_WHOLE, changed="", whole=sql, now=time.time()) as (
            version,
            rows,
        ):
            first = next(rows)
            other.put([pin(5_000)])
            assert len([first, *rows]) == 1_200
        assert (version, store.version()) == (1, 2)


def test_a_change_that_fails_is_none(tmp_path: Path) -> None:
    with Pins(tmp_path / state_files.PINS) as store:
        with pytest.raises(StoreError, match="of whoever changes"), store.changing():
            raise sqlite3.OperationalError("of whoever changes")
        assert store.version() == 0
