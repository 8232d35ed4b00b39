"""The site: what a daemon does at connect and after its answer, by the code that does it, with real
counters and a clock of the traffic's own.

What is let in is counted with the filter's verdict; what is refused is counted as refused alone.
Complaints, pardons and traps are counted when they come, and only of mail that was let in.
"""

from __future__ import annotations

import heapq
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from benchmarks.traffic.connections import Connections, Flags, Ints
from benchmarks.traffic.people import Fates
from benchmarks.traffic.places import Places, envelope
from oborona.counters.store import LmdbCounters
from oborona.counters.window import BUCKET_S
from oborona.counters.writer import LmdbCounterWriter
from oborona.message.shingles import Hasher, envelope_shingles
from oborona.policy.accounting import record_refused, record_verdict
from oborona.policy.counts import MessageCounts, shingles_to_read
from oborona.policy.history import refusal
from oborona.policy.load import Policy
from oborona.reputation.flag import ReputationFlag
from oborona.types import Action, Amounts, CountedPieces, Envelope, Verdict

START: Final = 1_799_625_600.0  # a Monday, midnight UTC
HASHER: Final = Hasher(b"thirty days of traffic")
_GOOD: Final = Verdict(action=Action.ACCEPT, score=0, line=100, decided_by="below-threshold")
_SPAM: Final = Verdict(action=Action.SPAM, score=100, line=100, decided_by="FILTER")
_COMPLAINT: Final = Amounts(complaints=1)
_PARDON: Final = Amounts(pardons=1)
_TRAP: Final = Amounts(traps=1)


class Cry(NamedTuple):
    """A complaint or a trap hit."""

    time: float
    sender: int


class Outcome(NamedTuple):
    """What the site did."""

    refused: Flags  # of each connection: or put off, where the policy does that
    flags: Ints  # of each connection: their `order`
    cries: list[Cry]  # in the order of time


async def run(
    mail: Connections, fates: Fates, places: Places, policy: Policy, since: float = 0.0
) -> Outcome:
    """Let the traffic come, one connection after the other.

    Refuse nobody before `since` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        writer = LmdbCounterWriter(Path(folder), durability="none", report=lambda _: None)
        counters = LmdbCounters(
            Path(folder), "site", durability="none", environment=writer.environment
        )
        try:
            return await _run(mail, fates, places, policy, since, counters, writer)
        finally:
            counters.close()
            writer.close()


async def _run(
    mail: Connections,
    fates: Fates,
    places: Places,
    policy: Policy,
    since: float,
    counters: LmdbCounters,
    writer: LmdbCounterWriter,
) -> Outcome:
    refused, flags = np.zeros(len(mail.time), bool), np.zeros(len(mail.time), np.int64)
    cries: list[Cry] = []
    waiting: list[tuple[float, int, Amounts]] = []  # words that people will say, by time
    seen: dict[int, tuple[Envelope, CountedPieces]] = {}
    flushed = 0.0
    columns = zip(mail.time.tolist(), mail.address.tolist(), fates.judged.tolist(), strict=True)
    for number, (time, address, judged) in enumerate(columns):
        while waiting and waiting[0][0] <= time:
            when, which, amounts = heapq.heappop(waiting)
            pieces = CountedPieces(shingles=seen[int(mail.address[which])][1].shingles, pairs=())
            counters.add(pieces, amounts, START + when)
            if amounts is not _PARDON:
                cries.append(Cry(when, int(mail.sender[which])))
        if time - flushed >= BUCKET_S:
            flushed = time
            counters.flush(START + time)
            writer.step(START + time)
        now = START + time
        if address not in seen:
            client = envelope(address)
            seen[address] = client, envelope_shingles(client, HASHER, places.location(address))
        client, pieces = seen[address]
        wanted = shingles_to_read(pieces)
        known = MessageCounts(wanted, await counters.read(wanted, now))
        flag = known.repip().flag
        flags[number] = flag.order
        put_off = policy.repip.poor == "tempfail" and flag in (
            ReputationFlag.POOR,
            ReputationFlag.BAD,
        )
        if time >= since and (put_off or refusal(known, client, policy) is not None):
            refused[number] = True
            record_refused(client, HASHER, places.location(address), counters, now=now)
            continue
        record_verdict(pieces, _SPAM if judged else _GOOD, counters, now=now)
        for when, amounts in (
            (fates.complaint[number], _COMPLAINT),
            (fates.pardon[number], _PARDON),
            (fates.trap[number], _TRAP),
        ):
            if np.isfinite(when):
                heapq.heappush(waiting, (float(when), number, amounts))
    return Outcome(refused, flags, cries)
