"""The store of signatures: what is kept, who waits for whom, and what happens when the file is not
what it should be.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from pathlib import Path

import msgspec
import pytest

from oborona import sqlite_file, state_files
from oborona.errors import StoreBusy, StoreError, StoreVersion
from oborona.message.parse import parse
from oborona.policy.fact_table import SCHEMA
from oborona.policy.load import Policy, load_policy
from oborona.policy.load_cache import PublishedPolicy
from oborona.policy.signatures import (
    Signature,
    SignatureBook,
    SignatureFlag,
    SignatureKind,
    check_signature,
)
from oborona.stores.signatures import follower
from oborona.stores.signatures import store as store_of
from oborona.stores.signatures.follower import HITS, FollowedSignatures
from oborona.stores.signatures.hit_counts import DAY_S
from oborona.stores.signatures.rows import SignatureHits, SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.types import RuleMode

NOW = 1_795_000_000.0


def sign(value: str, **more: object) -> Signature:
    given = {
        "id": "s1",
        "flag": SignatureFlag.SPAM,
        "kind": SignatureKind.PHRASE,
        "value": value,
    } | more
    return check_signature(Signature(**given))  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / state_files.SIGNATURES


def test_what_was_added_is_there_whole_and_the_same_is_not_added_twice(path: Path) -> None:
    one = sign(
        "Cheap pills",
        owner="anna",
        reason="x",
        author="bob",
        created=NOW,
        expires=NOW + 1,
        score=30.0,
        inside=True,
    )
    with SignatureStore(path) as store:
        assert store.add(
            [one, sign("by post now"), sign("CHEAP, pills", inside=True)], now=NOW
        ) == [
            ("s1", True),
            ("s2", True),
            ("s1", False),
        ]
        assert store.get("s1").signature == one
        assert store.decide("s1", SignatureState.REMOVED, by="eve", now=NOW).decided_by == "eve"
        assert store.add([one], now=NOW) == [("s3", True)], "an id is never given again"
        assert [each.signature.id for each in store.all(SignatureState.ACTIVE)] == ["s2", "s3"]
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_was_declined_is_not_proposed_again(path: Path) -> None:
    with SignatureStore(path) as store:
        assert store.add(
            [sign("cheap pills")], now=NOW, state=SignatureState.PROPOSED, evidence=[{"support": 7}]
        ) == [("s1", True)]
        assert store.get("s1").evidence == {"support": 7}
        store.decide("s1", SignatureState.DECLINED, by="anna", now=NOW)
        assert store.add([sign("cheap pills")], now=NOW, state=SignatureState.PROPOSED) == [
            ("s1", False)
        ]
        assert store.add([sign("cheap pills")], now=NOW) == [("s2", True)], (
            "a person may think better of it"
        )


@pytest.mark.parametrize("name", ["s9", "9", "", "s", "s-1", "PILLS", "s\u0661", "s" + "9" * 30])
def test_an_id_that_is_none_is_told_so(path: Path, name: str) -> None:
    with SignatureStore(path) as store:
        before = store.version()
        for ask in (
            store.get,
            lambda one: store.decide(one, SignatureState.REMOVED, by="", now=NOW),
            lambda one: store.expire(one, 0, now=NOW),
        ):
            with pytest.raises(KeyError):
                ask(name)
        assert store.version() == before, "nothing changed"


def test_what_is_over_is_added_anew_and_is_not_read_by_who_begins(path: Path) -> None:
    with SignatureStore(path) as store:
        store.add([sign("cheap pills", expires=NOW + 5)], now=NOW)
        assert store.add([sign("cheap pills")], now=NOW + 4) == [("s1", False)]
        assert store.since(-1, NOW + 6).active == []
        assert store.in_force(NOW + 6) == 0
        assert store.add([sign("cheap pills")], now=NOW + 6, state=SignatureState.PROPOSED) == [
            ("s2", True)
        ]
        assert store.add([sign("cheap pills")], now=NOW + 6) == [("s3", True)]
        assert [one.id for one in store.since(-1, NOW + 6).active] == ["s3"]


def test_no_more_are_in_force_than_workers_hold_and_fewer_is_always_possible(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SignatureStore(path) as store:
        store.add(
            [sign("cheap pills"), sign("by post now"), sign("only today", expires=NOW + 5)], now=NOW
        )
        monkeypatch.setattr(store_of, "MAX_SIGNATURES", 2)
        with pytest.raises(StoreError, match="more than 2 signatures would be in force"):
            store.add([sign("another one")], now=NOW)
        assert store.version() == 1, "nothing of it was done"
        store.decide("s1", SignatureState.REMOVED, by="", now=NOW)
        store.add([sign("and another")], now=NOW, state=SignatureState.PROPOSED)
        with pytest.raises(StoreError, match="more than 2"):
            store.decide("s4", SignatureState.ACTIVE, by="", now=NOW)
        store.decide("s4", SignatureState.ACTIVE, by="", now=NOW + 6)
        assert store.in_force(NOW + 6) == 2


def test_changes_since_a_version(path: Path) -> None:
    with SignatureStore(path) as store, SignatureStore(path) as other:
        store.add([sign("cheap pills"), sign("by post now")], now=NOW)
        first = other.since(-1, NOW)
        assert (first.whole, [one.id for one in first.active], first.gone) == (
            True,
            ["s1", "s2"],
            [],
        )
        store.expire("s1", NOW + 9, now=NOW)
        store.decide("s2", SignatureState.REMOVED, by="", now=NOW)
        assert other.version() == first.version + 2
        later = other.since(first.version, NOW)
        assert ([one.id for one in later.active], later.gone, later.whole) == (
            ["s1"],
            ["s2"],
            False,
        )
        assert later.active[0].expires == NOW + 9


def test_hits_of_days(path: Path) -> None:
    midnight = NOW // DAY_S * DAY_S
    with SignatureStore(path) as store:
        store.add_hits({"s1": (3, midnight - 1), "PILLS": (1, midnight - 1)})
        store.add_hits({"s1": (2, midnight + 5)})
        store.add_hits({"s1": (4, midnight - 2)})  # of a worker that was late
        assert store.hits(midnight + 9) == {
            "s1": SignatureHits(total=9, today=2, last=midnight + 5),
            "PILLS": SignatureHits(total=1, today=0, last=midnight - 1),
        }


def test_a_file_that_is_not_ours_damaged_or_newer_is_refused_and_left_alone(path: Path) -> None:
    with pytest.raises(StoreError, match="there are no signatures yet"):
        SignatureStore(path, make=False)
    path.write_bytes(b"not SQLite at all, but long enough to be looked at" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged.*\.recover"):
        SignatureStore(path)
    assert path.read_bytes() == before
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()
    with pytest.raises(StoreError, match="not a store of signatures of Oborona"):
        SignatureStore(path)
    path.unlink()
    SignatureStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreVersion, match="written by a newer one"):
        SignatureStore(path)


def test_a_file_that_is_half_there_is_damaged_not_empty(path: Path) -> None:
    with SignatureStore(path) as store:
        store.add([sign(f"phrase number {number}") for number in range(2000)], now=NOW)
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(StoreError, match="damaged"), SignatureStore(path) as store:
        store.all(SignatureState.ACTIVE)


def test_who_finds_it_locked_waits_and_is_told_in_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_S", 0.05)
    with SignatureStore(path) as store, SignatureStore(path) as other:
        other._db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            store.add([sign("cheap pills")], now=NOW)
        assert store.version() == 0, "readers wait for nobody"
        other._db.execute("ROLLBACK")
        assert store.add([sign("cheap pills")], now=NOW) == [("s1", True)]


LETTER = parse(b"From: a@a.example\nSubject: x\n\ncheap pills by post\n")


def policy(folder: Path, *signatures: Signature) -> Policy:
    (folder / "a.toml").write_text("# no rules\n")
    return msgspec.structs.replace(
        load_policy(folder, SCHEMA), signatures={one.id: one for one in signatures}
    )


def found(followed: FollowedSignatures, by: Policy | None = None) -> list[str]:
    """Return what a letter has by a policy, the newest where none is given."""
    finder = followed._live if by is None else followed.under(by.signatures)
    return [one.id for one in finder.find(LETTER, NOW).signatures]


def test_a_worker_follows_files_and_store_and_a_store_that_is_replaced(path: Path) -> None:
    policies = [policy(path.parent), policy(path.parent, sign("by post", id="PILLS"))]
    with SignatureStore(path) as store:
        followed = FollowedSignatures(path)
        followed.begin(policies[0].signatures)
        assert found(followed) == []
        store.add([sign("cheap pills")], now=NOW)
        followed.look()
        assert found(followed) == ["s1"]
        followed.prepare(policies[1], policies[0])
        assert found(followed, policies[0]) == ["s1"], "the policy in use has its own"
        assert found(followed, policies[1]) == found(followed) == ["s1", "PILLS"]
        store.decide("s1", SignatureState.REMOVED, by="", now=NOW)
        followed.look()
        assert found(followed, policies[0]) == []
        assert found(followed, policies[1]) == found(followed) == ["PILLS"]
        store.add([sign("pills by")], now=NOW)
        followed.look()
        assert found(followed) == ["s2", "PILLS"]
    fresh = path.with_name("fresh.db")
    with SignatureStore(fresh) as store:
        store.add([sign("cheap pills")], now=NOW)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    fresh.replace(path)
    followed.look()
    assert found(followed) == ["s1", "PILLS"], "s2 was of the other store"
    followed.close()


def test_trouble_with_the_store_is_said_once_and_what_was_known_stays(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    followed = FollowedSignatures(path)
    followed.begin({})
    followed.look()
    assert [one.message for one in caplog.records] == ["signatures of the store stay as they were"]
    with SignatureStore(path) as store:
        store.add([sign("cheap pills")], now=NOW)
    followed.look()
    assert found(followed) == ["s1"]
    assert caplog.records[-1].message == "signatures of the store are read again"
    path.rename(path.with_suffix(".away"))
    followed.look()
    followed.look()
    assert found(followed) == ["s1"]
    assert [one.message for one in caplog.records[2:]] == [
        "signatures of the store stay as they were"
    ]
    followed.close()


def test_one_that_this_version_cannot_use_is_named_and_the_others_are_found(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SignatureStore(path) as store:
        store.add([sign("cheap pills"), sign("by post")], now=NOW)
        store._db.execute("UPDATE signature SET value = '?' WHERE id = 2")
    followed = FollowedSignatures(path)
    followed.begin({})
    assert found(followed) == ["s1"]
    (line,) = [one for one in caplog.records if one.message == "signature not used"]
    assert line.fields["signature"] == "s2"  # type: ignore[attr-defined]
    followed.close()


def test_one_of_a_kind_that_this_version_does_not_know_is_no_reason_to_do_without_the_others(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with SignatureStore(path) as store:
        store.add([sign("cheap pills"), sign("by post")], now=NOW)
        store._db.execute("UPDATE signature SET kind = 'smell' WHERE id = 2")
    followed = FollowedSignatures(path)
    followed.begin({})
    assert found(followed) == ["s1"]
    assert not followed.stale
    (line,) = [one for one in caplog.records if one.message == "signature not used"]
    assert line.fields["signature"] == "s2"  # type: ignore[attr-defined]
    followed.close()


def test_what_came_in_small_pieces_is_joined_when_nothing_changes_any_more(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("oborona.stores.signatures.follower.time.monotonic", lambda: now)
    with SignatureStore(path) as store:
        followed = FollowedSignatures(path)
        followed.begin({})
        for first in range(0, 6_000, 1_000):
            store.add(
                [sign(f"cheap pills number {first + place}") for place in range(1_000)], now=NOW
            )
            followed.look()
    assert len(followed._live.book.segments) == 6
    now += follower.SETTLED_S - 1
    followed.look()
    assert len(followed._live.book.segments) == 6
    now += 2
    followed.look()
    assert len(followed._live.book.segments) == 1
    assert followed.number == 6_000
    followed.close()


def test_a_worker_tells_how_many_it_holds_and_found(path: Path) -> None:
    with SignatureStore(path) as store:
        store.add([sign("cheap pills by"), sign("by post", mode=RuleMode.SHADOW)], now=NOW)
    files = {"OLD": sign("pills by post", id="OLD", expires=1.0), "BROKEN": Signature(id="BROKEN", flag=SignatureFlag.SPAM, kind=SignatureKind.PATTERN, value="(")}  # fmt: skip
    followed = FollowedSignatures(path)
    followed.begin(files)
    assert followed.numbers == {"live": 1, "shadow": 1, "expired": 1, "broken": 1}
    followed.count(followed._live.find(LETTER, NOW).signatures, NOW)
    assert HITS.values == {("spam", "live"): 1, ("spam", "shadow"): 1}
    followed.close()


async def test_hits_are_written_while_it_runs_and_at_its_end_and_wait_while_they_cannot_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "FLUSH_S", 0.02)
    monkeypatch.setattr(sqlite_file, "BUSY_S", 0.01)
    with SignatureStore(path) as store:
        store.add([sign("cheap pills")], now=NOW)
        followed = FollowedSignatures(path)
        followed.begin({})
        watching = asyncio.create_task(followed.watch())
        store._db.execute("BEGIN IMMEDIATE")
        followed.count(followed._live.find(LETTER, NOW).signatures, NOW)
        await asyncio.sleep(0.2)
        followed.count(followed._live.find(LETTER, NOW).signatures, NOW + 1)
        store._db.execute("ROLLBACK")
        async with asyncio.timeout(10):
            while store.hits(NOW).get("s1") != SignatureHits(total=2, today=2, last=NOW + 1):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        watching.cancel()
        followed.count(followed._live.find(LETTER, NOW).signatures, NOW + 2)
        followed.close()
        assert store.hits(NOW)["s1"].total == 3


def test_a_hundred_thousand_are_followed_without_a_loop_being_held(path: Path) -> None:
    """While the pieces are made another thread runs: the longest that it waits is bounded,
    generously, for the machine is shared.
    """
    with SignatureStore(path) as store:
        followed = FollowedSignatures(path)
        followed.begin({})
        one = sign("cheap pills")
        store.add(
            [
                msgspec.structs.replace(one, value=f"{one.value} number {number}")
                for number in range(100_000)
            ],
            now=NOW,
        )
        longest, done = 0.0, threading.Event()

        def tick() -> None:
            nonlocal longest
            while not done.is_set():
                began = time.perf_counter()
                time.sleep(0.001)
                longest = max(longest, time.perf_counter() - began)

        ticking = threading.Thread(target=tick)
        ticking.start()
        followed.look()
        done.set()
        ticking.join()
    assert followed.number == 100_000
    assert longest < 0.5, "one automaton of all of them would hold it for a second"
    followed.close()


def test_the_book_that_was_made_before_the_fork_serves_while_the_store_has_nothing(
    path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "policy.d"
    folder.mkdir()
    (folder / "some.toml").write_text(
        '[[signature]]\nname = "PILLS"\nflag = "spam"\nvalue = "cheap pills"\n'
        'owner = "anna"\nreason = "pharma"\nexpires = "2099-12-31"\n'
    )
    policy = load_policy(folder, SCHEMA)
    files = policy.signatures
    published = PublishedPolicy(1, policy, SignatureBook.of(files.values()))
    without = FollowedSignatures(path)
    without.begin(files, published)
    assert without.under(files) is published.book
    with SignatureStore(path) as store:
        store.add([sign("by post")], now=NOW)
        beside = FollowedSignatures(path)
        beside.begin(files, published)
        assert beside.under(files) is not published.book
        assert len(beside.under(files)) == 2, "one segment of both, which is fastest to search"
        assert len(beside.under(files).segments) == 1
        without.look()
        assert len(without.under(files)) == 2
    of_another = FollowedSignatures(path)
    of_another.begin(dict(files), published)
    assert of_another.number == 2
    for followed in (without, beside, of_another):
        followed.close()
