"""The engine that a site has chosen."""

from __future__ import annotations

from pathlib import Path

from oborona.config.eventlog import EventLogSettings, TableEngine
from oborona.errors import ConfigError
from oborona.eventlog.engines.engine import EventEngine
from oborona.eventlog.engines.local import LocalEngine


def open_engine(settings: EventLogSettings, root: Path, work: Path) -> EventEngine:
    """Return the engine, ready to be told what to compute.

    Args:
        settings: of event logs.
        root: folder of all logs.
        work: folder of files that are needed meanwhile, as `work_folder` says; it is there.

    Raises:
        ConfigError: packages of the engine are missing.
        StoreError: the engine can't be begun.
    """
    if settings.engine is TableEngine.DUCKDB:
        return LocalEngine(root, work, memory_mib=settings.memory_mib, threads=settings.threads)
    try:  # its packages are there where it is chosen alone
        from oborona.eventlog.engines.spark import SparkEngine  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"eventlog.engine is pyspark, and {error.name} is missing: "
            "pip install 'pyspark>=4.0,<4.1'"
        ) from error

    return SparkEngine(
        work,
        master=settings.spark_master,
        memory_mib=settings.memory_mib,
        settings=dict(pair.split("=", 1) for pair in settings.spark_settings.split()),
    )


def work_folder(settings: EventLogSettings, root: Path, own: Path) -> Path:
    """Return where files lie that an engine needs meanwhile.

    Args:
        settings: of event logs.
        root: folder of all logs, which all machines of a cluster see.
        own: a folder of this machine.
    """
    return own if settings.engine is TableEngine.DUCKDB else root / ".work"
