"""The rows of one act of the command line: who, what, why, and how it ended."""

from __future__ import annotations

import os
import syslog
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from oborona import state_files
from oborona.audit.declarations import ACTS, RowNeed
from oborona.audit.outcome import outcome_of
from oborona.audit.record import ActRecord
from oborona.audit.row import ActOutcome, AuditRow, RowKind
from oborona.audit.site_key import audit_key
from oborona.audit.store import AuditStore, ChainEnd
from oborona.audit.texts import arguments_json, cut_text, cut_values
from oborona.cli.command_kinds import ActCommand
from oborona.cli.context import CliContext
from oborona.cli.exit_status import line_of, status_of
from oborona.cli.terminal_person import terminal_person
from oborona.desk.owner import as_owner_of
from oborona.errors import OboronaError, StoreError

WAY: Final = "terminal"
REASONS: Final = ("reason", "note", "why", "because")  # parameters that say why
DRY: Final = "dry_run"
_Ended = tuple[ActOutcome, int, str]


@contextmanager
def act_rows(ctx: click.Context, command: ActCommand) -> Iterator[None]:
    """Write that an act begins, and how what is done within ended.

    Without a state folder there is no log, and no row.

    Raises:
        StoreError: it can't be written that the act begins; nothing is done then.
    """
    context = ctx.find_object(CliContext)
    assert context is not None
    declaration = ACTS[command.act]
    if declaration.need is not RowNeed.STATE and not context.state.is_dir():
        yield
        return
    row = _row(ctx, command)
    days = context.loaded.settings.log.audit_days
    state = context.state
    record = ActRecord(
        lambda make: AuditStore(state / state_files.AUDIT, audit_key(state), make=make),
        partial(as_owner_of, state),
        declaration,
        row,
        days,
    )
    try:
        trouble = record.begin()
    except StoreError as error:
        raise type(error)(
            f"nothing was done, as the audit log can't be written: {error}"
        ) from error
    if trouble:
        click.echo(f"oborona: {trouble}; the audit log has this when there is room", err=True)
    try:
        yield
    except BaseException as error:
        _end(record, row, _outcome(error, context.state))
        raise
    _end(record, row, (ActOutcome.DONE, 0, ""))


def _row(ctx: click.Context, command: ActCommand) -> AuditRow:
    person = terminal_person()
    values = ctx.params
    about = [text for name in command.about for text in _texts(values.get(name))]
    reason = next((name for name in REASONS if name in values), "")
    return AuditRow(
        number=0,
        kind=RowKind.BEGUN,
        at=time.time_ns() // 1000,
        act=command.act,
        person=person.name,
        source=person.source,
        way=WAY,
        place=cut_text(person.place),
        about=", ".join(cut_values(about)),
        arguments=arguments_json(_arguments(ctx, {*command.about, reason, DRY})),
        reason=cut_text(" ".join(_texts(values.get(reason)))),
        dry=int(bool(values.get(DRY))),
    )


def _arguments(ctx: click.Context, elsewhere: set[str]) -> dict[str, str | Sequence[str]]:
    """Return what was given on the command line, but what the row has elsewhere."""
    arguments: dict[str, str | Sequence[str]] = {}
    named = [parameter.name for parameter in ctx.command.params]
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in elsewhere or ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        alone = isinstance(parameter, click.Option) and named.count(name) == 1
        texts = _texts(ctx.params.get(name))
        arguments[max(parameter.opts, key=len) if alone else name] = (
            texts if parameter.multiple or parameter.nargs != 1 else "".join(texts)
        )
    # values of settings may be anything, passwords too
    settings = ctx.find_root().params.get("assignments") or ()
    if settings:
        arguments["--set"] = [assignment.partition("=")[0] for assignment in settings]
    return arguments


def _texts(value: Any) -> list[str]:
    """Return a value of a parameter as texts; none of what was not given."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [text for member in value for text in _texts(member)]
    if isinstance(value, Enum):
        value = value.value
    return [value if isinstance(value, str) else str(getattr(value, "name", value))]


def _outcome(error: BaseException, state: Path) -> _Ended:
    """Return what an error says of the act that it ended."""
    match error:
        case click.exceptions.Exit() | SystemExit():
            code = error.exit_code if isinstance(error, click.exceptions.Exit) else error.code
            status = code if isinstance(code, int) else int(code is not None)
            known = {0: ActOutcome.DONE, 1: ActOutcome.PARTLY}
            return known.get(status, ActOutcome.FAILED), status, ""
        case click.Abort():
            return ActOutcome.REFUSED, 1, "it was not confirmed"
        case click.ClickException():
            return ActOutcome.REFUSED, error.exit_code, error.format_message()
        case BrokenPipeError():
            return ActOutcome.PARTLY, 0, "nobody read what it said to the end"
        case OboronaError() | OSError():
            return outcome_of(error), status_of(error), line_of(error, state)
        case KeyboardInterrupt():
            return ActOutcome.FAILED, 1, "it was interrupted"
        case _:
            return ActOutcome.FAILED, os.EX_SOFTWARE, f"{type(error).__name__}: {error}"


def _end(record: ActRecord, row: AuditRow, ended: _Ended) -> None:
    try:
        end = record.end(*ended)
    except (StoreError, OSError) as error:
        click.echo(f"oborona: the audit log does not have how this ended: {error}", err=True)
        return
    if end is not None:
        _note(row, ended[0], end)


def _note(row: AuditRow, outcome: ActOutcome, end: ChainEnd) -> None:
    """Leave the end of the chain in the system's log, out of reach of who writes the file."""
    syslog.openlog("oborona", 0, syslog.LOG_AUTHPRIV)
    who = "".join(letter if letter.isprintable() else "?" for letter in row.person)
    syslog.syslog(
        syslog.LOG_INFO, f"audit {end.number}:{end.hash.hex()} {row.act} {outcome} by {who}"
    )
