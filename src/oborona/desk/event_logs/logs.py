"""The event logs of a site as calls use them: by name, and persons by what people call them.

No package of event logs is loaded for it: what these calls tell and change is in the file of event
logs, and what needs tables the process of event logs does when it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from oborona import secret, state_files
from oborona.desk.site import Site
from oborona.desk.state_folder import open_store
from oborona.errors import ConfigError
from oborona.eventlog.batch.store import LogStore
from oborona.eventlog.erasure.persons import persons_of
from oborona.eventlog.keys import EventHasher
from oborona.eventlog.known_logs import own_kinds, schemas
from oborona.eventlog.schema import LogSchema

_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")


def log_named(site: Site, log: str) -> LogSchema:
    """Return the schema of a log.

    Raises:
        ConfigError: there is none of the name.
    """
    known = schemas(site.loaded.settings)
    for schema in known:
        if schema.name == log:
            return schema
    names = ", ".join(schema.name for schema in known)
    raise ConfigError(f"there is no event log {log[:60]!r}; there are {names}")


def open_log_store(site: Site) -> AbstractContextManager[LogStore]:
    """Open what is known of event logs; arguments and errors as of `open_store`."""
    return open_store(site, LogStore, state_files.EVENT_LOG_STORE)


def person_hashes(site: Site, log: str, parts: Sequence[str]) -> list[int]:
    """Return the keyed hashes that a person may have in a log.

    Raises:
        ConfigError: as of `persons_of`.
    """
    own = next((one for one in own_kinds() if one.schema.name == log), None)
    return sorted(persons_of(parts, own, EventHasher(secret.load(site.state).eventlog)))


def named_hashes(site: Site, log: str, parts: Sequence[str]) -> list[int]:
    """Return the hashes of a person that is named by one, or as the log names persons.

    Raises:
        ConfigError: as of `persons_of`.
    """
    if len(parts) == 1 and _NUMBER.fullmatch(parts[0].strip()):
        number = int(parts[0])
        if -(1 << 63) <= number < 1 << 63:
            return [number]
    return person_hashes(site, log, parts)
