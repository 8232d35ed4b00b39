"""The event logs of a site, as commands use them: by name, and as the daemon's user."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from oborona import secret, state_files
from oborona.cli.context import CliContext
from oborona.desk.owner import as_owner_of
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.errors import ConfigError
from oborona.stores.policy_folders import policy_folders

if TYPE_CHECKING:
    from oborona.eventlog.batch.store import LogStore
    from oborona.eventlog.engines.engine import EventEngine
    from oborona.eventlog.policy_rules import PolicyRules
    from oborona.eventlog.schema import LogSchema

_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")


class EventLogReading(NamedTuple):
    """What a command needs that computes over tables and changes none."""

    root: Path  # of all logs
    work: Path  # a folder of its own, gone with it
    store: LogStore
    engine: EventEngine


def schema_of(context: CliContext, log: str) -> LogSchema:
    """Return the schema of a log.

    Raises:
        ConfigError: there is none of the name.
    """
    from oborona.eventlog.known_logs import schemas  # noqa: PLC0415 - the engine takes a second to load

    known = schemas(context.loaded.settings)
    for schema in known:
        if schema.name == log:
            return schema
    names = ", ".join(schema.name for schema in known)
    raise ConfigError(f"there is no event log {log[:60]!r}; there are {names}")


def policy_rules(context: Site) -> PolicyRules:
    """Return the event rules of the policy of a site, over the logs that it declares.

    Raises:
        ConfigError: a log is not declared as it must be.
        PolicyError: the policy can't be used, or the engine can't calculate its rules.
    """
    from oborona.eventlog.known_logs import schemas  # noqa: PLC0415 - see `schema_of`
    from oborona.eventlog.policy_rules import PolicyRules  # noqa: PLC0415

    settings = context.loaded.settings
    return PolicyRules(policy_folders(settings.paths), schemas(settings), settings.eventlog.engine)


def open_log_store(context: CliContext) -> AbstractContextManager[LogStore]:
    """Open what is known of event logs; arguments and errors as of `open_store`."""
    from oborona.eventlog.batch.store import LogStore  # noqa: PLC0415 - see `schema_of`

    return open_store(context, LogStore, state_files.EVENT_LOG_STORE)


@contextmanager
def open_log_tables(context: CliContext) -> Iterator[EventLogReading]:
    """Open the tables of a site to compute over them.

    Raises:
        StoreError: no log has been checked, or a file can't be used.
    """
    from oborona.eventlog.engines.choice import (  # noqa: PLC0415 - see `schema_of`
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


def person_hashes(context: CliContext, log: str, parts: Sequence[str]) -> list[int]:
    """Return the keyed hashes that a person may have in a log.

    Raises:
        ConfigError: as of `persons_of`.
    """
    from oborona.eventlog.erasure.persons import persons_of  # noqa: PLC0415 - see `schema_of`
    from oborona.eventlog.keys import EventHasher  # noqa: PLC0415
    from oborona.eventlog.known_logs import OWN  # noqa: PLC0415

    own = next((one for one, _ in OWN if one.schema.name == log), None)
    return sorted(persons_of(parts, own, EventHasher(secret.load(context.state).eventlog)))


def named_hashes(context: CliContext, log: str, parts: Sequence[str]) -> list[int]:
    """Return the hashes of a person that is named by one, or as the log names persons.

    Raises:
        ConfigError: as of `persons_of`.
    """
    if len(parts) == 1 and _NUMBER.fullmatch(parts[0].strip()):
        number = int(parts[0])
        if -(1 << 63) <= number < 1 << 63:
            return [number]
    return person_hashes(context, log, parts)
