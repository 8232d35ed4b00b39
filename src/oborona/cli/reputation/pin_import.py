"""`oborona reputation import`: what another machine has learned, or a plain list, as pins with an
end.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo
from oborona.cli.reputation.overrides import dry_run, one_line
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.pin_import import PinImportOrder, import_pins
from oborona.desk.reputation.pin_import import MAX_FILE, WEEK_S, is_export
from oborona.reputation.flag import ReputationFlag
from oborona.stores.pins.store import LAST_TIME


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--flag",
    type=click.Choice([flag.value for flag in ReputationFlag]),
    help="Of a plain list: what all of them are.",
)
@click.option("--reason", callback=one_line, help="Of a plain list: why; needed there.")
@click.option(
    "--for",
    "span",
    type=DurationParam(),
    default=WEEK_S,
    show_default="7d",
    help="How long they hold at most.",
)
@click.option(
    "--over", is_flag=True, help="Also replace manual overrides that somebody here has set."
)
@click.option("--skip-broken", is_flag=True, help="Pass over what can't be used, and name it.")
@dry_run
@pass_cli_context
def import_(
    context: CliContext,
    file: Any,
    flag: str | None,
    reason: str | None,
    span: float,
    over: bool,
    skip_broken: bool,
    dry_run: bool,
) -> None:
    """Override the reputation of all entities of FILE (- is standard input) in one step: all, or
    none if one can't be used.

    FILE is what `export --json` wrote, or a plain list with an entity a line, where # begins a
    comment. An entity with a manual override keeps it, unless --over.
    """
    raw, called = file.read(MAX_FILE + 1), Path(getattr(file, "name", "-")).name
    if len(raw) <= MAX_FILE:
        _check(raw, flag, reason, span)
    order = PinImportOrder(
        content=raw,
        called=called,
        flag=None if flag is None else ReputationFlag(flag),
        reason=reason or "",
        seconds=span,
        over=over,
        skip_broken=skip_broken,
        dry=dry_run,
    )
    done = import_pins(context, terminal_caller(), order)
    for problem in done.passed_over:
        click.echo(f"oborona: {problem}", err=True)
    echo(
        f"{done.pins} {'would be' if dry_run else 'are'} set as {done.origin} says;"
        f" {done.own} keep the manual override that somebody here has set"
    )


def _check(raw: bytes, flag: str | None, reason: str | None, span: float) -> None:
    """Refuse options that do not fit a file, in their own words."""
    now = time.time()
    if not now < now + span < LAST_TIME:
        raise click.BadParameter("--for must end in the time to come, before the year 10000")
    if is_export(raw):
        if flag is not None or reason is not None:
            raise click.UsageError(
                "--flag and --reason are of plain lists; this file says both itself"
            )
    elif flag is None or reason is None:
        raise click.UsageError("a plain list needs --flag and --reason")
