"""What `oborona doctor` says of the policy of a site of several machines: has each the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from oborona.desk.doctor.machines import SILENT_S
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.doctor.traffic import ago
from oborona.desk.policy.site_policy import versions_of
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import ReplicationLog
from oborona.replication.policy_places import PolicyPlace, policy_places
from oborona.stores.policy_versions.store import PolicyVersion

WHAT: Final = "policy of all"


def site_policy(context: Site) -> Iterator[CheckReport]:
    """Ask the site's log which policy each machine has; a machine alone has none."""
    link = read_link(context.state)
    if link is None:
        return
    with versions_of(context) as store:
        latest = store.latest()
    if latest is None:
        yield CheckReport(
            WHAT,
            CheckState.WARN,
            "the machines have no policy in common yet: each judges by its own files",
            "on the machine whose policy is to be that of all: oborona policy share --reason …",
        )
        return
    try:
        with closing(ReplicationLog(link.address, link.machine)) as log:
            log.check(link.site)
            places = policy_places(log)
    except StoreError:  # the machines' check says so
        return
    wrong = [report for one in places for report in _wrong(one, latest, link)]
    yield from wrong
    if not wrong:
        yield CheckReport(WHAT, CheckState.OK, f"version {latest.number} on all machines")


def _wrong(one: PolicyPlace, latest: PolicyVersion, link: ReplicationLink) -> Iterator[CheckReport]:
    if one.silent_s > SILENT_S:  # it catches up before it judges; the machines' check says so
        return
    here = one.machine == link.machine
    if one.said.trouble or one.said.version != latest.number:
        why = one.said.trouble or "nothing follows the site's policy there"
        yield CheckReport(
            WHAT,
            CheckState.FAIL if here else CheckState.WARN,
            f"{one.machine}{' (this one)' if here else ''} does not judge by version "
            f"{latest.number}, for {ago(one.since_s)}: {why}",
            "oborona serve, or oborona desk, follows it" if not one.said.trouble else "",
        )
