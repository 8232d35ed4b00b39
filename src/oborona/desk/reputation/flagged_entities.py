"""Which entities of this site have a flag: by their pins, and by what the counters have of whom the
journal names.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from oborona import state_files
from oborona.client_network import client_network
from oborona.counters.window import DAY_S, DAYS
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.history import (
    AT_ONCE,
    Reading,
    entity_records,
    network_of,
    repips,
    totals,
)
from oborona.desk.reputation.names import entities, of_journal
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.site import Site
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.ports import GeoIpLookup
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_readonly
from oborona.types import Metric, Shingle, Window

LEAST_ADDRESSES: Final = 2  # with a flag of their own, before their network has one


class FlaggedEntity(msgspec.Struct, frozen=True):
    """An entity with what this site thinks of it."""

    entity: EntityName
    flag: ReputationFlag
    say: str  # why
    until: float = 0.0  # of its pin, Unix seconds; 0 = for as long as its past says so, or for ever
    pinned: bool = False
    origin: str = ""  # of its pin: where that was imported from


class _Pinned(NamedTuple):
    pins: dict[Shingle, Pin]
    origins: dict[Shingle, str]


def flagged_entities(site: Site, kinds: Sequence[ShingleType], now: float) -> list[FlaggedEntity]:
    """Return all entities of some types that have a name and a past here, or a pin; in no order.

    Of an address it is the flag that it has at connect, of anything else that of the judgement on
    its past; a pin stands above both, of an address also its network's.  A network is poor or bad
    only where at least `LEAST_ADDRESSES` of its addresses are, and none of them is good: one of
    them alone is no reason to shun the others.  A link domain that everybody uses, such as a
    shortener's, has none.

    Raises:
        StoreError: counters, journal or pins can't be read.
    """
    wanted_kinds = dict.fromkeys(
        [*kinds, *([ShingleType.CLIENT_IP] if ShingleType.CLIENT_NETWORK in kinds else [])]
    )
    hasher = Hasher(site.keys().shingles)
    pinned = _pins(site, now)
    names = of_journal(site.state / state_files.JOURNAL, now - DAYS * DAY_S, wanted_kinds)
    named = entities(names, pinned.pins.values(), hasher)
    places = site.places()
    with open_readonly(site.loaded.settings, site.state) as store:
        judged = asyncio.run(_judge_entities(store, named, pinned, hasher, places, now))
    flags: dict[str, list[ReputationFlag]] = defaultdict(list)
    for flagged in judged:
        if flagged.entity.type == ShingleType.CLIENT_IP:
            flags[client_network(flagged.entity.piece)].append(flagged.flag)
    blamed = (
        _by_members(_unshared(flagged, names.shared), flags[flagged.entity.piece])
        for flagged in judged
    )
    return [flagged for flagged in blamed if flagged.entity.type in kinds]


def _unshared(flagged: FlaggedEntity, shared: Collection[str]) -> FlaggedEntity:
    """Return it without a bad flag, where it is a domain that everybody uses."""
    if (
        flagged.entity.type != ShingleType.LINK_DOMAIN
        or flagged.pinned
        or flagged.entity.piece not in shared
    ):
        return flagged
    return msgspec.structs.replace(
        flagged, flag=ReputationFlag.UNKNOWN, say=f"everybody's; {flagged.say}"
    )


def _by_members(flagged: FlaggedEntity, flags: Sequence[ReputationFlag]) -> FlaggedEntity:
    if (
        flagged.entity.type != ShingleType.CLIENT_NETWORK
        or flagged.pinned
        or flagged.flag not in (ReputationFlag.POOR, ReputationFlag.BAD)
    ):
        return flagged
    members = sum(flag in (ReputationFlag.POOR, ReputationFlag.BAD) for flag in flags)
    if members >= LEAST_ADDRESSES and ReputationFlag.GOOD not in flags:
        return flagged
    return msgspec.structs.replace(
        flagged, flag=ReputationFlag.UNKNOWN, say=f"{members} of its addresses alone; {flagged.say}"
    )


def _pins(site: Site, now: float) -> _Pinned:
    with pins_for_reading(site) as store:
        if store is None:
            return _Pinned({}, {})
        return _Pinned({pin.shingle: pin for pin in store.all(now)}, store.origins(now))


async def _judge_entities(
    store: Reading,
    found: Iterable[EntityName],
    pinned: _Pinned,
    hasher: Hasher,
    places: GeoIpLookup,
    now: float,
) -> list[FlaggedEntity]:
    done, left = list[FlaggedEntity](), list[EntityName]()
    for entity in found:
        pin, home = pinned.pins.get(entity.shingle), network_of(entity, hasher)
        if pin is None and home is not None:
            pin = pinned.pins.get(home.shingle)
        if pin is None:
            left.append(entity)
        else:
            origin = pinned.origins.get(pin.shingle, "")
            done.append(
                FlaggedEntity(entity, pin.flag, pin.say, pin.until, pinned=True, origin=origin)
            )
    left = await with_history(store, left, now)
    addresses = [entity for entity in left if entity.type == ShingleType.CLIENT_IP and entity.piece]
    histories = await repips(store, [entity.piece for entity in addresses], hasher, places, now)
    for entity, history in zip(addresses, histories, strict=True):
        done.append(FlaggedEntity(entity, history.flag, history.say))
    others = [entity for entity in left if entity.type != ShingleType.CLIENT_IP]
    # their pasts are large, and nobody needs them all at once
    for begin in range(0, len(others), AT_ONCE):
        for record in await entity_records(store, others[begin : begin + AT_ONCE], hasher, now):
            done.append(FlaggedEntity(record.entity, record.judgement.flag, record.judgement.say))
    return done


async def with_history(store: Reading, names: Sequence[EntityName], now: float) -> list[EntityName]:
    """Return those of which anything was counted in two weeks.

    Raises:
        StoreError: the store can't be read.
    """
    rows = await totals(store, [entity.shingle for entity in names], now)
    return [
        entity
        for entity, row in zip(names, rows, strict=True)
        if any(row[Window.FORTNIGHT][metric] for metric in Metric)
    ]


def selected(entities: list[FlaggedEntity], flag: ReputationFlag) -> list[FlaggedEntity]:
    """Return those with a flag, of poor also the bad ones, that have a name; sorted by it."""
    flags = {ReputationFlag.POOR, ReputationFlag.BAD} if flag is ReputationFlag.POOR else {flag}
    return sorted(
        (flagged for flagged in entities if flagged.flag in flags and flagged.entity.piece),
        key=lambda flagged: (flagged.entity.type, flagged.entity.piece),
    )
