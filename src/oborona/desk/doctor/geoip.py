"""What `oborona doctor` says of the databases that tell where clients are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import ConfigError
from oborona.stores.geoip import day_of, files, open_database

OLD_DAYS: Final = 60  # addresses change hands: free databases come out every month at least


def places(context: Site) -> Iterator[CheckReport]:
    """Look at each database that the settings name; nothing where they name none."""
    for path, purposes in files(context.loaded.settings.places).items():
        subject = f"database of {' and '.join(purposes)}"
        try:
            database = open_database(path, purposes)
        except ConfigError as error:
            yield CheckReport(subject, CheckState.FAIL, str(error))
            continue
        words = f"{path}: {database.kind}, of {day_of(database.built)}"
        if time.time() - database.built > OLD_DAYS * 86_400:
            yield CheckReport(
                subject,
                CheckState.WARN,
                f"{words}; older than {OLD_DAYS} days: fetch a new one (docs/senders/places.md)",
            )
        else:
            yield CheckReport(subject, CheckState.OK, words)
