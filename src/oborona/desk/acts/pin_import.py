"""Overrides of a file, all in one step."""

from __future__ import annotations

import time
from typing import Annotated

from msgspec import Meta

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, act
from oborona.desk.refusals import UnusableValueError
from oborona.desk.reputation.entity import EntityName
from oborona.desk.reputation.line_text import checked_line
from oborona.desk.reputation.pin_import import MAX_FILE, WEEK_S, opened_file, read_pins
from oborona.desk.reputation.pin_store import pins_for_reading, pins_for_writing, require_hasher
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.store import LAST_TIME


class PinImportOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """A file of entities: what `reputation export --json` wrote, or a plain list.

    Args:
        content: the file.
        called: its name.
        flag: of a plain list, what all of them are; the reason is theirs, too.
        seconds: how long they hold at most.
        over: also replace overrides that somebody here has set.
        skip_broken: pass over what can't be used.
    """

    content: Annotated[bytes, Meta(max_length=MAX_FILE)]
    called: Annotated[str, Meta(max_length=1000)] = "-"
    flag: ReputationFlag | None = None
    seconds: float = WEEK_S
    over: bool = False
    skip_broken: bool = False


class ImportedPins(ActReport, frozen=True, kw_only=True):
    """What was taken of a file.

    Args:
        origin: who says it.
        pins: how many overrides are set.
        own: how many entities keep the override that somebody here has set.
        passed_over: what can't be used, and why.
    """

    origin: str
    pins: int
    own: int
    passed_over: list[str]


@act("reputation.import", Right.ENTITY)
def import_pins(site: Site, caller: Caller, asked: PinImportOrder) -> ImportedPins:
    """Override the reputation of all entities of a file in one step: all, or none.

    Raises:
        UnusableValueError: reason or end can't be used.
        MisusedCallError: the file can't be used.
        StoreError: the pins can't be written.
    """
    now, called = time.time(), asked.called
    until = now + asked.seconds
    if not now < until < LAST_TIME:
        raise UnusableValueError(
            "it must end in the time to come, before the year 10000", "seconds"
        )
    reason = checked_line(asked.reason, "reason") if asked.reason else ""
    file = opened_file(asked.content, called, asked.flag, reason)
    pins, passed_over = read_pins(
        file,
        called,
        require_hasher(site),
        by=caller.name,
        now=now,
        until=until,
        skip=asked.skip_broken,
    )
    own = [] if asked.over else _overrides_kept(site, pins, now)
    for named in own:
        del pins[named]
    if pins and not asked.dry:
        with pins_for_writing(site) as store:
            store.put(
                list(pins.values()),
                origin=file.origin,
                told=f"{len(pins)} manual overrides from {called}",
            )
    return ImportedPins(
        dry=asked.dry, origin=file.origin, pins=len(pins), own=len(own), passed_over=passed_over
    )


def _overrides_kept(site: Site, pins: dict[EntityName, Pin], now: float) -> list[EntityName]:
    """Return the entities that somebody here has pinned."""
    with pins_for_reading(site) as store:
        origins = {} if store is None else store.origins(now)
    return [named for named in pins if origins.get(named.shingle) == ""]
