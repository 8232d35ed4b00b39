"""Windows of a ClickHouse table: a minute each, asked for once it is over and its records are in.

A window is known by its name, the minute at which it began.  Those that were missed are asked for
later, up to a day of them; a first start begins with the last one that is over.  What is over is
decided by two clocks, ours and ClickHouse's, whichever is behind: where one runs ahead, nothing is
asked for before it is there.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from oborona.accounts.flows.addresses import AddressTable, OwnSources
from oborona.accounts.flows.clickhouse_window import read_window
from oborona.accounts.flows.flow_taker import ReadFile
from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.store import DAY_S, FileState, FlowStore
from oborona.accounts.flows.windows import WINDOW_S
from oborona.daemon.flows.clickhouse_client import ClickHouseClient
from oborona.daemon.flows.folders import AGAIN_S
from oborona.daemon.flows.source import FlowUnit
from oborona.errors import ConfigError
from oborona.telemetry.log import event

NAME: Final = "clickhouse.%Y%m%d%H%M"  # UTC
SHIPPED: Final = ("goflow2", "akvorado")
SELECT_OCTETS: Final = 64 << 10  # ClickHouse parses 256 KiB, with ours
AT_A_LOOK: Final = 10  # windows: between two looks a status is written

log = logging.getLogger("oborona.flows")


class ClickHouseWindows:
    """The windows of one table.

    Args:
        client: asks ClickHouse.
        records: the SELECT that yields records of a window.
        store: knows what was taken.
        rules: how records are understood.
        settle_s: seconds from the end of a window to its question.
    """

    def __init__(
        self,
        client: ClickHouseClient,
        records: str,
        store: FlowStore,
        rules: FlowRules,
        *,
        settle_s: float,
    ) -> None:
        self._client = client
        self._records = records
        self._store = store
        self._rules = rules
        self._settle_s = settle_s
        self._next: int | None = None  # begin of the first window that may be left to take

    def ready(self, now: float) -> list[FlowUnit]:
        """Return the windows that are over and were not taken, oldest first.

        Raises:
            PeerError: ClickHouse is away, or refuses.
        """
        if self._next is not None and self._last(now) < self._next:
            return []
        last = self._last(min(now, self._client.clock()))
        first = self._first(now, last)
        known = {file.name: file for file in self._store.files(now - DAY_S)}
        units: list[FlowUnit] = []
        for start in range(first, last + 1, WINDOW_S):
            name = window_name(start)
            file = known.get(name)
            if file is not None and file.state is not FileState.FAILING:
                if start == self._next:
                    self._next += WINDOW_S
                continue
            if file is None or now - file.taken >= AGAIN_S:
                read = partial(self._read, name, start)
                units.append(FlowUnit(name=name, size=0, known=file, read=read))
            if len(units) == AT_A_LOOK:
                break
        return units

    def _last(self, now: float) -> int:
        """Return the begin of the last window that is over and has settled."""
        return int((now - self._settle_s) // WINDOW_S - 1) * WINDOW_S

    def _first(self, now: float, last: int) -> int:
        """Return the begin of the first window that may be left to take."""
        first = self._left(last) if self._next is None else self._next
        oldest = int((now - DAY_S) // WINDOW_S + 1) * WINDOW_S
        if first < oldest:
            event(
                log,
                logging.WARNING,
                "windows of flows are given up: they are older than a day",
                first=window_name(first),
                number=(oldest - first) // WINDOW_S,
            )
        self._next = max(first, oldest)
        return self._next

    def _left(self, last: int) -> int:
        """Return where a process before us left off; without one, the last window that is over."""
        met = [
            (start, file.state)
            for file in self._store.files()
            if (start := window_start(file.name)) is not None
        ]
        failing = (start for start, state in met if state is FileState.FAILING)
        return min(failing, default=max((start + WINDOW_S for start, _ in met), default=last))

    def _read(self, name: str, start: int, table: AddressTable, own: OwnSources) -> ReadFile:
        return read_window(
            self._client.ask, self._records, self._rules, table, own, name=name, start=start
        )


def window_name(start: int) -> str:
    """Return the name of the window that begins at a Unix time."""
    return datetime.fromtimestamp(start, UTC).strftime(NAME)


def window_start(name: str) -> int | None:
    """Return when a window begins, in Unix seconds; of what is no name of one, None."""
    try:
        return int(datetime.strptime(name, NAME).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def records_select(name: str) -> str:
    """Return the SELECT that `flows.records` names.

    Raises:
        ConfigError: its file can't be read.
    """
    if name in SHIPPED:
        return (files("oborona.etc") / "clickhouse" / f"{name}.sql").read_text("utf-8")
    try:
        with Path(name).open("rb") as file:
            octets = file.read(SELECT_OCTETS + 1)
        text = octets.decode()
    except (OSError, ValueError) as error:
        raise ConfigError(f"flows.records: {error}") from error
    if len(octets) > SELECT_OCTETS:
        raise ConfigError(f"flows.records: {name} has more than {SELECT_OCTETS} octets")
    return text
