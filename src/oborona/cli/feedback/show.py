"""`oborona feedback show`: all of one event."""

from __future__ import annotations

from collections.abc import Sequence

import click

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.feedback.event_log import log, opinion, shown_time
from oborona.cli.output import echo, echo_json, stdout_errors
from oborona.cli.terminal import plain
from oborona.feedback.events.model import ReplacedDecision, StoredEvent


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
    with log(context) as opened:
        for ident in ids:
            try:
                one = opened.get(ident)
            except KeyError:
                raise click.BadParameter(f"there is no report {ident}", param_hint="ID") from None
            octets = opened.raw(ident)
            if raw:
                if not octets:
                    raise click.ClickException(f"the message of report {ident} is not kept")
                with stdout_errors():
                    click.echo(octets, nl=False)
                return
            before = opened.decisions(ident)
            if as_json:
                echo_json(
                    {
                        "event": one,
                        "raw_octets": len(octets),
                        "decisions_before": [each._asdict() for each in before],
                    }
                )
            else:
                _print(one, before, len(octets))


def _print(one: StoredEvent, before: Sequence[ReplacedDecision], octets: int) -> None:
    by = one.person or one.source or "nobody"
    about = [f"journal {one.ident}"] if one.ident is not None else []
    about += [plain(one.message_id)] if one.message_id else []
    echo(f"report {one.id}: {one.what.report} by {plain(by)}, {shown_time(one.time)}")
    echo(
        f"  came       by {one.way}{f' from {plain(one.source)}' if one.source else ''}, "
        f"recorded {shown_time(one.heard)}"
    )
    echo(
        f"  message    {', '.join(about) or 'unknown'}{f', {octets:,} octets kept' if octets else ''}"
    )
    if one.campaign:
        echo(f"  campaign   {one.campaign}")
    for each in before:
        known = "accepted" if each.counts else "refused"
        echo(f"  was        {known} at {shown_time(each.time)}{_why(each.rules, each.say)}")
    when = "" if one.decided is None else f" since {shown_time(one.decided)}"
    echo(f"  is         {opinion(one)}{when}{_why(one.rules, one.say)}")
    if one.decided is not None and one.done < one.turn:
        echo("  follows    the trainer has not applied it yet")
    for effect in one.effects:
        echo(f"  followed   {plain(effect)}")


def _why(rules: Sequence[str], say: str) -> str:
    return f": {' '.join(rules)} ({plain(say)})" if rules else ""
