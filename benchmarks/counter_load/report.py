"""What a run of the bench measured, and how it is made of what its processes noted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from oborona.counter_load.subject import StoreSize
from oborona.counter_load.workload import SHINGLES
from oborona.errors import StoreError

US: Final = 1e6
MS: Final = 1e3


class WorkerNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker noted; times are of the machine's monotonic clock."""

    messages: int
    unanswered: int  # reads
    ended_at: float  # when the load was over
    flushed_at: list[float]  # when each flush began
    stored_at: list[float]  # when it returned
    read_s: list[float]  # of each read that was timed
    cpu_s: float  # the load's and the generator's
    generator_cpu_s: float


class BenchReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    The first eight are what there is to compare; the others say under what they were measured.
    """

    adds_per_s: int  # from the start until the load was over and the store had the last of them
    messages_per_s: int
    read_us_p50: float  # one message's 40 shingles, adds not included
    read_us_p99: float
    lag_ms_p50: float  # from the beginning of a flush until the store has it
    lag_ms_p99: float
    bytes_per_key: float  # of those in `keys_after`
    cpu_ms_per_message: float  # of workers, writer and servers; the generator's is taken off
    store: str
    keys: int  # before the load; see `StoreSize`
    keys_after: int
    messages: int
    seconds: float  # until the load was over and the store had all
    workers: int
    rate: int  # adds a second asked for; 0 = as many as the store takes
    pairs: int  # a message
    lag_ms_max: float
    worker_cpu_ms_per_message: float
    writer_cpu_ms_per_message: float  # of writer and servers
    generator_us_per_message: float
    unanswered: int  # reads that the store could not or only partly answer
    interrupted: bool


def lags(noted: WorkerNotes, looks: Sequence[tuple[float, int]] | None) -> list[float]:
    """Return in seconds how long after its beginning the store had each flush.

    Args:
        noted: a worker's.
        looks: moments, and how many of its flushes the store then had; the last look saw all. None:
            a flush ends when the store has it.
    """
    if looks is None:
        return [end - start for start, end in zip(noted.flushed_at, noted.stored_at, strict=True)]
    times, counts = zip(*looks, strict=True)
    first_looks = np.searchsorted(
        np.maximum.accumulate(counts), np.arange(1, len(noted.flushed_at) + 1)
    )
    return (np.array(times)[first_looks] - np.array(noted.flushed_at)).tolist()  # type: ignore[no-any-return]


def report(
    *,
    store: str,
    noted: Sequence[WorkerNotes],
    looks: Sequence[Sequence[tuple[float, int]] | None],
    started: float,
    before: StoreSize,
    after: StoreSize,
    others_cpu_s: float,
    rate: int,
    pairs: int,
    interrupted: bool,
) -> BenchReport:
    """Return the figures of a run; there was one message at least.

    Raises:
        StoreError: no read was answered.
    """
    messages = sum(one.messages for one in noted)
    if not any(one.read_s for one in noted):
        raise StoreError(f"the store answered none of the reads of {messages} messages")
    ends = [
        at[-1][0] if at is not None else one.stored_at[-1]
        for one, at in zip(noted, looks, strict=True)
        if one.flushed_at
    ]
    seconds = max([*ends, *(one.ended_at for one in noted)]) - started
    reads = np.concatenate([one.read_s for one in noted]) * US
    lag = np.concatenate([lags(one, at) for one, at in zip(noted, looks, strict=True)]) * MS
    generator = sum(one.generator_cpu_s for one in noted)
    workers_cpu_s = sum(one.cpu_s for one in noted) - generator
    return BenchReport(
        adds_per_s=round(messages * SHINGLES / seconds),
        messages_per_s=round(messages / seconds),
        read_us_p50=_at(reads, 50),
        read_us_p99=_at(reads, 99),
        lag_ms_p50=_at(lag, 50),
        lag_ms_p99=_at(lag, 99),
        bytes_per_key=round(after.bytes / after.keys, 1),
        cpu_ms_per_message=round((workers_cpu_s + others_cpu_s) / messages * MS, 4),
        store=store,
        keys=before.keys,
        keys_after=after.keys,
        messages=messages,
        seconds=round(seconds, 2),
        workers=len(noted),
        rate=rate,
        pairs=pairs,
        lag_ms_max=_at(lag, 100),
        worker_cpu_ms_per_message=round(workers_cpu_s / messages * MS, 4),
        writer_cpu_ms_per_message=round(others_cpu_s / messages * MS, 4),
        generator_us_per_message=round(generator / messages * US, 1),
        unanswered=sum(one.unanswered for one in noted),
        interrupted=interrupted,
    )


def _at(values: np.typing.NDArray[np.float64], percent: int) -> float:
    return round(float(np.percentile(values, percent)), 1)
