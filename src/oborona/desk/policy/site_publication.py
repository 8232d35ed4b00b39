"""A publication on all machines of a site, or on none.

    begun (in the common store of versions) → each machine that is there looks whether it could
    judge by it → published by one write → each machine brings it into its folder

Killed before that write nothing is in force anywhere, and after it everything will be. A machine
that is away brings it in before it judges again.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import closing, suppress
from typing import Final

from oborona.desk.call import CallError
from oborona.errors import OboronaError, StoreError
from oborona.replication.link import ReplicationLink
from oborona.replication.log import ReplicationLog
from oborona.replication.policy_places import PolicyPlace, policy_places
from oborona.replication.schema import POLICY_CHANNEL
from oborona.stores.policy_versions.digests import FileSet
from oborona.stores.policy_versions.site_versions import (
    begin_for_all,
    check_begun,
    give_up,
    publish_for_all,
)
from oborona.stores.policy_versions.store import PolicyVersion, VersionStore

PREPARE_S: Final = 10.0  # that machines may take to look at it
FORCE_S: Final = 5.0  # that is waited for them to judge by it
THERE_S: Final = 15.0  # a machine says each 5 s that it is there
_LOOK_S: Final = 0.5


def publish_everywhere(
    link: ReplicationLink,
    store: VersionStore,
    version: PolicyVersion,
    before: FileSet,
    after: FileSet,
    without: Collection[str] = (),
) -> PolicyVersion:
    """Publish files on all machines that are there; return the version that they are.

    Args:
        link: the site's log.
        store: of versions.
        version: what is to be written down of it.
        before: what the site's policy is.
        after: what it is to be, checked here.
        without: machines that are not waited for.

    Raises:
        CallError: a machine could not judge by it, or does not say so in time; nothing was changed.
        StoreError: it can't be written.
    """
    begun = begin_for_all(store, version, before, after)
    try:
        with closing(ReplicationLog(link.address, link.machine)) as log:
            _wait_prepared(log, link, store, begun.number, without)
        publish_for_all(store, begun.number, version.meaning)
    except OboronaError as error:
        with suppress(StoreError):  # whoever publishes next does it
            give_up(store, begun.number, str(error))
        raise
    return begun


def wait_in_force(link: ReplicationLink, number: int) -> str:
    """Wait for machines to judge by a version; return in words which do not yet."""
    until = time.monotonic() + FORCE_S
    try:
        with closing(ReplicationLog(link.address, link.machine)) as log:
            log.listen(POLICY_CHANNEL)
            while True:
                places = policy_places(log)
                behind = [one for one in places if one.said.version < number]
                if not [one for one in behind if _is_there(one)] or time.monotonic() > until:
                    return "; ".join(map(_behind_words, behind))
                log.wait(_LOOK_S)
    except StoreError as error:
        return f"which machines judge by it is not known: {error}"


def _wait_prepared(
    log: ReplicationLog,
    link: ReplicationLink,
    store: VersionStore,
    number: int,
    without: Collection[str],
) -> None:
    log.check(link.site)
    log.listen(POLICY_CHANNEL)
    until = time.monotonic() + PREPARE_S
    while True:
        places = policy_places(log)
        unknown = set(without) - {one.machine for one in places}
        if unknown:
            raise CallError(f"there is no machine {', '.join(sorted(unknown))} in the site")
        there = [one for one in places if _is_there(one) and one.machine not in without]
        for one in there:
            if one.said.prepared == number and one.said.refused:
                raise CallError(
                    f"{one.machine} can't judge by it, nothing was changed anywhere: "
                    f"{one.said.refused}"
                )
        waiting = [one.machine for one in there if one.said.prepared != number]
        if not waiting:
            return
        check_begun(store, number)
        if time.monotonic() > until:
            raise CallError(
                f"{', '.join(waiting)} did not say within {PREPARE_S:g} seconds whether it can judge "
                f"by it (does site-policy run there?), nothing was changed anywhere; without it: "
                f"--without {waiting[0]}"
            )
        log.wait(_LOOK_S)


def _is_there(one: PolicyPlace) -> bool:
    return one.silent_s < THERE_S


def _behind_words(one: PolicyPlace) -> str:
    if not _is_there(one):
        return f"{one.machine} is away, and catches up before it judges"
    trouble = f": {one.said.trouble}" if one.said.trouble else ""
    return f"{one.machine} does not judge by it yet{trouble}"
