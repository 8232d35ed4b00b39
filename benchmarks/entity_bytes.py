"""How many octets the time-line of an address takes: records as the store packs them, after two
weeks.

    python benchmarks/entity_bytes.py                   half a minute
    python benchmarks/entity_bytes.py --addresses 20000

An address has a record under `in`, one under each of `refused`, `first` and `deleted` where such
things happened, and one that counts its distinct recipients. Each is written as the writer does it,
message by message, and weighed with its key.

Four addresses of one kind each, and a site: how many messages an address sends in two weeks is
drawn from a power law, so that half of the addresses send one and a hundredth of them most of the
mail, a tenth of which is spam. "in the store" is what LMDB's pages take for each address of the
site, in random order.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable, Sequence
from typing import Final

import lmdb

from oborona.counters.record import KEY_BYTES, cells, key_of, merge
from oborona.counters.window import BUCKETS_A_DAY, DAYS, SATURATED, bucket_of
from oborona.message.hashing import ShingleType
from oborona.types import CounterPrefix, Metric, Shingle

NOW: Final = bucket_of(20_000 * 86_400 + 15 * 3600)
FIRST_BUCKET: Final = NOW - NOW % BUCKETS_A_DAY - (DAYS - 1) * BUCKETS_A_DAY
BAR_MOST: Final = 16 << 10  # octets an entity
BAR_MEAN: Final = 500  # octets an address
POWER: Final = 1.0  # of the law by which addresses send
MOST_SENT: Final = 200_000  # messages in two weeks, of a large provider's address
SHARES: Final = {
    "spam": 0.1,
    "read": 0.4,
    "complaint": 0.002,
    "first": 0.3,
    "deleted": 0.1,
    "recipients": 0.7,
}
RECORDS: Final = ("in", "refused", "first", "deleted", "recipients")

Address = dict[str, bytes]
"""Its records by name."""


def add(address: Address, name: str, bucket: int, counts: Sequence[int]) -> None:
    """Count in one of an address's records as the writer would at that time."""
    address[name] = merge(address.get(name, b""), cells(counts, bucket), bucket)


def seen(number: int) -> list[int]:
    """[Metric] of so many messages."""
    return [number] + [0] * (len(Metric) - 1)


def sends(buckets: Iterable[int], chance: random.Random) -> Address:
    """Return an address that sent one message in each of these buckets, which come in order."""
    address: Address = {}
    for bucket in buckets:
        spam = chance.random() < SHARES["spam"]
        add(address, "in", bucket, [1, int(spam), 0, 0, 0, 0])
        if chance.random() < SHARES["read"]:
            add(address, "in", bucket, [0, 0, 0, 0, 1, 0])
        if chance.random() < SHARES["complaint"]:
            add(address, "in", bucket, [0, 0, 1, 0, 0, 0])
        for name in ("first", "deleted", "recipients"):
            if chance.random() < SHARES[name]:
                add(address, name, bucket, seen(1))
    return address


def moments(messages: int, chance: random.Random) -> list[int]:
    """Return buckets of the fortnight, drawn evenly, in order."""
    return sorted(chance.randrange(FIRST_BUCKET, NOW + 1) for _ in range(messages))


def full(each: Sequence[int], beside: int) -> Address:
    """Return an address for which so much happened in every ten minutes of two weeks."""
    address: Address = {}
    for bucket in range(FIRST_BUCKET, NOW + 1):
        add(address, "in", bucket, each)
        for name in RECORDS[1:]:
            if beside:
                add(address, name, bucket, seen(beside))
    return address


def octets(address: Address) -> int:
    """Return what its records take with their keys."""
    return sum(KEY_BYTES + len(record) for record in address.values())


def in_the_store(site: Sequence[Address], chance: random.Random) -> float:
    """Return the octets of LMDB's pages for each address."""
    prefixes = {
        "in": CounterPrefix.IN,
        "refused": CounterPrefix.REFUSED,
        "first": CounterPrefix.FIRST,
        "deleted": CounterPrefix.DELETED,
    }
    rows = []
    for address in site:
        number = chance.getrandbits(64)
        for name, record in address.items():
            kind = ShingleType.CLIENT_IP if name in prefixes else ShingleType.ENTITY_RECIPIENTS
            rows.append(
                (key_of(Shingle(kind, number), prefixes.get(name, CounterPrefix.IN)), record)
            )
    chance.shuffle(rows)
    with tempfile.TemporaryDirectory() as folder, lmdb.open(folder, map_size=4 << 30) as store:
        with store.begin(write=True) as txn:
            for key, record in rows:
                txn.put(key, record)
        stat = store.stat()
        return (
            (stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"])
            * stat["psize"]
            / len(site)
        )


def said(what: str, address: Address) -> None:
    """Print one address."""
    parts = ", ".join(f"{name} {len(address[name]):,}" for name in RECORDS if name in address)
    print(f"{what:58} {octets(address):7,}   {parts}")


def main() -> None:
    """Weigh addresses, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--addresses", type=int, default=2000, help="of the site")
    options = parser.parse_args()
    chance = random.Random(1)  # noqa: S311 - the same addresses each time
    print(f"{'':58}  octets   of these")
    said("seen once", sends([NOW], chance))
    said("three messages a day", sends(moments(3 * DAYS, chance), chance))
    said("two hundred messages a day", sends(moments(200 * DAYS, chance), chance))
    busy = full([7000, 700, 20, 5, 3000, 3], 7000)
    said("a million a day, and as many refused, first, deleted", busy)
    said("the largest possible record: every count at 2^63-1", full([SATURATED] * len(Metric), 0))
    sent = [min(MOST_SENT, int(chance.paretovariate(POWER))) for _ in range(options.addresses)]
    site = [sends(moments(messages, chance), chance) for messages in sent]
    every = sorted(map(octets, site))
    mean = sum(every) / len(every)
    print(
        f"\n{len(site):,} addresses of a site, {sum(sent):,} messages, half of the addresses "
        f"{sorted(sent)[len(sent) // 2]}"
        f" or fewer\n  octets: mean {mean:,.0f}, median {every[len(every) // 2]:,}, 99 % "
        f"{every[len(every) * 99 // 100]:,},"
        f" largest {every[-1]:,}\n  in the store: {in_the_store(site, chance):,.0f} each"
    )
    verdicts = {
        f"mean of {BAR_MEAN} octets": mean <= BAR_MEAN,
        f"most of {BAR_MOST:,} octets": octets(busy) <= BAR_MOST,
    }
    print(
        "  "
        + ", ".join(f"{bar}: {'reached' if held else 'MISSED'}" for bar, held in verdicts.items())
    )


if __name__ == "__main__":
    main()
