"""`oborona feedback show`: all of one event."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.feedback.moment import shown_time
from oborona.cli.output import echo, echo_json, stdout_errors
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.events import (
    EarlierDecision,
    EventQuestion,
    EventTextQuestion,
    show_event,
    show_event_text,
)
from oborona.desk.call import NotFoundError
from oborona.feedback.events.model import StoredEvent


@click.command()
@click.argument("ids", metavar="ID...", type=click.IntRange(min=1), nargs=-1, required=True)
@click.option(
    "--raw", is_flag=True, help="The message as it was handed in, and nothing else; of one ID."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@pass_cli_context
def show(context: CliContext, ids: Sequence[int], raw: bool, as_json: bool) -> None:
    """Show reports: what was decided, why, by which rules, what it replaced, and what followed."""
    if raw and len(ids) != 1:
        raise click.UsageError("--raw goes with one ID")
    caller = terminal_caller()
    for ident in ids:
        try:
            details = show_event(context, caller, EventQuestion(id=ident))
        except NotFoundError as error:
            raise click.BadParameter(str(error), param_hint="ID") from None
        if raw:
            try:
                text = show_event_text(context, caller, EventTextQuestion(id=ident))
            except NotFoundError as error:
                raise click.ClickException(str(error)) from None
            with stdout_errors():
                click.echo(text.octets, nl=False)
        elif as_json:
            echo_json(details)
        else:
            _print(details.event, details.decisions_before, details.raw_octets)


def _print(event: StoredEvent, before: Sequence[EarlierDecision], octets: int) -> None:
    by = event.person or event.source or "nobody"
    about = [f"journal {event.ident}"] if event.ident is not None else []
    about += [plain(event.message_id)] if event.message_id else []
    echo(f"report {event.id}: {event.what.report} by {plain(by)}, {shown_time(event.time)}")
    echo(
        f"  came       by {event.way}{f' from {plain(event.source)}' if event.source else ''}, "
        f"recorded {shown_time(event.heard)}"
    )
    echo(
        f"  message    {', '.join(about) or 'unknown'}{f', {octets:,} octets kept' if octets else ''}"
    )
    if event.campaign:
        echo(f"  campaign   {event.campaign}")
    for decision in before:
        outcome = "accepted" if decision.counts else "refused"
        echo(
            f"  was        {outcome} at {shown_time(decision.time)}{_why(decision.rules, decision.say)}"
        )
    when = "" if event.decided is None else f" since {shown_time(event.decided)}"
    echo(f"  is         {event.opinion}{when}{_why(event.rules, event.say)}")
    if event.decided is not None and event.done < event.turn:
        echo("  follows    the trainer has not applied it yet")
    for effect in event.effects:
        echo(f"  followed   {plain(effect)}")


def _why(rules: Sequence[str], say: str) -> str:
    return f": {' '.join(rules)} ({plain(say)})" if rules else ""
