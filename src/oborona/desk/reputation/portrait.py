"""One entity, with its past and all that is said of it."""

from __future__ import annotations

import asyncio
import time
from typing import Final, NamedTuple

import msgspec

from oborona.desk.reputation.entity import EntityName, entity_named
from oborona.desk.reputation.history import (
    EntityRecord,
    Reading,
    entity_records,
    network_of,
    octets,
    repips,
    unseen_record,
)
from oborona.desk.reputation.pin_store import pins_for_reading
from oborona.desk.reputation.statement import ShownChange, ShownPin, shown_change, shown_pin
from oborona.desk.site import Site
from oborona.message.shingle_name import name_of
from oborona.message.shingles import Hasher, ShingleType
from oborona.policy.ports import GeoIpLookup
from oborona.reputation.address import RepIP
from oborona.reputation.geoip import NoGeoIp
from oborona.reputation.judgement.model import EntityJudgement
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_readonly
from oborona.stores.pins.rows import PinChange, PinNote

LAST: Final = 5  # changes that are shown


class PeopleReports(NamedTuple):
    """What people said of an entity."""

    pin: Pin | None = None
    network: Pin | None = None  # of an address without one: its network's
    notes: tuple[PinNote, ...] = ()
    changes: tuple[PinChange, ...] = ()


class EntityPortrait(NamedTuple):
    """An entity as it is at one moment."""

    record: EntityRecord
    connect: RepIP | None  # what is said of an address at connect
    reports: PeopleReports
    octets: int | None  # in the counters; None = can't be told
    now: float  # Unix seconds


class ShownEntity(msgspec.Struct, frozen=True, kw_only=True):
    """An entity with its past, its judgement, and what people said of it.

    Args:
        entity: as it is typed.
        kind: what it is, in a word.
        shingle: TYPE:HASH.
        now: when it was looked at, Unix seconds.
        buckets: 144 of ten minutes, oldest first: what was counted, by name.
        days: 14 of UTC, oldest first, today last.
        connect: of an address, what is said of it at connect.
        judgement: on its past, with its measures in words.
        pin: its manual override.
        network_pin: of an address without one, that of its network.
        notes: oldest first.
        changes: the last ones that were made by hand, newest first.
        octets: that the counters keep of it; None = can't be told.
    """

    entity: str
    kind: str
    shingle: str
    now: float
    buckets: list[dict[str, int]]
    days: list[dict[str, int]]
    connect: RepIP | None
    judgement: EntityJudgement
    pin: ShownPin | None
    network_pin: ShownPin | None
    notes: list[PinNote]
    changes: list[ShownChange]
    octets: int | None


def portray_entity(site: Site, text: str) -> EntityPortrait:
    """Return an entity as it is now.

    Raises:
        UnusableValueError: the text names none.
        StoreError: counters or pins can't be read.
    """
    now, hasher = time.time(), Hasher(site.keys().shingles)
    named = entity_named(text, hasher)
    places: GeoIpLookup = site.places() if named.type == ShingleType.CLIENT_IP else NoGeoIp()
    with open_readonly(site.loaded.settings, site.state) as store:
        [record], connect = asyncio.run(_read(store, named, hasher, places, now))
        size = octets(store, named, now)
    return EntityPortrait(record, connect, _people_reports(site, named, hasher, now), size, now)


def portray_unseen(site: Site, text: str) -> EntityPortrait:
    """Return an entity of a site that has counted nothing yet: what people said of it is there.

    Raises:
        UnusableValueError: the text names none.
        StoreError: pins can't be read.
    """
    now, hasher = time.time(), Hasher(site.keys().shingles)
    named = entity_named(text, hasher)
    return EntityPortrait(
        unseen_record(named), None, _people_reports(site, named, hasher, now), None, now
    )


def show_portrait(portrait: EntityPortrait) -> ShownEntity:
    """Return an entity as JSON can carry it."""
    record, reports = portrait.record, portrait.reports
    return ShownEntity(
        entity=record.entity.name,
        kind=record.entity.kind,
        shingle=name_of(record.entity.shingle),
        now=portrait.now,
        buckets=[bucket._asdict() for bucket in record.past.buckets],
        days=[day._asdict() for day in record.past.days],
        connect=portrait.connect,
        judgement=record.judgement,
        pin=_shown(reports.pin),
        network_pin=_shown(reports.network),
        notes=list(reports.notes),
        changes=[shown_change(change) for change in reports.changes],
        octets=portrait.octets,
    )


def _shown(pin: Pin | None) -> ShownPin | None:
    return None if pin is None else shown_pin(pin)


async def _read(
    store: Reading, named: EntityName, hasher: Hasher, places: GeoIpLookup, now: float
) -> tuple[list[EntityRecord], RepIP | None]:
    addresses = [named.piece] if named.type == ShingleType.CLIENT_IP and named.piece else []
    histories = await repips(store, addresses, hasher, places, now)
    return await entity_records(store, [named], hasher, now), next(iter(histories), None)


def _people_reports(site: Site, named: EntityName, hasher: Hasher, now: float) -> PeopleReports:
    with pins_for_reading(site) as store:
        if store is None:
            return PeopleReports()
        pin, home = store.of(named.shingle, now), network_of(named, hasher)
        return PeopleReports(
            pin,
            None if pin is not None or home is None else store.of(home.shingle, now),
            tuple(store.notes(named.shingle)),
            tuple(store.changes(named.shingle, LAST)),
        )
