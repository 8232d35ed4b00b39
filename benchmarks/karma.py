"""What reputation costs a message: CPU of RepIP, karma and a hundred entities, read from a store of
a million keys and judged.

    python benchmarks/karma.py                  a million keys, 2,000 messages
    python benchmarks/karma.py --keys 5000000
    python benchmarks/karma.py --json

A message has 106 pieces: client, network and autonomous system, author, his domain, proved sender,
and a hundred entities: 20 link domains, 20 hosts, 30 links, 10 telephones, 5 wallets, 5 attachments
and 10 addresses; a usual one has a tenth of these.  Six of ten entities nobody has seen before, as
of the pieces of `oborona counters bench`; the others are drawn by Zipf's law from 100,000 of each
type, of whom a fortnight of mail is remembered, a quarter of it bad.  Microseconds of CPU a
message, the best of five rounds: `read` is one read of the store for all of them, `judge` RepIP,
entities and karma with their words.  Beside it, how many unique pairs a usual mail has, by the
golden mails of the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # started as a script, from anywhere
from oborona.counter_load.subject import LmdbSubject
from oborona.counters.store import LmdbCounters
from oborona.counters.writer import LmdbCounterWriter
from oborona.domains import registrable
from oborona.message.hashing import Hasher, ShingleType
from oborona.message.parse import parse
from oborona.message.shingles import shingles
from oborona.policy.counts import MessageCounts
from oborona.policy.facts import Facts
from oborona.policy.reputation_facts import ReputationInputs, with_reputation
from oborona.types import Amounts, Client, CountedPieces, Envelope, ProvedIdentity, Shingle

MESSAGES: Final = 2000
ROUNDS: Final = 5
CHUNK: Final = 50  # messages
POOL: Final = 100_000  # entities of each type with a history, as far as it reached them
CLIENTS: Final = 2_000
HISTORY: Final = 60_000  # messages that made it
BAR_US: Final = 300.0
ENTITIES: Final = (
    (ShingleType.LINK_DOMAIN, 20),
    (ShingleType.HOST, 20),
    (ShingleType.URL, 30),
    (ShingleType.PHONE, 10),
    (ShingleType.WALLET, 5),
    (ShingleType.CHECKSUM, 5),
    (ShingleType.ADDRESS, 10),
)
SENDER: Final = (
    ShingleType.CLIENT_IP,
    ShingleType.CLIENT_NETWORK,
    ShingleType.AS_NUMBER,
    ShingleType.AUTHOR,
    ShingleType.AUTHOR_DOMAIN,
    ShingleType.PROVED_SENDER,
)
HASHER: Final = Hasher(b"k" * 32)
ENVELOPE: Final = Envelope(
    client=Client(ip="9.1.1.1"), sender="ann@a.example", recipients=("bob@b.example",)
)
WHO: Final = ProvedIdentity(
    author="ann@a.example", author_domain="a.example", sender="ann@a.example"
)


def pool(kind: ShingleType, number: int) -> Shingle:
    """Return an entity or a sender with a history; of each type one in four is bad."""
    return HASHER.shingle(kind, f"known {number}")


def history(directory: Path, now: float, draw: random.Random) -> None:
    """Bring a fortnight of mail into the store."""
    counters, writer = LmdbCounters(directory, "history"), LmdbCounterWriter(directory)
    of = zipf(POOL, HISTORY * 12)
    who = zipf(CLIENTS, HISTORY)
    moments = sorted(now - draw.random() * 13 * 86_400 for _ in range(HISTORY))
    for number, moment in enumerate(moments):
        some = of[number * 12 : number * 12 + 12]
        kinds = [kind for kind, _ in ENTITIES] + [
            ShingleType.LINK_DOMAIN,
            ShingleType.URL,
            ShingleType.URL,
            ShingleType.HOST,
            ShingleType.PHONE,
        ]
        found = [pool(kind, int(one)) for kind, one in zip(kinds, some, strict=True)]
        found += [pool(kind, int(who[number])) for kind in SENDER]
        bad = some[0] % 4 == 0
        pieces = CountedPieces(shingles=tuple(dict.fromkeys(found)), pairs=())
        counters.add(
            pieces, Amounts(seen=1, spam=int(bad), complaints=int(bad and number % 7 == 0)), moment
        )
        if number % 2000 == 0:
            counters.flush(moment)
            writer.step(moment)
    counters.flush(now)
    writer.step(now)
    counters.close()
    writer.close()


def zipf(size: int, draws: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return ranks by Zipf's law, s = 1.1."""
    weights = 1 / np.arange(1, size + 1) ** 1.1
    return np.random.default_rng(7).choice(size, draws, p=weights / weights.sum())


def message(number: int, ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Shingle, ...]:
    """Return the pieces of one message."""
    found = [pool(kind, int(ranks[number]) % CLIENTS) for kind in SENDER]
    at = number
    for kind, times in ENTITIES:
        for one in range(times):
            at += 1
            known = one % 5 in (1, 3)
            name = f"known {ranks[at % len(ranks)]}" if known else f"new {number} {one}"
            found.append(HASHER.shingle(kind, name))
    return tuple(dict.fromkeys(found))


async def measured(directory: Path, now: float) -> dict[str, float]:
    """Return the figures."""
    counters = LmdbCounters(directory, "reader")
    ranks = zipf(POOL, MESSAGES * 4)
    messages = [message(number, ranks) for number in range(MESSAGES)]
    seen = ReputationInputs(WHO, HASHER)
    known = 0
    for one in messages:
        known += sum(any(row[-1]) for row in await counters.read(one, now))

    async def read(one: tuple[Shingle, ...]) -> None:
        await counters.read(one, now)

    async def sort(one: tuple[Shingle, ...]) -> None:
        Facts(known=MessageCounts(one, await counters.read(one, now)))

    async def judge(one: tuple[Shingle, ...]) -> None:
        with_reputation(Facts(known=MessageCounts(one, await counters.read(one, now))), seen)

    # each message is read and judged at once, as a scan does it; every scan sorts its counts,
    # whatever is asked of them
    read_us, sort_us, judge_us = await best((read, sort, judge), messages)
    counters.close()
    found = {
        "pieces": sum(map(len, messages)) / MESSAGES,
        "known": known / MESSAGES,
        "read_us": round(read_us, 1),
        "judge_us": round(judge_us - sort_us, 1),
    }
    return found | {"total_us": round(found["read_us"] + found["judge_us"], 1), "bar_us": BAR_US}


Work = Callable[[tuple[Shingle, ...]], Awaitable[None]]


async def best(works: tuple[Work, ...], messages: list[tuple[Shingle, ...]]) -> list[float]:
    """Return microseconds of CPU a message of each work, by turns: the best of the rounds of each
    `CHUNK` messages, so that a busy machine spoils few.
    """
    gc.collect()
    gc.freeze()  # a scan has one message to look after, not all of them
    total = [0.0 for _ in works]
    for start in range(0, len(messages), CHUNK):
        rounds: list[list[int]] = [[] for _ in works]
        for _ in range(ROUNDS):
            for work, spent in zip(works, rounds, strict=True):
                began = time.process_time_ns()
                for one in messages[start : start + CHUNK]:
                    await work(one)
                spent.append(time.process_time_ns() - began)
        total = [sofar + min(spent) for sofar, spent in zip(total, rounds, strict=True)]
    return [each / 1000 / len(messages) for each in total]


def pairs() -> dict[str, float]:
    """Return how many unique pairs a golden mail to one reader has, proved of its author, and how
    many of these count readers of entities.
    """
    found = []
    for file in sorted((Path(__file__).resolve().parents[1] / "tests/golden/mails").glob("*.eml")):
        mail = parse(file.read_bytes())
        box = mail.from_
        who = (
            ProvedIdentity(author=box.address.lower(), author_domain=registrable(box.domain))
            if box
            else ProvedIdentity()
        )
        found.append(shingles(mail, ENVELOPE, HASHER, (), who=who).pairs)
    reached = [
        sum(pair.distinct.type == ShingleType.ENTITY_RECIPIENTS for pair in one) for one in found
    ]
    return {
        "pairs": round(sum(map(len, found)) / len(found), 1),
        "pairs_of_entities": round(sum(reached) / len(found), 1),
        "most_of_entities": max(reached),
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    now = time.time()
    with tempfile.TemporaryDirectory(prefix="oborona-karma-") as folder:
        directory = Path(folder) / "counters"
        subject = LmdbSubject(directory=str(directory), map_bytes=asked.keys * 256 + (256 << 20))
        with subject.filled(asked.keys, now, lambda _share: None):
            history(directory, now, random.Random(1))  # noqa: S311 - a load, no secret
            found = {"keys": asked.keys} | asyncio.run(measured(directory, now)) | pairs()
    if asked.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return
    for name, value in found.items():
        sys.stdout.write(f"{name.replace('_', ' '):>18}  {value:g}\n")


if __name__ == "__main__":
    main()
