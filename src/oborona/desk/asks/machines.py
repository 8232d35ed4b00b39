"""Which machines are one site, and how far each is."""

from __future__ import annotations

import msgspec

from oborona.desk.call import ask
from oborona.desk.site import Site
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.replication.link import read_link
from oborona.replication.log import known_machines


class MachinesQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class MachineStore(msgspec.Struct, frozen=True, kw_only=True):
    """A common store on a machine."""

    store: str
    number: int  # of the last change that was done there
    behind: int  # changes that are not
    trouble: str  # why it goes no further; empty = it does


class SiteMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of the site."""

    name: str
    version: str  # of its Oborona
    silent_s: float  # seconds since it was heard of
    here: bool  # it is this one
    stores: list[MachineStore]


class SiteMachines(msgspec.Struct, frozen=True, kw_only=True):
    """The machines of the site."""

    machine: str  # name of this one; empty = it is alone
    machines: list[SiteMachine]


@ask("site.machines", Right.STATUS)
def list_machines(site: Site, _caller: Caller, asked: MachinesQuestion) -> SiteMachines:
    """Return the machines that are one site, by name; none where this one is alone.

    Raises:
        StoreError: the site's log can't be reached.
    """
    link = read_link(site.state)
    if link is None:
        return SiteMachines(machine="", machines=[])
    return SiteMachines(
        machine=link.machine,
        machines=[
            SiteMachine(
                name=one.name,
                version=one.version,
                silent_s=one.silent_s,
                here=one.name == link.machine,
                stores=[
                    MachineStore(store=store, number=number, behind=behind, trouble=trouble)
                    for store, number, behind, trouble in one.stores
                ],
            )
            for one in known_machines(link)
        ],
    )
