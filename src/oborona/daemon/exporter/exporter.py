"""One round of exporting: what the policy in force, the journal, the counters and the pins say now,
written as tables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from oborona import secret, state_files
from oborona.config import Settings
from oborona.daemon.exporter.files import Files, Tables, tables
from oborona.daemon.exporter.flagged import Flagged, bad, pinned
from oborona.daemon.exporter.listed import Listed, listed
from oborona.daemon.exporter.recent import Recent
from oborona.daemon.exporter.row import Row
from oborona.daemon.keeper.in_force import PolicyInForce
from oborona.errors import StoreError
from oborona.heartbeat import beating
from oborona.journal.queries import Reader
from oborona.message.shingles import Hasher
from oborona.policy.before import Before
from oborona.reputation.networks import Network, networks
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_stored
from oborona.stores.pins.store import Store as PinStore
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry.log import event

NOTHING: Final = Flagged({}, {})

log = logging.getLogger("oborona.exporter")


class Round(NamedTuple):
    """What a round has found."""

    tables: Tables
    troubles: tuple[str, ...]  # what could not be asked, and is not in the tables


class Exporter:
    """Finds out what tables are to hold, again and again; in one thread.

    Args:
        settings: of the site.
        state: state folder, prepared.
        before: what is known of policies already; None = nothing.

    Raises:
        StoreError: there are no keys.
    """

    def __init__(self, settings: Settings, state: Path, before: Before | None = None) -> None:
        self._settings = settings
        self._state = state
        self._hasher = Hasher(secret.load(state).shingles)
        self._own = networks(settings.site.networks)
        self._policy = PolicyInForce(state, policy_folders(settings.paths), before)
        self._listed: Listed | None = None
        self._recent = Recent()

    def round(self, now: float) -> Round:
        """Return what tables are to hold at Unix time `now`.

        Raises:
            StoreError: the policy, or a list of it, can't be read: without it nobody knows whom it
                lets in.
        """
        if self._policy.look() or self._listed is None:
            policy = self._policy.current
            assert policy is not None
            self._listed = None  # what was said before is not said for a policy that can't be read
            self._listed = listed(policy, self._policy.folders)
        said, troubles = self._listed, list[str]()
        pins = NOTHING
        try:
            pins = pinned(self._pins(now), self._hasher, said, self._own)
        except StoreError as error:
            troubles.append(str(error))
        found = dict(said.networks)
        try:
            found |= asyncio.run(self._bad(said, pins, now))
        except StoreError as error:
            troubles.append(str(error))
        return Round(
            tables(dict(pins.networks) | found, dict(pins.senders) | said.senders), tuple(troubles)
        )

    def _pins(self, now: float) -> Sequence[Pin]:
        if not (self._state / state_files.PINS).exists():
            return ()
        with PinStore(self._state / state_files.PINS, make=False) as store:
            return store.all(now)

    async def _bad(self, said: Listed, pins: Flagged, now: float) -> dict[Network, Row]:
        alive = asyncio.create_task(beating())
        try:
            async with await Reader.open(self._state / state_files.JOURNAL) as journal:
                await self._recent.look(journal, now)
            with closing(open_stored(self._settings, self._state)) as counters:
                return await bad(
                    self._recent.addresses, counters, self._hasher, said, pins, self._own, now
                )
        finally:
            alive.cancel()


def export(exporter: Exporter, files: Files, now: float) -> Round:
    """Take a round, and write what it has found.

    Raises:
        StoreError: the policy can't be read, or a file not be written.
    """
    found = exporter.round(now)
    changed = files.write(found.tables)
    if changed:
        event(
            log,
            logging.INFO,
            "tables exported",
            files=changed,
            clients=len(found.tables.clients),
            networks=len(found.tables.networks),
            senders=len(found.tables.senders),
        )
    return found
