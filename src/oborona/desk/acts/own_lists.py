"""Acts of readers on their own lists and strictness; each is about their own addresses alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from oborona.desk.call import ActOrder, CallError, NotFoundError, UndoCall, act
from oborona.desk.readers.addresses import OwnAddress, own_addresses
from oborona.desk.readers.entries import (
    EarlierEntries,
    EntryPlan,
    checked_entries,
    open_persons,
    planned_entry,
    put_in_place,
    said_of,
    things_of,
)
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.reputation.personal import (
    LAXEST,
    STRICTEST,
    EntryAction,
    PersonalEntryKind,
    mail_address,
)

Factor = Annotated[float, Meta(ge=STRICTEST, le=LAXEST)]
What = Annotated[str, Meta(min_length=1, max_length=400)]
MOST_ADDRESSES: Final = 1000


class OwnEntryOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Who is let in, kept out, or no longer spoken of.

    Args:
        what: an address or a domain.
        address: of one's own; empty = all.
    """

    what: What
    address: OwnAddress = ""


class OwnRemovalOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """An entry that is removed.

    Args:
        what: its value; of an address what was said of who claims it goes, too.
        kind: what it is about; empty = as `what` looks.
        address: of one's own; empty = all.
    """

    what: What
    kind: PersonalEntryKind | None = None
    address: OwnAddress = ""


class OwnRestoration(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """Entries as they were before."""

    before: Annotated[tuple[EarlierEntries, ...], Meta(min_length=1, max_length=MOST_ADDRESSES)]


class OwnEntryOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is said now.

    Args:
        what: it is about.
        addresses: for which it is another word than before.
    """

    what: str
    addresses: tuple[str, ...]
    undo: UndoCall | None


class OwnStrictnessOrder(ActOrder, kw_only=True, forbid_unknown_fields=True):
    """How strictly one's own mail is looked at.

    Args:
        factor: on the line from which on mail is spam, of all own addresses.
        factors: of single addresses, in its place.
    """

    factor: Factor | None = None
    factors: Annotated[dict[OwnAddress, Factor], Meta(max_length=MOST_ADDRESSES)] = msgspec.field(
        default_factory=dict
    )


class OwnStrictnessOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The factors now."""

    factors: dict[str, float]
    undo: UndoCall | None


@act("own.allow", Right.OWN, scoped=True, about=("what",))
def allow_own_sender(site: Site, caller: Caller, asked: OwnEntryOrder) -> OwnEntryOutcome:
    """Always let somebody's mail into one's inbox, where it is proved to be theirs."""
    return _put(site, caller, asked, EntryAction.ALLOW)


@act("own.deny", Right.OWN, scoped=True, about=("what",))
def deny_own_sender(site: Site, caller: Caller, asked: OwnEntryOrder) -> OwnEntryOutcome:
    """Keep somebody's mail out of one's inbox."""
    return _put(site, caller, asked, EntryAction.DENY)


@act("own.remove", Right.OWN, scoped=True, about=("what",))
def remove_own_entry(site: Site, caller: Caller, asked: OwnRemovalOrder) -> OwnEntryOutcome:
    """Say nothing of a sender any more."""
    what = asked.what.strip()
    kind = asked.kind
    if kind is None:
        kind = PersonalEntryKind.ADDRESS if mail_address(what) else PersonalEntryKind.DOMAIN
    value = mail_address(what) or what.lower()
    plan = EntryPlan(things=things_of(value, kind), entries=())
    outcome = _change(site, dict.fromkeys(own_addresses(caller, asked.address), plan), asked)
    if not outcome.addresses:
        raise NotFoundError(f"your lists have nothing of {what[:100]!a}")
    return outcome


@act("own.restore", Right.OWN, scoped=True)
def restore_own_entries(site: Site, caller: Caller, asked: OwnRestoration) -> OwnEntryOutcome:
    """Make one's lists what they were before an act."""
    plans = {
        own_addresses(caller, one.address)[0]: checked_entries(one)
        for one in asked.before
        if one.address
    }
    return _change(site, plans, asked)


@act("own.strict", Right.OWN, scoped=True)
def set_own_strictness(
    site: Site, caller: Caller, asked: OwnStrictnessOrder
) -> OwnStrictnessOutcome:
    """Have one's own mail looked at more or less strictly than the site's."""
    if (asked.factor is None) is not bool(asked.factors):
        raise CallError("name one factor, or one for each address")
    wanted = {own_addresses(caller, name)[0]: value for name, value in asked.factors.items()}
    if asked.factor is not None:
        wanted = dict.fromkeys(own_addresses(caller), asked.factor)
    before = dict[str, float]()
    with open_persons(site) as store:
        for address, factor in wanted.items():
            was = store.of(address).strictness
            if was != factor:
                before[address] = was
                if not asked.dry:
                    store.strict(address, factor)
    undo = UndoCall(call="own.strict", asked={"factors": before})
    return OwnStrictnessOutcome(factors=wanted, undo=undo if before else None)


def _put(site: Site, caller: Caller, asked: OwnEntryOrder, side: EntryAction) -> OwnEntryOutcome:
    addresses = own_addresses(caller, asked.address)
    plan = planned_entry(side, asked.what, time.time())
    if side is EntryAction.DENY and plan.entries[0].value in own_addresses(caller):
        raise CallError("that is your own address")
    return _change(site, dict.fromkeys(addresses, plan), asked)


def _change(site: Site, plans: Mapping[str, EntryPlan], asked: ActOrder) -> OwnEntryOutcome:
    """Put entries in the place of others, of each address, and say what was there."""
    now, before = time.time(), list[EarlierEntries]()
    with open_persons(site) as store:
        for address, plan in plans.items():
            if asked.dry:
                said = said_of(store, address, plan.things)
                changed = said if said.entries or plan.entries else None
            else:
                changed = put_in_place(store, address, plan, now)
            if changed is not None:
                before.append(changed)
    values = dict.fromkeys(thing.value for plan in plans.values() for thing in plan.things)
    undo = UndoCall(call="own.restore", asked={"before": msgspec.to_builtins(before)})
    return OwnEntryOutcome(
        what=", ".join(values),
        addresses=tuple(one.address for one in before),
        undo=undo if before and not asked.dry else None,
    )
