"""Which version of the policy each machine of a site judges by."""

from __future__ import annotations

import time
from contextlib import closing

import msgspec

from oborona.desk.call import ask
from oborona.desk.policy.site_policy import versions_of
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.caller import Caller
from oborona.people.rights import Right
from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import ReplicationLog
from oborona.replication.policy_places import PolicyPlace, policy_places
from oborona.stores.policy_versions.site_versions import applied_version


class PolicyStatusQuestion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Nothing more is asked."""


class MachineVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of a machine.

    Args:
        name: of the machine.
        here: it is this one.
        silent_s: seconds since it was heard of.
        version: of the site's, that its folder holds; 0 = none of them.
        meaning: version of what its daemon judges by; empty = not known.
        since_s: seconds since it has that version.
        trouble: why it goes no further; empty = it does.
    """

    name: str
    here: bool
    silent_s: float
    version: int
    meaning: str
    since_s: float
    trouble: str


class SitePolicyStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of a site.

    Args:
        machine: name of this one; empty = it is alone.
        version: number of the newest that was published; 0 = none.
        meaning: version of what that means.
        machines: all of them, by name.
        away: why nobody knows of the others; empty = they are known.
    """

    machine: str = ""
    version: int = 0
    meaning: str = ""
    machines: tuple[MachineVersion, ...] = ()
    away: str = ""


@ask("policy.status", Right.POLICY_SEE)
def show_policy_status(
    site: Site, _caller: Caller, asked: PolicyStatusQuestion
) -> SitePolicyStatus:
    """Return which version of the policy each machine of the site judges by."""
    link = read_link(site.state)
    with versions_of(site) as store:
        latest = store.latest()
    status = SitePolicyStatus(
        machine="" if link is None else link.machine,
        version=0 if latest is None else latest.number,
        meaning="" if latest is None else latest.meaning,
    )
    if link is None:
        return status
    try:
        with closing(ReplicationLog(link.address, link.machine)) as log:
            log.check(link.site)
            places = policy_places(log)
    except StoreError as error:
        here = _known_here(site, link)
        return msgspec.structs.replace(status, away=str(error), machines=here)
    return msgspec.structs.replace(status, machines=tuple(_machine(one, link) for one in places))


def _machine(one: PolicyPlace, link: ReplicationLink) -> MachineVersion:
    return MachineVersion(
        name=one.machine,
        here=one.machine == link.machine,
        silent_s=one.silent_s,
        version=one.said.version,
        meaning=one.said.meaning,
        since_s=one.since_s,
        trouble=one.said.trouble,
    )


def _known_here(site: Site, link: ReplicationLink) -> tuple[MachineVersion, ...]:
    applied = applied_version(site.state)
    if applied is None:
        return ()
    return (
        MachineVersion(
            name=link.machine,
            here=True,
            silent_s=0.0,
            version=applied.number,
            meaning="",
            since_s=max(0.0, time.time() - applied.at) if applied.at else 0.0,
            trouble=applied.trouble,
        ),
    )
