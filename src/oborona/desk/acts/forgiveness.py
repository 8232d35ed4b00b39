"""A verdict was wrong: what a message counted is taken back."""

from __future__ import annotations

import asyncio
import time

import msgspec

from oborona.desk.act_report import ActReport
from oborona.desk.call import ActOrder, act
from oborona.desk.refusals import NothingDoneError, UnusableValueError
from oborona.desk.reputation.forgiveness import journaled_message, take_back, why_not
from oborona.desk.reputation.line_text import checked_line
from oborona.desk.reputation.pin_store import pins_for_writing, spool
from oborona.desk.site import Site
from oborona.ident import from_text, to_text
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.stores.pins.rows import PinAction, PinChange


class ForgivenessOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """The message whose verdict was wrong, by its id."""

    ident: str


class ForgivenMessage(ActReport, frozen=True, kw_only=True):
    """What was taken back.

    Args:
        ident: of the message.
        client: its address; empty = not known.
        pieces: how many hashes.
        first: it was; else somebody else has just taken it back.
    """

    ident: str
    client: str
    pieces: int
    first: bool = True


@act("reputation.forgive", Right.ENTITY, about=("ident",))
def forgive_message(site: Site, caller: Caller, asked: ForgivenessOrder) -> ForgivenMessage:
    """Take back that a message was counted as spam: for all that is in it.

    Raises:
        UnusableValueError: it is no id, or the journal has no such message.
        NothingDoneError: there is nothing to take back.
        StoreError: journal, pins or the spool of counters can't be used.
    """
    now, reason = time.time(), checked_line(asked.reason, "reason")
    number = from_text(asked.ident.strip().partition(".")[0])
    if number is None:
        raise UnusableValueError(
            f"{asked.ident[:60]!r} is no id of a message, such as 06PW8V5A3K7QX"
        )
    entry, late = asyncio.run(journaled_message(site, number))
    name = to_text(number)
    why = why_not(site, entry, now)
    if why:
        raise NothingDoneError(f"{name}: {why}")
    told = ForgivenMessage(
        dry=asked.dry,
        ident=name,
        client=entry.client_ip,
        pieces=len(entry.shingles) + (len(late.shingles) if late is not None else 0),
    )
    if asked.dry:
        return told
    change = PinChange(at=now, by=caller.name, what=PinAction.FORGIVE, reason=reason, name=name)
    with pins_for_writing(site) as store, spool(site) as counters:
        first = store.take_back(number, change)
        if first:
            take_back(counters, entry, late)
            counters.flush(now)
    return msgspec.structs.replace(told, first=first)
