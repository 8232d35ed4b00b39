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
from oborona.daemon.exporter.files import ExportFiles, ExportTables, export_tables
from oborona.daemon.exporter.list_rows import ListRows, list_rows
from oborona.daemon.exporter.recent_clients import RecentClients
from oborona.daemon.exporter.reputation_rows import ReputationRows, pinned_rows, refused_rows
from oborona.daemon.exporter.row import ExportRow
from oborona.daemon.keeper.policy_in_force import PolicyInForce
from oborona.errors import StoreError
from oborona.heartbeat import beat_forever
from oborona.journal.queries import JournalReader
from oborona.message.shingles import Hasher
from oborona.policy.load_cache import PolicyCache
from oborona.reputation.networks import Network, networks
from oborona.reputation.pins import Pin
from oborona.stores.counters import open_readonly
from oborona.stores.pins.store import PinStore
from oborona.stores.policy_folders import policy_folders
from oborona.telemetry.log import event

NOTHING: Final = ReputationRows({}, {})

log = logging.getLogger("oborona.exporter")


class ExportRound(NamedTuple):
    """The result of one round."""

    tables: ExportTables
    troubles: tuple[str, ...]  # what could not be asked, and is not in the tables


class TableExporter:
    """Computes the contents of the tables, round after round; in one thread.

    Args:
        settings: of the site.
        state: state folder, prepared.
        before: what is known of policies already; None = nothing.

    Raises:
        StoreError: there are no keys.
    """

    def __init__(self, settings: Settings, state: Path, before: PolicyCache | None = None) -> None:
        self._settings = settings
        self._state = state
        self._hasher = Hasher(secret.load(state).shingles)
        self._own = networks(settings.site.networks)
        self._policy = PolicyInForce(state, policy_folders(settings.paths), before)
        self._listed: ListRows | None = None
        self._recent = RecentClients()

    def round(self, now: float) -> ExportRound:
        """Return what tables are to hold at Unix time `now`.

        Raises:
            StoreError: the policy, or a list of it, can't be read: without it nobody knows whom it
                lets in.
        """
        if self._policy.look() or self._listed is None:
            policy = self._policy.current
            assert policy is not None
            self._listed = None  # what was said before is not said for a policy that can't be read
            self._listed = list_rows(policy, self._policy.folders)
        listed, troubles = self._listed, list[str]()
        pins = NOTHING
        try:
            pins = pinned_rows(self._pins(now), self._hasher, listed, self._own)
        except StoreError as error:
            troubles.append(str(error))
        networks = dict(listed.networks)
        try:
            networks |= asyncio.run(self._bad(listed, pins, now))
        except StoreError as error:
            troubles.append(str(error))
        return ExportRound(
            export_tables(dict(pins.networks) | networks, dict(pins.senders) | listed.senders),
            tuple(troubles),
        )

    def _pins(self, now: float) -> Sequence[Pin]:
        if not (self._state / state_files.PINS).exists():
            return ()
        with PinStore(self._state / state_files.PINS, make=False) as store:
            return store.all(now)

    async def _bad(
        self, listed: ListRows, pins: ReputationRows, now: float
    ) -> dict[Network, ExportRow]:
        alive = asyncio.create_task(beat_forever())
        try:
            async with await JournalReader.open(self._state / state_files.JOURNAL) as journal:
                await self._recent.look(journal, now)
            with closing(open_readonly(self._settings, self._state)) as counters:
                return await refused_rows(
                    self._recent.addresses, counters, self._hasher, listed, pins, self._own, now
                )
        finally:
            alive.cancel()


def export(exporter: TableExporter, files: ExportFiles, now: float) -> ExportRound:
    """Take a round, and write what it has found.

    Raises:
        StoreError: the policy can't be read, or a file not be written.
    """
    export_round = exporter.round(now)
    changed = files.write(export_round.tables)
    if changed:
        event(
            log,
            logging.INFO,
            "tables exported",
            files=changed,
            clients=len(export_round.tables.clients),
            networks=len(export_round.tables.networks),
            senders=len(export_round.tables.senders),
        )
    return export_round
