"""The event logs of a site as commands compute over their tables: by rules, with an engine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oborona.cli.context import CliContext
from oborona.desk.event_logs.logs import open_log_store
from oborona.desk.owner import as_owner_of
from oborona.desk.site import Site
from oborona.stores.policy_folders import policy_folders

if TYPE_CHECKING:
    from oborona.eventlog.batch.store import LogStore
    from oborona.eventlog.engines.engine import EventEngine
    from oborona.eventlog.policy_rules import PolicyRules


class EventLogReading(NamedTuple):
    """What a command needs that computes over tables and changes none."""

    root: Path  # of all logs
    work: Path  # a folder of its own, gone with it
    store: LogStore
    engine: EventEngine


def policy_rules(context: Site) -> PolicyRules:
    """Return the event rules of the policy of a site, over the logs that it declares.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or the engine can't calculate its rules.
    """
    from oborona.eventlog.known_logs import schemas  # noqa: PLC0415 - the engine takes a second to load
    from oborona.eventlog.policy_rules import PolicyRules  # noqa: PLC0415

    settings = context.loaded.settings
    return PolicyRules(policy_folders(settings.paths), schemas(settings), settings.eventlog.engine)


@contextmanager
def open_log_tables(context: CliContext) -> Iterator[EventLogReading]:
    """Open the tables of a site to compute over them.

    Raises:
        StoreError: no log has been checked, or a file can't be used.
    """
    from oborona.eventlog.engines.choice import (  # noqa: PLC0415 - see `policy_rules`
        open_engine,
        work_folder,
    )
    from oborona.eventlog.known_logs import root_folder  # noqa: PLC0415

    settings = context.loaded.settings
    root = root_folder(settings, context.state)
    within = work_folder(settings.eventlog, root, Path(tempfile.gettempdir()))
    with (
        as_owner_of(context.state),
        tempfile.TemporaryDirectory(prefix="oborona-eventlog-", dir=within) as work,
        open_log_store(context) as store,
        open_engine(settings.eventlog, root, Path(work)) as engine,
    ):
        yield EventLogReading(root, Path(work), store, engine)
