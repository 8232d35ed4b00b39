"""Brings a machine's stores to where the log is, as long as it runs: at once when another machine
has written, else by a look each second.

One process of a machine follows: the keeper.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from oborona.daemon.site.restored_store import restore_store
from oborona.daemon.site.snapshot_duty import renew_snapshots
from oborona.doorbell import ring
from oborona.errors import StoreError
from oborona.replication.link import ReplicationLink, read_link
from oborona.replication.log import LogUnreachableError, ReplicationLog, StoreHead
from oborona.replication.recorded_connection import RecordedConnection
from oborona.replication.replica import ReplicaLaggingError, position_of
from oborona.replication.schema import CHANNEL
from oborona.sqlite_file import ERRORS, SqliteFileKind, connect
from oborona.telemetry.trouble import TroubleNotice

LOOK_S: Final = 1.0
REPORT_S: Final = 5.0  # between words of how far this machine is
DUTY_S: Final = 600.0  # between looks whether a snapshot is due


class ReplicaState:
    """How far one store is.

    Attributes:
        number: of the last change that was done here.
        head: of the last one in the log, as far as is known.
        trouble: why it goes no further.
    """

    def __init__(self, name: str) -> None:
        self.number = self.head = 0
        self.trouble = TroubleNotice(
            f"{name} does not follow the site's log; what it has stays in force",
            f"{name} follows the site's log again",
        )


class ReplicaFollower:
    """Follows the log for a state folder.

    Args:
        state: the folder.
        link: the log.
        kinds: of the common stores, by the names of their files.
        version: of this Oborona.

    Attributes:
        stores: how far each is.
        trouble: why it does not answer.
    """

    def __init__(
        self, state: Path, link: ReplicationLink, kinds: Mapping[str, SqliteFileKind], version: str
    ) -> None:
        self._state = state
        self._link = link
        self._kinds = kinds
        self._version = version
        self._open: dict[str, RecordedConnection] = {}
        self._reported = self._duty = 0.0
        self.stores = {name: ReplicaState(name) for name in kinds}
        self._heard = time.monotonic()
        self.trouble = TroubleNotice(
            "the site's log is not followed; what is known stays in force",
            "the site's log is followed again",
        )

    @property
    def away_s(self) -> float:
        """For how many seconds the log has not answered; 0 while it does."""
        return time.monotonic() - self._heard if self.trouble.now else 0.0

    def run(self, stop: threading.Event) -> None:
        """Follow until told to stop, or until the folder follows another log, or none."""
        with closing(ReplicationLog(self._link.address, self._link.machine)) as log:
            listening = False
            try:
                while not stop.is_set() and read_link(self._state) == self._link:
                    try:
                        if not listening:
                            log.check(self._link.site)
                            log.listen(CHANNEL)
                            listening = True
                        self.look(log)
                        log.wait(LOOK_S)
                    except StoreError as error:
                        listening = False
                        log.close()
                        self.trouble.failed(error)
                        stop.wait(LOOK_S)
            finally:
                self.close()

    def close(self) -> None:
        """Let the files go."""
        for name in tuple(self._open):
            self._let_go(name)

    def look(self, log: ReplicationLog) -> None:
        """Do once what the log has and is not done here.

        Raises:
            LogUnreachableError: it can't be reached.
        """
        heads = log.heads()
        self._heard = time.monotonic()
        self.trouble.over()
        for name, head in heads.items():
            if name in self._kinds:
                self._follow(log, name, head)
        now = time.monotonic()
        if now - self._reported >= REPORT_S:
            self._reported = now
            log.report(
                self._link.mark,
                self._version,
                {name: (one.number, one.trouble.now) for name, one in self.stores.items()},
            )
        if now - self._duty >= DUTY_S:
            self._duty = now
            renew_snapshots(log, self._state, heads)

    def _follow(self, log: ReplicationLog, name: str, head: StoreHead) -> None:
        store = self.stores[name]
        store.head = head.number
        known = name in log.known_stores
        if known and store.number == head.number and not store.trouble.now:
            return
        path = self._state / name
        if head.number == 0 and not path.exists():
            return
        try:
            if not path.exists():
                restore_store(log, path, self._link.site)
            db = self._opened(name)
            before = number = position_of(db).number
            if number < head.number or not known:
                replica = self._kinds[name].replica(path)
                assert replica is not None
                try:
                    number = replica.follow(db, log)
                except ReplicaLaggingError:
                    # what it was away for is in a snapshot alone
                    self._let_go(name)
                    restore_store(log, path, self._link.site)
                    number = replica.follow(self._opened(name), log)
                if number > before:
                    ring(path)
            store.number = number
            store.trouble.over()
        except LogUnreachableError:
            raise
        except (StoreError, *ERRORS) as error:
            self._let_go(name)
            store.trouble.failed(error)

    def _opened(self, name: str) -> RecordedConnection:
        """Return a connection to a store as it is: what others changed of its format comes by the
        log.
        """
        if name not in self._open:
            path = self._state / name
            if path.exists():
                db = connect(path, write=True, factory=RecordedConnection)
                assert isinstance(db, RecordedConnection)
                db.run("PRAGMA journal_mode = WAL")
                db.run("PRAGMA synchronous = NORMAL")  # what the power takes is done again
            else:
                opened = self._kinds[name].open(path)
                assert isinstance(opened, RecordedConnection)
                db = opened
            self._open[name] = db
        return self._open[name]

    def _let_go(self, name: str) -> None:
        if (db := self._open.pop(name, None)) is not None:
            db.close()
