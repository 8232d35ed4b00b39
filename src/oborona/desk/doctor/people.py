"""What `oborona doctor` says of people: is there an admin, who comes no more, which keys end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from oborona import state_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.owner import as_owner_of
from oborona.desk.site import Site
from oborona.errors import StoreError
from oborona.people.key_book import KeyBook
from oborona.people.person import PersonState
from oborona.people.store import PeopleStore

DAY_S: Final = 86_400.0
AWAY_S: Final = 180 * DAY_S
ENDS_SOON_S: Final = 14 * DAY_S
SHOWN: Final = 5  # names


def people(context: Site) -> Iterator[CheckReport]:
    """Look at who may log in to the console, where it is open or somebody was added."""
    path, now = context.state / state_files.PEOPLE, time.time()
    if not path.exists():
        if context.loaded.settings.console.enabled:
            yield CheckReport(
                "people",
                CheckState.WARN,
                "the console is open, and nobody can log in",
                "oborona people add NAME --role admin",
            )
        return
    try:
        with as_owner_of(context.state), PeopleStore(path, make=False) as store:
            everybody, keys, admin = store.all(), KeyBook(store).all(), store.has_admin()
    except StoreError as error:
        yield CheckReport("people", CheckState.FAIL, str(error))
        return
    active = [person for person in everybody if person.state is PersonState.ACTIVE]
    if not admin:
        yield CheckReport(
            "people",
            CheckState.WARN,
            "no admin can log in to the console",
            "oborona people add NAME --role admin; or a new link: oborona people link NAME",
        )
    away = [
        person.name
        for person in active
        if max(person.came, person.made, person.password_at) < now - AWAY_S
    ]
    if away:
        yield CheckReport(
            "people",
            CheckState.WARN,
            f"did not come for {AWAY_S / DAY_S:.0f} days: {_names(away)}",
            "oborona people off NAME",
        )
    ending = [f"{key.person}/{key.name}" for key in keys if now < key.until < now + ENDS_SOON_S]
    if ending:
        yield CheckReport(
            "people",
            CheckState.WARN,
            f"keys end within {ENDS_SOON_S / DAY_S:.0f} days: {_names(ending)}",
            "oborona people key add",
        )
    if admin and not away and not ending:
        counted = f"{len(active)} may log in, {sum(key.until > now for key in keys)} keys"
        yield CheckReport("people", CheckState.OK, f"{path}: {counted}")


def _names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
