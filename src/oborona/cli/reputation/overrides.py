"""`oborona reputation set`, `clear`, `note`: what an analyst says of an entity."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.output import echo
from oborona.cli.reputation.pin_words import pin_duration, pin_line
from oborona.cli.terminal_person import terminal_caller
from oborona.cli.usage import usage_errors
from oborona.desk.acts.reputation import (
    ClearOrder,
    EntityNoteOrder,
    PinOrder,
    checked_end,
    clear_pin,
    note_entity,
    set_pin,
)
from oborona.desk.refusals import NothingDoneError
from oborona.desk.reputation.line_text import checked_line
from oborona.reputation.flag import ReputationFlag

DAY_S: Final = 86_400


def one_line(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    """Return a text that the log can hold; a callback of options and arguments.

    Raises:
        click.BadParameter: it can't.
    """
    with usage_errors():
        return None if text is None else checked_line(text)


dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
reason_needed = click.option(
    "--reason", required=True, callback=one_line, help="Why: the log keeps it with your name."
)


@click.command(name="set")
@click.argument("entity")
@click.argument("flag", type=click.Choice([flag.value for flag in ReputationFlag]))
@reason_needed
@click.option(
    "--for", "span", type=DurationParam(), help="How long it holds, such as 7d; default: for ever."
)
@click.option(
    "--until", "day", metavar="DATE", help="The last day that it holds, UTC, such as 2026-12-31."
)
@dry_run
@pass_cli_context
def set_(
    context: CliContext,
    entity: str,
    flag: str,
    reason: str,
    span: float | None,
    day: str | None,
    dry_run: bool,
) -> None:
    """Override the reputation of ENTITY by hand: FLAG is in force, whatever its history says.

    Workers judge by it within half a second. It replaces an earlier override of the entity.
    """
    order = PinOrder(
        entity=entity,
        flag=ReputationFlag(flag),
        until=_until(span, day, time.time()),
        reason=reason,
        dry=dry_run,
    )
    done = set_pin(context, terminal_caller(), order)
    if done.before is not None:
        echo(f"{done.entity}: was {pin_line(done.before)}")
    verb = "would be" if dry_run else "is"
    echo(f"{done.entity} {verb} set to {flag} {pin_duration(done.pin.until)}")


@click.command()
@click.argument("entity")
@reason_needed
@click.option("--counts", is_flag=True, help="Also forget what is counted of it.")
@dry_run
@pass_cli_context
def clear(context: CliContext, entity: str, reason: str, counts: bool, dry_run: bool) -> None:
    """Remove the manual override of ENTITY, so that its history decides again.

    Exit status 1 where there is no override, and no --counts.
    """
    order = ClearOrder(entity=entity, counts=counts, reason=reason, dry=dry_run)
    try:
        done = clear_pin(context, terminal_caller(), order)
    except NothingDoneError as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(1)
    if done.pin is None:
        echo(f"{done.entity} has no manual override")
    else:
        echo(
            f"manual override of {done.entity} {'would be' if dry_run else 'is'} removed; "
            f"it was {pin_line(done.pin)}"
        )
    if counts and dry_run:
        echo(f"what is counted of {done.entity} would be forgotten")
    elif counts:
        when = f"by {done.writer}" if done.writer else "when the writer runs again"
        echo(f"what is counted of {done.entity} is to be forgotten {when}")


@click.command()
@click.argument("entity")
@click.argument("text", callback=one_line)
@dry_run
@pass_cli_context
def note(context: CliContext, entity: str, text: str, dry_run: bool) -> None:
    """Write TEXT beside ENTITY, for whoever looks at it next; no verdict asks for it."""
    order = EntityNoteOrder(entity=entity, text=text, dry=dry_run)
    named = note_entity(context, terminal_caller(), order).entity
    echo(f"note on {named} {'would be' if dry_run else 'is'} added")


def _until(span: float | None, day: str | None, now: float) -> float:
    """Return Unix seconds of a pin's end; 0 for none.

    Raises:
        click.BadParameter: there are two, or it is no day.
        UnusableValueError: it is no time to come.
    """
    if span is None and day is None:
        return 0.0
    if span is not None and day is not None:
        raise click.UsageError("--for or --until, not both")
    if span is not None:
        at = now + span
    else:
        try:
            at = datetime.strptime(str(day), "%Y-%m-%d").replace(tzinfo=UTC).timestamp() + DAY_S
        except ValueError:
            raise click.BadParameter(f"{day!r} is no day such as 2026-12-31") from None
    # the end of a day or span that is over is not told apart from none by its number alone
    return checked_end(at or -1.0, now)
