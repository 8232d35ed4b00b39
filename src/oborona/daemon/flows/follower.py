"""Takes what a source has, again and again; what can't be read is told, tried again, given up."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.flow_taker import FlowTaker, ReadFile
from oborona.accounts.flows.loss import losses
from oborona.accounts.flows.nfdump import FileDamaged
from oborona.accounts.flows.store import DAY_S, ExporterWindow, FileState, FlowFile, FlowStore
from oborona.daemon.flows.folders import TRIES
from oborona.daemon.flows.source import FlowSource, FlowUnit
from oborona.errors import StoreError
from oborona.heartbeat import beat
from oborona.metrics import Counter, Gauge
from oborona.reputation.networks import Network
from oborona.telemetry.log import event

PURGE_S: Final = 600.0

UP: Final = Gauge("oborona_flows_up", "1 while the flow process runs.", ())
FILES: Final = Counter(
    "oborona_flow_files",
    "Files of flows by what became of them: taken, failing, damaged.",
    ("outcome",),
)
RECORDS: Final = Counter(
    "oborona_flow_records",
    "Records of SMTP from sources of ours, by exporter.",
    ("exporter",),
)
LINES_WRONG: Final = Counter(
    "oborona_flow_lines_wrong", "What a source of flows gave that is no record.", ()
)
TIMES_WRONG: Final = Counter(
    "oborona_flow_times_wrong",
    "Records whose begin or end can't be right, by exporter.",
    ("exporter",),
)
LAG: Final = Gauge(
    "oborona_flow_lag_seconds",
    "From the end of a stream to the count of it: nine in ten streams at most so long, of the last "
    "file.",
    (),
)
LOSS: Final = Gauge(
    "oborona_flow_loss_ratio",
    "Share of datagrams of an exporter that were lost lately, above its quiet rate.",
    ("exporter",),
)
TROUBLE: Final = Gauge(
    "oborona_flows_trouble", "1 while the source of flows or a store can't be used.", ()
)

log = logging.getLogger("oborona.flows")


class FlowFollower:
    """Follows a source.

    Args:
        source: of flows.
        taker: counts them.
        store: of what was taken.
        networks: which are ours, asked for each file.
    """

    def __init__(
        self,
        source: FlowSource,
        taker: FlowTaker,
        store: FlowStore,
        *,
        networks: Callable[[], Iterable[Network]],
    ) -> None:
        self._source = source
        self._taker = taker
        self._store = store
        self._networks = networks
        self._purged = float("-inf")

    def recover(self) -> None:
        """Bring to an end what was begun before.

        Raises:
            StoreError: it can't.
        """
        self._taker.recover(time.time())

    def step(self, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Take what the source has; return whether anything was.

        Args:
            goes_on: asked between two files.

        Raises:
            StoreError: a store can't be used.
            OboronaError: the source can't.
        """
        taken = False
        for unit in self._source.ready(time.time()):
            if not goes_on():
                break
            taken |= self._take(unit)
        now = time.time()
        if abs(now - self._purged) > PURGE_S:
            self._purged = now
            self._store.purge(now)
        return taken

    def _take(self, unit: FlowUnit) -> bool:
        table = AddressTable()
        own = OwnSources(self._networks(), table)
        try:
            read = unit.read(table, own)
        except StoreError:
            raise
        except FileDamaged as error:
            self._failed(unit, str(error))
            return False
        if (read.name, read.size) != (unit.name, unit.size):
            return False  # it grew while it was read: the next look has all of it
        file = self._taker.take(read, time.time(), beat)
        unit.dispose()
        self._told(read, file)
        return True

    def _failed(self, unit: FlowUnit, why: str) -> None:
        tries = (unit.known.tries if unit.known else 0) + 1
        state = FileState.DAMAGED if tries >= TRIES else FileState.FAILING
        self._store.note(
            FlowFile(
                name=unit.name, size=unit.size, state=state, tries=tries, why=why, taken=time.time()
            )
        )
        FILES.inc(state.value)
        event(
            log,
            logging.ERROR if state is FileState.DAMAGED else logging.WARNING,
            "a file of flows can't be read",
            file=unit.name,
            tries=tries,
            state=state.value,
            error=why,
        )
        if state is FileState.DAMAGED:
            unit.set_aside()

    def _told(self, read: ReadFile, file: FlowFile) -> None:
        FILES.inc(file.state.value)
        LINES_WRONG.inc(by=read.wrong)
        for exporter in read.exporters:
            RECORDS.inc(exporter.exporter, by=exporter.records)
            TIMES_WRONG.inc(exporter.exporter, by=exporter.times_wrong)
        if read.windows:
            LAG.set(lag_s(read.exporters, read.windows[-1].start, time.time()))
        told = losses(self._store.exporters(int(time.time() - DAY_S)))
        LOSS.replace({(exporter,): loss for exporter, loss in told.items()})
        event(
            log,
            logging.INFO,
            "flows",
            file=read.name,
            records=read.records,
            wrong=read.wrong,
            sources=sum(len(window.source) for window in read.windows),
            exporters=len(read.exporters),
        )


def lag_s(exporters: Sequence[ExporterWindow], start: int, now: float) -> float:
    """Return how late what a window says is: nine in ten streams ended at most so long ago."""
    worst = max((exporter.lag_s for exporter in exporters), default=0.0)
    return max(0.0, now - start) + worst
