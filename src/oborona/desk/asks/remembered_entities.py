"""What the counters remember of each kind of entities."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Final

import msgspec

from oborona.counters.stats import StoreStats
from oborona.desk.call import ask
from oborona.desk.reputation.entity import KINDS
from oborona.desk.reputation.history import PREFIXES
from oborona.desk.site import Site
from oborona.message.shingles import ShingleType
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.counters import check_is_local, store_stats
from oborona.types import CounterPrefix

BESIDE: Final = {
    CounterPrefix.REFUSED: "refused",
    CounterPrefix.FIRST: "first contacts",
    CounterPrefix.DELETED: "deleted",
}


class RememberedQuestion(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class RememberedKind(msgspec.Struct, frozen=True, kw_only=True):
    """What the counters remember of a kind of entities.

    Args:
        kind: of them.
        entities: how many.
        octets: in all.
        each: on average, with what lies beside.
        largest: octets of the largest record.
        records: beside, by what they count.
    """

    kind: str
    entities: int
    octets: int
    each: float
    largest: int
    records: dict[str, int]


class RememberedKinds(msgspec.Struct, frozen=True, kw_only=True):
    """What the counters remember, a kind each."""

    kinds: list[RememberedKind]


@ask("reputation.stats", Right.STATUS)
def count_entities(site: Site, caller: Caller, asked: RememberedQuestion) -> RememberedKinds:
    """Return, for each kind of entity, how many the counters remember, and in how many octets.

    All records are walked over.

    Raises:
        ConfigError: the counters are in a cluster.
        StoreError: the counters can't be read.
    """
    check_is_local(site.loaded.settings)
    report = store_stats(site.loaded.settings, site.state, time.time(), types=True)
    if not isinstance(report, StoreStats):
        raise TypeError(report)  # `check_is_local` has refused a cluster
    records: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    octets: dict[tuple[int, CounterPrefix], int] = defaultdict(int)
    largest: dict[int, int] = defaultdict(int)
    for share in report.types or ():
        records[share.type, share.prefix] += share.records
        octets[share.type, share.prefix] += share.bytes
        largest[share.type] = max(largest[share.type], share.largest)
    kinds = []
    for kind, type_ in KINDS.items():
        out = type_ == ShingleType.ACCOUNT
        number = records[type_, CounterPrefix.OUT if out else CounterPrefix.IN]
        whole = sum(octets[type_, prefix] for prefix in PREFIXES)
        kinds.append(
            RememberedKind(
                kind=kind,
                entities=number,
                octets=whole,
                each=whole / number if number else 0.0,
                largest=largest[type_],
                records={label: records[type_, prefix] for prefix, label in BESIDE.items()},
            )
        )
    return RememberedKinds(kinds=kinds)
