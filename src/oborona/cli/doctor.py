"""`oborona doctor`: is mail filtered, which it proves; can the daemon bind, write, resolve."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.table import Table
from rich.text import Text

from oborona import secret, state_files
from oborona.cli.asked import Asked, pass_asked
from oborona.cli.doctor_clients import clients
from oborona.cli.doctor_counters import counters
from oborona.cli.doctor_daemon import daemon
from oborona.cli.doctor_delivery import delivery
from oborona.cli.doctor_dns import dns
from oborona.cli.doctor_doors import doors
from oborona.cli.doctor_engines import engines
from oborona.cli.doctor_export import export
from oborona.cli.doctor_intake import intake
from oborona.cli.doctor_mailboxes import mailboxes
from oborona.cli.doctor_model import final, model
from oborona.cli.doctor_name import name
from oborona.cli.doctor_personal import personal
from oborona.cli.doctor_pins import pins
from oborona.cli.doctor_places import places
from oborona.cli.doctor_policy import policy, policy_files
from oborona.cli.doctor_postfix import postfix
from oborona.cli.doctor_reader import reader
from oborona.cli.doctor_reports import reports as reports_by_mail
from oborona.cli.doctor_signatures import signatures
from oborona.cli.doctor_stores import stores
from oborona.cli.doctor_traffic import traffic
from oborona.cli.exim import exim
from oborona.cli.output import echo, echo_json
from oborona.cli.report import MAIL_SERVER, Report, State
from oborona.cli.terminal import PIPED, Terminal
from oborona.errors import OboronaError, StoreError
from oborona.journal.queries import Reader
from oborona.sqlite_file import ERRORS

# bytes free on the state's disk: below it counters and journal have days, not weeks
ROOM: Final = 1 << 30


class Finding(NamedTuple):
    """A report as `--json` has it."""

    what: str
    state: str
    finding: str
    hint: str


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A JSON list of the checks.")
@click.option(
    "--postfix",
    "folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of main.cf, where Postfix has several instances.",
)
@pass_asked
def doctor(asked: Asked, as_json: bool, folder: Path | None) -> None:
    """Check everything the daemon needs, prove that mail is filtered, and say what is wrong and
    what to do.

    OK, WARN: works, or can't be told from here. FAIL: mail is not filtered, or something is lost.
    To the address that Postfix names goes a GTUBE, which is judged and not counted.

    Exit status 1 when anything is FAIL.
    """
    reports = list(_looked(asked, folder))
    if as_json:
        echo_json(
            [Finding(one.what, one.state.value, one.words, one.hint)._asdict() for one in reports]
        )
    else:
        _print(reports)
        echo(summary(reports))
    if any(report.state is State.FAIL for report in reports):
        click.get_current_context().exit(1)


def summary(reports: Sequence[Report]) -> str:
    """Return the answer in one line: is mail filtered, and which checks want a look."""
    servers = [report.state for report in reports if report.what.startswith(MAIL_SERVER)]
    if State.FAIL in servers:
        filtered = "mail is NOT filtered"
    elif servers and all(state is State.OK for state in servers):
        filtered = "mail is filtered"
    else:
        filtered = "whether mail is filtered can't be told from here"
    named = "".join(
        f"; {state}: {', '.join(names)}"
        for state in (State.FAIL, State.WARN)
        if (names := [report.what for report in reports if report.state is state])
    )
    return f"{filtered}{named}"


def _looked(asked: Asked, folder: Path | None) -> Iterator[Report]:
    """Yield the reports of all checks.

    One that may not look, or meets what nobody thought of, is a report and ends none of the others.
    """
    asked.loaded.settings  # noqa: B018 - what is wrong there ends every command
    for check in (
        _policy, _state, stores, name, daemon, counters, doors, partial(postfix, folder=folder), exim, partial(traffic, folder=folder), clients, delivery, dns, engines,
        places, reader, signatures, pins, model, final, personal, intake, reports_by_mail, mailboxes, export,
    ):  # fmt: skip
        what = getattr(check, "__name__", None) or check.func.__name__  # type: ignore[union-attr]
        try:
            yield from check(asked)
        except (PermissionError, OboronaError, *ERRORS) as error:
            words = error.strerror if isinstance(error, PermissionError) else str(error)
            file = (
                f"{error.filename}: "
                if isinstance(error, PermissionError) and error.filename
                else ""
            )
            yield Report(
                what.strip("_"),
                State.WARN,
                f"can't be looked at: {file}{words}",
                "run this as root or as the daemon's user" if os.geteuid() else "",
            )


def _print(reports: list[Report]) -> None:
    table = Table("", "what", "finding", show_edge=False)
    table.columns[2].overflow = "fold"  # the end of a path is what tells it from others
    colours = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}
    for report in reports:
        words = f"{report.words}\n→ {report.hint}" if report.hint else report.words
        table.add_row(Text(report.state, style=colours[report.state]), report.what, words)
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)


def _policy(asked: Asked) -> Iterator[Report]:
    yield Report(
        "settings", State.OK, str(asked.loaded.file or "defaults")
    )  # what is wrong there ends every command
    contact = asked.loaded.settings.site.contact
    if contact:
        yield Report("contact", State.OK, contact)
    else:
        yield Report(
            "contact",
            State.WARN,
            "refusals name no contact: set site.contact to a URL or mail address",
        )
    yield _try(
        "policy", lambda: f"{len(asked.policy().rules)} rules, version {asked.policy().version}"
    )
    yield from policy_files(asked)
    yield from policy(asked)


def _state(asked: Asked) -> Iterator[Report]:
    folder = asked.state
    if not folder.is_dir():
        yield Report(
            "state", State.WARN, f"{folder} is not there; the daemon makes it when it first starts"
        )
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Report(
            "state",
            State.WARN,
            f"{folder}: not writable for who asks now; run this as the daemon's user",
        )
    else:
        yield Report("state", State.OK, f"{folder} can be written")
    free = shutil.disk_usage(folder).free
    yield Report(
        "disk", State.OK if free > ROOM else State.FAIL, f"{free / (1 << 20):,.0f} MiB free"
    )
    yield _try("secret", lambda: _secret(folder))
    journal = folder / state_files.JOURNAL
    if journal.exists():
        yield _try("journal", lambda: asyncio.run(_journal(journal)))
    else:
        yield Report("journal", State.WARN, f"{journal} is not there yet")


def _secret(folder: Path) -> str:
    secret.load(folder)
    secret.check((folder / state_files.SECRET).read_bytes(), folder, folder / state_files.COUNTERS)
    return f"{folder / state_files.SECRET}; `oborona backup` keeps it with the rest"


async def _journal(path: Path) -> str:
    async with await Reader.open(path) as journal:
        return f"{path} can be read: {await journal.count()} verdicts"


def _try(what: str, looked: Callable[[], str]) -> Report:
    try:
        return Report(what, State.OK, looked())
    except (OboronaError, StoreError) as error:
        return Report(what, State.FAIL, str(error))
