"""What each machine of a site says of the policy: whether it could judge by a version that is about
to be published, and which one it has.
"""

from __future__ import annotations

from typing import NamedTuple

from oborona.replication.log import ReplicationLog
from oborona.replication.schema import POLICY_CHANNEL


class PolicyWord(NamedTuple):
    """What a machine says."""

    prepared: int = 0  # version that it has looked at last, before it is published
    refused: str = ""  # why that can't be in force there; empty = it can
    version: int = 0  # of the site's, that its folder holds; 0 = none
    meaning: str = ""  # version of what its daemon judges by; empty = nobody judges there
    trouble: str = ""  # why it goes no further; empty = it does


class PolicyPlace(NamedTuple):
    """What is known of a machine."""

    machine: str
    silent_s: float  # seconds since it was heard of
    since_s: float  # seconds since it has its version
    said: PolicyWord


def tell_policy_place(log: ReplicationLog, word: PolicyWord) -> None:
    """Say what holds for this machine.

    Raises:
        LogUnreachableError: the log can't be reached.
        StoreError: the site knows this machine no more.
    """
    with log.connected() as db:
        db.execute(
            "INSERT INTO policy_place (machine, prepared, refused, version, meaning, trouble)"
            " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (machine) DO UPDATE SET"
            " since = CASE WHEN policy_place.version = excluded.version THEN policy_place.since"
            " ELSE now() END, prepared = excluded.prepared, refused = excluded.refused,"
            " version = excluded.version, meaning = excluded.meaning, trouble = excluded.trouble",
            (log.machine, *word),
        )
        db.execute("SELECT pg_notify(%s, %s)", (POLICY_CHANNEL, log.machine))


def policy_places(log: ReplicationLog) -> list[PolicyPlace]:
    """Return what is known of all machines, by name.

    Raises:
        LogUnreachableError: the log can't be reached.
    """
    rows = log.question(
        "SELECT m.name, extract(epoch FROM now() - m.seen)::float8,"
        " coalesce(extract(epoch FROM now() - p.since)::float8, 0), coalesce(p.prepared, 0),"
        " coalesce(p.refused, ''), coalesce(p.version, 0), coalesce(p.meaning, ''),"
        " coalesce(p.trouble, '') FROM machine m LEFT JOIN policy_place p ON p.machine = m.name"
        " ORDER BY m.name"
    )
    return [
        PolicyPlace(name, silent_s, since_s, PolicyWord(*said))
        for name, silent_s, since_s, *said in rows
    ]
