"""What waits for a person, for the first page."""

from __future__ import annotations

from contextlib import closing
from typing import Final

import msgspec

from oborona import state_files
from oborona.audit.reader import AuditQuery, AuditReader
from oborona.desk.site import Site
from oborona.feedback.processing.campaigns import contested_campaigns
from oborona.sqlite_file import closed_on_error, connect
from oborona.stores.charts.schema import DAY_S
from oborona.stores.signatures.rows import SignatureState
from oborona.stores.signatures.store import SignatureStore
from oborona.telemetry import status

MOST: Final = 20  # of each list


class ContestedCampaign(msgspec.Struct, kw_only=True):
    """A campaign of which believed people say both."""

    campaign: int
    complainers: int
    pardoners: int


class NeededPerson(msgspec.Struct, kw_only=True):
    """What waits for a person.

    Args:
        contested: campaigns of the last day, the largest first.
        proposals: signatures that are proposed.
        unended: acts of the last week without an end.
        paused: moves have stopped until somebody says so.
    """

    contested: list[ContestedCampaign] = []
    proposals: int = 0
    unended: int = 0
    paused: bool = False


def moves_are_paused(site: Site, now: float) -> bool:
    """Return whether moves have stopped until a person says that they go on."""
    recheck = status.read_process(site.state, status.RecheckStatus, now)
    return bool(recheck and dict(recheck.metrics.values.get("oborona_recheck_paused", ())).get(()))


def read_contested(site: Site, needs: NeededPerson, now: float) -> None:
    """Take note of campaigns of which believed people say both.

    Raises:
        StoreError: the events can't be read.
    """
    path = site.state / state_files.EVENTS
    db = connect(path, write=False)
    with closed_on_error(db, path), closing(db):
        needs.contested = [
            ContestedCampaign(campaign=number, complainers=bad, pardoners=good)
            for number, bad, good in contested_campaigns(db, now, MOST)
        ]


def count_proposals(site: Site, needs: NeededPerson) -> None:
    """Take note of how many signatures are proposed.

    Raises:
        StoreError: the signatures can't be read.
    """
    with SignatureStore(site.state / state_files.SIGNATURES, make=False) as store:
        needs.proposals = len(store.all(SignatureState.PROPOSED))


def count_unended(site: Site, needs: NeededPerson, now: float) -> None:
    """Take note of how many acts of the last week have no end.

    Raises:
        StoreError: the audit log can't be read.
    """
    with AuditReader(site.state / state_files.AUDIT) as reader:
        query = AuditQuery(since=now - 7 * DAY_S, open_only=True)
        needs.unended = len(reader.acts(query, 50 * MOST))
