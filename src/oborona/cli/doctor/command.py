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
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.doctor.accounts import accounts
from oborona.cli.doctor.addresses import addresses
from oborona.cli.doctor.audit import audit
from oborona.cli.doctor.clients import clients
from oborona.cli.doctor.counters import counters
from oborona.cli.doctor.daemon import daemon
from oborona.cli.doctor.delivery import delivery
from oborona.cli.doctor.dns import dns
from oborona.cli.doctor.doors import doors
from oborona.cli.doctor.engines import engines
from oborona.cli.doctor.event_logs import event_logs
from oborona.cli.doctor.export import export
from oborona.cli.doctor.flows import flows
from oborona.cli.doctor.free_lists import free_lists
from oborona.cli.doctor.geoip import places
from oborona.cli.doctor.hooks import hooks
from oborona.cli.doctor.hostname import name
from oborona.cli.doctor.intake import intake
from oborona.cli.doctor.interpreter import interpreter
from oborona.cli.doctor.mailboxes import mailboxes
from oborona.cli.doctor.model import final, model
from oborona.cli.doctor.outgoing import outgoing
from oborona.cli.doctor.people import people
from oborona.cli.doctor.personal import personal
from oborona.cli.doctor.pins import pins
from oborona.cli.doctor.policy import policy, policy_files
from oborona.cli.doctor.postfix import postfix
from oborona.cli.doctor.reader import reader
from oborona.cli.doctor.report import MAIL_SERVER, CheckReport, CheckState
from oborona.cli.doctor.reports import reports as reports_by_mail
from oborona.cli.doctor.sign_in import sign_in
from oborona.cli.doctor.signatures import signatures
from oborona.cli.doctor.stores import stores
from oborona.cli.doctor.traffic import traffic
from oborona.cli.exim import exim
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import PIPED, Terminal
from oborona.errors import OboronaError, StoreError
from oborona.journal.queries import JournalReader
from oborona.sqlite_file import ERRORS

# bytes free on the state's disk: below it counters and journal have days, not weeks
ROOM: Final = 1 << 30


class DoctorFinding(NamedTuple):
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
@pass_cli_context
def doctor(context: CliContext, as_json: bool, folder: Path | None) -> None:
    """Check everything the daemon needs, prove that mail is filtered, and say what is wrong and
    what to do.

    OK, WARN: works, or can't be told from here. FAIL: mail is not filtered, or something is lost.
    To the address that Postfix names goes a GTUBE, which is judged and not counted.

    Exit status 1 when anything is FAIL.
    """
    reports = list(_run_checks(context, folder))
    if as_json:
        echo_json(
            [
                DoctorFinding(report.what, report.state.value, report.words, report.hint)._asdict()
                for report in reports
            ]
        )
    else:
        _print(reports)
        echo(summary(reports))
    if any(report.state is CheckState.FAIL for report in reports):
        click.get_current_context().exit(1)


def summary(reports: Sequence[CheckReport]) -> str:
    """Return the answer in one line: is mail filtered, and which checks want a look."""
    servers = [report.state for report in reports if report.what.startswith(MAIL_SERVER)]
    if CheckState.FAIL in servers:
        filtered = "mail is NOT filtered"
    elif servers and all(state is CheckState.OK for state in servers):
        filtered = "mail is filtered"
    else:
        filtered = "whether mail is filtered can't be told from here"
    named = "".join(
        f"; {state}: {', '.join(names)}"
        for state in (CheckState.FAIL, CheckState.WARN)
        if (names := [report.what for report in reports if report.state is state])
    )
    return f"{filtered}{named}"


def _run_checks(context: CliContext, folder: Path | None) -> Iterator[CheckReport]:
    """Yield the reports of all checks.

    One that may not look, or meets what nobody thought of, is a report and ends none of the others.
    """
    context.loaded.settings  # noqa: B018 - what is wrong there ends every command
    for check in (
        interpreter, _policy, _state, stores, name, daemon, counters, doors, partial(postfix, folder=folder), exim, partial(traffic, folder=folder), clients, delivery, dns, free_lists, engines,
        places, reader, signatures, pins, accounts, hooks, addresses, partial(outgoing, folder=folder), model, final, personal, intake, reports_by_mail, mailboxes, export, flows, event_logs, audit, people, sign_in,
    ):  # fmt: skip
        subject = getattr(check, "__name__", None) or check.func.__name__  # type: ignore[union-attr]
        try:
            yield from check(context)
        except (PermissionError, OboronaError, *ERRORS) as error:
            words = error.strerror if isinstance(error, PermissionError) else str(error)
            file = (
                f"{error.filename}: "
                if isinstance(error, PermissionError) and error.filename
                else ""
            )
            yield CheckReport(
                subject.strip("_"),
                CheckState.WARN,
                f"can't be looked at: {file}{words}",
                "run this as root or as the daemon's user" if os.geteuid() else "",
            )


def _print(reports: list[CheckReport]) -> None:
    table = Table("", "what", "finding", show_edge=False)
    table.columns[2].overflow = "fold"  # the end of a path is what tells it from others
    colours = {CheckState.OK: "green", CheckState.WARN: "yellow", CheckState.FAIL: "red"}
    for report in reports:
        words = f"{report.words}\n→ {report.hint}" if report.hint else report.words
        table.add_row(Text(report.state, style=colours[report.state]), report.what, words)
    Terminal(soft_wrap=True, width=None if sys.stdout.isatty() else PIPED).print(table)


def _policy(context: CliContext) -> Iterator[CheckReport]:
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


def _state(context: CliContext) -> Iterator[CheckReport]:
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
