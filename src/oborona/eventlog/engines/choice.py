"""The engine that a site has chosen."""

from __future__ import annotations

from pathlib import Path

from oborona.config.eventlog import EventLogSettings, TableEngine
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.engines.local import LocalEngine


def open_engine(settings: EventLogSettings, root: Path, work: Path) -> EventEngine:
    """Return the engine, ready to be told what to compute.

    Args:
        settings: of event logs.
        root: folder of all logs.
        work: folder of files that are needed meanwhile, as `work_folder` says; it is there.

    Raises:
        StoreError: the engine can't be begun.
    """
    if settings.engine is TableEngine.DUCKDB:
        return LocalEngine(root, work, memory_mib=settings.memory_mib, threads=settings.threads)
    # its packages are there where it is chosen alone
    from oborona.eventlog.engines.spark import SparkEngine  # noqa: PLC0415

    return SparkEngine(
        work,
        master=settings.spark_master,
        memory_mib=settings.memory_mib,
        settings=settings.spark_settings,
    )


def work_folder(settings: EventLogSettings, root: Path, own: Path) -> Path:
    """Return where files lie that an engine needs meanwhile.

    Args:
        settings: of event logs.
        root: folder of all logs, which all machines of a cluster see.
        own: a folder of this machine.
    """
    return own if settings.engine is TableEngine.DUCKDB else root / ".work"
