"""The load of the bench is what it says: new keys are new, known ones follow Zipf, records are as
the store itself makes them.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice
from pathlib import Path

import lmdb
import msgspec
import numpy as np
import pytest

from oborona.counter_load.fill import fill, records, rounds
from oborona.counter_load.job import READY, BenchJob
from oborona.counter_load.processes import BenchProcess
from oborona.counter_load.run import BenchLoad
from oborona.counter_load.subject import LmdbSubject
from oborona.counter_load.workload import (
    KNOWN,
    NEW,
    SHINGLES,
    ZIPF_S,
    Workload,
    hashes,
    types,
    zipf_sum,
)
from oborona.counters import decode, record
from oborona.counters.record import KEY, PREFIXES, key_of
from oborona.counters.window import bucket_of
from oborona.counters.writer import LmdbCounterWriter
from oborona.errors import StoreError
from oborona.types import CountedPieces, CounterPrefix, Metric, Shingle, Window

from .conftest import NOON

KEYS = 20_000


def messages(
    count: int, *, worker: int = 0, workers: int = 1, pairs: int = 0
) -> list[CountedPieces]:
    made = Workload(keys=KEYS, worker=worker, workers=workers, pairs=pairs)
    return list(islice(made.messages(), count))


def stored_shingles() -> list[Shingle]:
    """By rank: the first is the most frequent."""
    numbers = np.arange(1, KEYS + 1, dtype=np.uint64)
    return [
        Shingle(*one) for one in zip(types(numbers).tolist(), hashes(numbers).tolist(), strict=True)
    ]


def test_a_message_has_forty_distinct_shingles_of_which_24_were_never_seen() -> None:
    known = set(stored_shingles())
    seen: set[Shingle] = set()
    for worker in range(2):
        for pieces in messages(1000, worker=worker, workers=2):
            assert len(set(pieces.shingles)) == SHINGLES
            new = set(pieces.shingles) - known
            assert len(new) == NEW
            assert not new & seen
            seen |= new


def test_a_load_that_cannot_be_is_refused() -> None:
    assert len(next(Workload(keys=KNOWN).messages()).shingles) == SHINGLES
    with pytest.raises(ValueError, match="15 keys"):
        Workload(keys=KNOWN - 1)
    for wrong in (
        {"keys": KNOWN - 1},
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"seconds": 0.0},
        {"rate": -1},
        {"rate": 10**400},
        {"workers": 0},
        {"pairs": -1},
    ):
        with pytest.raises(ValueError, match=r"keys|seconds|adds|workers"):
            BenchLoad(**wrong)


def test_a_process_that_is_never_ready_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """One that has started and whose start is not told says nothing more."""
    subject = LmdbSubject(directory=str(tmp_path / "counters"))
    job = BenchJob(
        subject=f"{LmdbSubject.__module__}:{LmdbSubject.__qualname__}",
        settings=msgspec.Raw(msgspec.json.encode(subject)),
        folder=str(tmp_path),
        keys=KEYS,
        workers=1,
        rate=0.0,
        seconds=1.0,
        pairs=0,
        at_once=1,
        ahead=0,
        number=None,
    )
    with BenchProcess(job) as child:
        child.expect(READY, 60.0)
        with pytest.raises(StoreError, match="the writer of the bench has said nothing for 0 s"):
            child.expect(READY, 0.1)


def test_known_keys_come_by_zipf() -> None:
    counted = Counter(shingle for pieces in messages(5000) for shingle in pieces.shingles)
    ranked = stored_shingles()
    draws = 5000 * KNOWN
    # distinct within a message: the first ranks come less often than Zipf alone has it, the others
    # in proportion
    for low, high in ((100, 200), (1000, 2000), (10_000, 20_000)):
        seen = sum(counted[shingle] for shingle in ranked[low:high])
        share = (zipf_sum(high) - zipf_sum(low)) / zipf_sum(KEYS)
        assert 0.95 < seen / draws / share < 1.35
    assert counted[ranked[0]] > 0.85 * 5000


@pytest.mark.parametrize("keys", [1000, 10_000, 123_456])
def test_the_sum_of_zipf_shares_is_exact(keys: int) -> None:
    assert zipf_sum(keys) == pytest.approx(
        float(np.sum(np.arange(1, keys + 1) ** -ZIPF_S)), rel=1e-9
    )


def test_pairs_agree_in_the_bits_of_their_hash_tag() -> None:
    pairs = [pair for pieces in messages(500, pairs=3) for pair in pieces.pairs]
    assert len(pairs) == 1500
    assert all(pair.both.hash >> 52 == pair.distinct.hash >> 52 for pair in pairs)
    by_both = {pair.both: pair.distinct for pair in pairs}
    assert len(by_both) < len(set(pairs)) + 1
    assert all(by_both[pair.both] == pair.distinct for pair in pairs)
    assert 1 < len({pair.distinct for pair in pairs}) < len(by_both)


def test_records_of_the_fill_are_tidy_and_count_what_the_history_says() -> None:
    reference = bucket_of(NOON)
    shingles = {key_of(shingle, CounterPrefix.IN): shingle for shingle in stored_shingles()}
    once = total = 0
    for sample in rounds(KEYS):
        assert sample.keys == sorted(sample.keys)
        made = records(sample, NOON)
        wanted = np.bincount(sample.places, sample.counts, len(sample.keys)).astype(int).tolist()
        for key, stored, seen in zip(sample.keys, made, wanted, strict=True):
            del shingles[key]
            assert record.problem(key, stored) == ""
            assert record.tidy(stored, reference) == stored
            once += seen == 1
            total += seen
        totals = decode.totals(made, NOON)
        assert [one[Window.FORTNIGHT][Metric.SEEN] for one in totals] == wanted
    assert shingles == {}
    assert 0.5 * KEYS < once < KEYS
    # all that KEYS / 24 messages bring
    assert total == pytest.approx(KEYS * SHINGLES / NEW, rel=0.02)


def test_pages_of_a_filled_store_are_as_full_as_they_stay(tmp_path: Path) -> None:
    """A tenth more keys, in batches as a writer's, leaves the bytes of a key as they are.

    After one pass they grow by half.
    """
    keys = 100_000
    writer = LmdbCounterWriter(tmp_path)
    fill(writer.environment, keys, NOON, lambda _share: None)
    before = bytes_a_key(writer.environment)
    for first in range(keys, keys * 11 // 10, 1000):
        numbers = np.arange(first + 1, first + 1001, dtype=np.uint64)
        new = sorted(
            KEY.pack(PREFIXES[CounterPrefix.IN], *one)
            for one in zip(types(numbers), hashes(numbers), strict=True)
        )
        with writer.environment.begin(write=True) as txn, txn.cursor() as cursor:
            cursor.putmulti([(key, b"12345678") for key in new])
    after = bytes_a_key(writer.environment)
    writer.close()
    assert 0.92 < after / before < 1.08


def bytes_a_key(environment: lmdb.Environment) -> float:
    stat = environment.stat()
    pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
    return float(pages * stat["psize"] / stat["entries"])
