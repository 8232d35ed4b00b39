"""`oborona reputation set`, `clear`, `note`: what an analyst says of an entity."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Final

import click

from oborona import state_files
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam
from oborona.cli.invoking_user import invoking_user
from oborona.cli.output import echo
from oborona.cli.reputation.entity import EntityName, entity_named
from oborona.cli.reputation.history import PREFIXES
from oborona.cli.reputation.pin_store import (
    pin_duration,
    pin_line,
    pins_for_reading,
    pins_for_writing,
    require_hasher,
    spool,
)
from oborona.lock import holder
from oborona.reputation.flag import ReputationFlag
from oborona.reputation.pins import Pin
from oborona.stores.pins.rows import PinAction, PinChange
from oborona.stores.pins.store import LAST_TIME, MAX_TEXT
from oborona.types import CounterPrefix

DAY_S: Final = 86_400


def one_line(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    """Return a text that the log can hold; a callback of options and arguments.

    Raises:
        click.BadParameter: it can't.
    """
    if text is not None and not (text.strip() and text.isprintable() and len(text) <= MAX_TEXT):
        raise click.BadParameter(f"one line of printable text, of at most {MAX_TEXT} characters")
    return text


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
    now = time.time()
    named = _named(context, entity)
    if not named.judged:
        raise click.BadParameter(
            f"nothing is decided by a {named.kind} as it is written, for anybody can write it;"
            " set the author, his domain, the envelope sender or the address"
        )
    pin = Pin(
        type=named.type,
        hash=named.shingle.hash,
        name=named.name if named.piece else "",
        flag=ReputationFlag(flag),
        reason=reason,
        by=invoking_user(),
        since=now,
        until=_until(span, day, now),
    )
    with pins_for_reading(context) as store:
        before = None if store is None else store.of(named.shingle, now)
    if before is not None:
        echo(f"{named.name}: was {pin_line(before)}")
    if not dry_run:
        with pins_for_writing(context) as store:
            store.put([pin])
    echo(f"{named.name} {'would be' if dry_run else 'is'} set to {flag} {pin_duration(pin.until)}")


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
    now, named, by = time.time(), _named(context, entity), invoking_user()
    with pins_for_reading(context) as store:
        pin = None if store is None else store.of(named.shingle, now)
    if pin is None:
        click.echo(f"{named.name} has no manual override", err=not counts)
        if not counts:
            click.get_current_context().exit(1)
    else:
        if not dry_run:
            with pins_for_writing(context) as store:
                store.clear(
                    named.shingle, named.name if named.piece else "", by=by, reason=reason, now=now
                )
        echo(
            f"manual override of {named.name} {'would be' if dry_run else 'is'} removed; "
            f"it was {pin_line(pin)}"
        )
    if counts:
        if dry_run:
            echo(f"what is counted of {named.name} would be forgotten")
            return
        change = PinChange(
            at=now,
            by=by,
            what=PinAction.FORGET,
            reason=reason,
            entity=named.shingle,
            name=named.name,
        )
        echo(_forget(context, named, change))


@click.command()
@click.argument("entity")
@click.argument("text", callback=one_line)
@dry_run
@pass_cli_context
def note(context: CliContext, entity: str, text: str, dry_run: bool) -> None:
    """Write TEXT beside ENTITY, for whoever looks at it next; no verdict asks for it."""
    named = _named(context, entity)
    if not dry_run:
        with pins_for_writing(context) as store:
            name = named.name if named.piece else ""
            store.note(named.shingle, name, text, by=invoking_user(), now=time.time())
    echo(f"note on {named.name} {'would be' if dry_run else 'is'} added")


def _named(context: CliContext, text: str) -> EntityName:
    return entity_named(text, require_hasher(context))


def _until(span: float | None, day: str | None, now: float) -> float:
    """Return Unix seconds of a pin's end; 0 for none.

    Raises:
        click.BadParameter: there are two, or it is no time to come.
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
    if not now < at < LAST_TIME:
        raise click.BadParameter("a manual override must end in the future, before the year 10000")
    return at


def _forget(context: CliContext, named: EntityName, change: PinChange) -> str:
    """Log it, and forget what is counted of an entity, also beside.

    Return who does it, and when.
    """
    with spool(context) as counters, pins_for_writing(context) as store:
        store.log(change)
        for prefix in PREFIXES:
            counters.forget(named.shingle, change.at, prefix)
        if named.recipients is not None:
            for prefix in (CounterPrefix.IN, CounterPrefix.OUT):
                counters.forget(named.recipients, change.at, prefix)
    writer = holder(context.state / state_files.COUNTERS / state_files.COUNTERS_LOCK)
    when = "when the writer runs again" if writer is None else f"by {writer}"
    return f"what is counted of {named.name} is to be forgotten {when}"
