"""What the doctor says of settings and policy, and of the state folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from oborona import secret, state_files
from oborona.desk.doctor.feed import feed
from oborona.desk.doctor.policy import policy, policy_files
from oborona.desk.doctor.report import CheckReport, CheckState
from oborona.desk.site import Site
from oborona.errors import OboronaError, StoreError
from oborona.journal.queries import JournalReader

# bytes free on the state's disk: below it counters and journal have days, not weeks
ROOM: Final = 1 << 30


def policy_reports(context: Site) -> Iterator[CheckReport]:
    yield CheckReport(
        "settings", CheckState.OK, str(context.loaded.file or "defaults")
    )  # what is wrong there ends every command
    contact = context.loaded.settings.site.contact
    if contact:
        yield CheckReport("contact", CheckState.OK, contact)
    else:
        yield CheckReport(
            "contact",
            CheckState.WARN,
            "refusals name no contact: set site.contact to a URL or mail address",
        )
    yield _try(
        "policy", lambda: f"{len(context.policy().rules)} rules, version {context.policy().version}"
    )
    yield from policy_files(context)
    yield from policy(context)
    yield from feed(context)


def state_reports(context: Site) -> Iterator[CheckReport]:
    folder = context.state
    if not folder.is_dir():
        yield CheckReport(
            "state",
            CheckState.WARN,
            f"{folder} is not there; the daemon makes it when it first starts",
        )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield CheckReport(
            "state",
            CheckState.WARN,
            f"{folder}: not writable for who asks now; run this as the daemon's user",
        )
    else:
        yield CheckReport("state", CheckState.OK, f"{folder} can be written")
    free = shutil.disk_usage(folder).free
    yield CheckReport(
        "disk",
        CheckState.OK if free > ROOM else CheckState.FAIL,
        f"{free / (1 << 20):,.0f} MiB free",
    )
    yield _try("secret", lambda: _secret(folder))
    journal = folder / state_files.JOURNAL
    if journal.exists():
        yield _try("journal", lambda: asyncio.run(_journal(journal)))
    else:
        yield CheckReport("journal", CheckState.WARN, f"{journal} is not there yet")


def _secret(folder: Path) -> str:
    secret.load(folder)
    secret.check((folder / state_files.SECRET).read_bytes(), folder, folder / state_files.COUNTERS)
    return f"{folder / state_files.SECRET}; `oborona backup` keeps it with the rest"


async def _journal(path: Path) -> str:
    async with await JournalReader.open(path) as journal:
        return f"{path} can be read: {await journal.count()} verdicts"


def _try(subject: str, looked: Callable[[], str]) -> CheckReport:
    try:
        return CheckReport(subject, CheckState.OK, looked())
    except (OboronaError, StoreError) as error:
        return CheckReport(subject, CheckState.FAIL, str(error))
