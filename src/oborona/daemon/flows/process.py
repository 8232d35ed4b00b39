"""The flow process: opens its stores, follows its source, and writes its status.

While a store or the source can't be used flows wait where they are, and are taken later.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.accounts.addresses.own_networks import OwnNetworks
from oborona.accounts.flows.flow_taker import FlowTaker
from oborona.accounts.flows.measurement import FlowRules
from oborona.accounts.flows.nfdump import NfdumpReader
from oborona.accounts.flows.store import FlowStore
from oborona.config import Settings
from oborona.config.flows import FlowSettings
from oborona.counters.whole_spool import WholeSpool
from oborona.daemon.flows.clickhouse import ClickHouseWindows, records_select
from oborona.daemon.flows.clickhouse_client import clickhouse_client
from oborona.daemon.flows.folders import JsonSpool, NfcapdFolder
from oborona.daemon.flows.follower import TROUBLE, UP, FlowFollower
from oborona.daemon.flows.source import FlowSource
from oborona.errors import ConfigError, OboronaError, StoreVersion
from oborona.heartbeat import StopSignal, beat
from oborona.message.hashing import Hasher
from oborona.metrics import REGISTRY
from oborona.telemetry import status
from oborona.telemetry.log import event

AGAIN_S: Final = 5.0  # after trouble
SPOOL_NAME: Final = "flows"
MIB: Final = 1 << 20

log = logging.getLogger("oborona.flows")


def check_flows(settings: Settings) -> None:
    """Refuse settings that name a source, and not where it is or which networks are ours, or a file
    that can't be read.

    Raises:
        ConfigError: they do.
    """
    source = settings.flows.source
    if source == "off":
        raise ConfigError('flows.source is "off": there is nothing to run')
    asks = source == "clickhouse"
    for name, value in (
        ("flows.folder", asks or settings.flows.folder),
        ("site.networks", settings.site.networks),
    ):
        if not value:
            raise ConfigError(f'flows.source is "{source}", and {name} is not set')
    if asks:
        clickhouse_client(settings.flows)
        records_select(settings.flows.records)


def run(settings: Settings, state: Path, ready: Callable[[], None]) -> int:
    """Be the flow process until SIGTERM; return the exit status.

    Args:
        settings: of the site.
        state: state folder, prepared.
        ready: called once it runs.

    Raises:
        StoreVersion: a store was written by a newer Oborona.
    """
    stop = StopSignal()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # settings need a restart
    trouble, written = "", float("-inf")
    UP.set(1)
    ready()
    with ExitStack() as closings:
        closings.callback(status.remove_process, state, status.FlowStatus)
        follower: FlowFollower | None = None
        stores = closings.enter_context(ExitStack())
        while not stop.is_set():
            try:
                if follower is None:
                    follower = open_follower(settings, state, stores)
                    follower.recover()
                follower.step(lambda: not stop.is_set())
                now = ""
            except StoreVersion:
                raise
            except OboronaError as error:
                now, follower = str(error), None
                stores.close()
            if now != trouble:
                event(
                    log,
                    logging.ERROR if now else logging.WARNING,
                    "flows wait" if now else "flows are taken again",
                    **({"error": now} if now else {}),
                )
                trouble = now
            if time.monotonic() - written >= status.WRITE_S or trouble:
                written = time.monotonic()
                _write(state, trouble)
            stop.wait(AGAIN_S if trouble else settings.flows.look_s)
    return os.EX_OK


def open_follower(settings: Settings, state: Path, stores: ExitStack) -> FlowFollower:
    """Return what takes the flows of a site.

    Args:
        settings: of the site.
        state: state folder, prepared.
        stores: closes what is opened.

    Raises:
        StoreError: a store can't be used.
        ConfigError: a file that the settings name can't be read.
    """
    flows = settings.flows
    store = stores.enter_context(FlowStore(state / state_files.FLOWS))
    spool = WholeSpool(
        state / state_files.FLOWS_STAGED,
        state / state_files.COUNTERS / state_files.COUNTERS_SPOOL,
        SPOOL_NAME,
    )
    networks = OwnNetworks(
        map(ip_network, settings.site.networks.split()), state / state_files.ACCOUNTS
    )
    taker = FlowTaker(
        store,
        spool,
        Hasher(secret.load(state).shingles),
        kept_from=flows.kept_from,
        holder=networks.holder,
    )
    return FlowFollower(flow_source(flows, store), taker, store, networks=networks)


def flow_source(settings: FlowSettings, store: FlowStore) -> FlowSource:
    """Return the source that the settings name.

    Raises:
        ConfigError: a file that they name can't be read.
    """
    rules = FlowRules(
        rotation_s=settings.rotation_s,
        active_timeout_s=settings.active_timeout_s,
        believed=settings.believed,
        rates=settings.rates,
    )
    if settings.source == "jsonl":
        return JsonSpool(Path(settings.folder), store, rules)
    if settings.source == "clickhouse":
        return ClickHouseWindows(
            clickhouse_client(settings),
            records_select(settings.records),
            store,
            rules,
            settle_s=settings.settle_s,
        )
    reader = NfdumpReader(
        settings.nfdump,
        seconds=settings.file_s,
        memory=settings.file_mib * MIB,
        goes_on=beat,
    )
    return NfcapdFolder(Path(settings.folder), store, reader, rules)


def _write(state: Path, trouble: str) -> None:
    TROUBLE.set(bool(trouble))
    try:
        status.write_status(
            state,
            status.FlowStatus(
                pid=os.getpid(), time=time.time(), metrics=REGISTRY.snapshot(), trouble=trouble
            ),
        )
    except OboronaError as error:
        event(log, logging.WARNING, "no status for metrics", error=error)
