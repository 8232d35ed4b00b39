"""`oborona eventlog suppress`, `unsuppress`, `suppressed`: rules that are not held against a person
for a while.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam, shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.acts.event_log_persons import (
    LONGEST_S,
    MAX_WHY,
    SuppressionEndOrder,
    SuppressionOrder,
    end_suppressions,
    is_one_line,
    suppress_rules,
)
from oborona.desk.asks.event_log_persons import SuppressionsQuestion, list_suppressions
from oborona.desk.refusals import NothingDoneError
from oborona.eventlog.suppression.book import RuleSuppression
from oborona.eventlog.suppression.quiet_rule import EVERY


def _one_line(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    """Return a text that stands on one line."""
    if not is_one_line(text):
        raise click.BadParameter(f"one line of printable text, of at most {MAX_WHY} characters")
    return text


def _span(_ctx: click.Context, _param: click.Parameter, seconds: float) -> float:
    """Return a span that a suppression may have."""
    if not 0 <= seconds <= LONGEST_S:
        raise click.BadParameter("at most 366d")
    return seconds


_json = click.option("--json", "as_json", is_flag=True, help="One JSON object for each.")


@click.command()
@click.argument("log")
@click.argument("person", nargs=-1, required=True)
@click.option(
    "--until",
    type=DurationParam(),
    callback=_span,
    required=True,
    help="How long from now on, such as 7d; 366d at most.",
)
@click.option(
    "--because", callback=_one_line, required=True, help="Why: it is kept with your name."
)
@click.option("--rule", metavar="NAME", help="This rule alone; default: all but DUPLICATE.")
@click.option(
    "--since",
    type=DurationParam(),
    callback=_span,
    default=0.0,
    help="How far back, such as 2d, for what is judged from now on; default: not at all.",
)
@_json
@pass_cli_context
def suppress(
    context: CliContext,
    log: str,
    person: Sequence[str],
    until: float,
    because: str,
    rule: str | None,
    since: float,
    as_json: bool,
) -> None:
    """Don't hold rules of a LOG against a PERSON for a while: what fires stands on none of their
    rows, is counted as NAME (suppressed), and does not catch them.

    PERSON is a number as tables have it, or a name: an address, a login, a network; of a log of
    others all parts that it declares, in their order.
    """
    now = time.time()
    order = SuppressionOrder(
        log=log,
        person=list(person),
        until=now + until,
        since=now - since,
        rule=rule or "",
        reason=because,
    )
    _show(suppress_rules(context, terminal_caller(), order).suppressions, now, as_json)


@click.command()
@click.argument("log")
@click.argument("person", nargs=-1, required=True)
@click.option("--rule", metavar="NAME", help="What was said of this rule alone; default: all.")
@pass_cli_context
def unsuppress(context: CliContext, log: str, person: Sequence[str], rule: str | None) -> None:
    """End what `suppress` began for a PERSON of a LOG: rules are held against them from now on."""
    order = SuppressionEndOrder(log=log, person=list(person), rule=rule or "")
    try:
        ended = end_suppressions(context, terminal_caller(), order).ended
    except NothingDoneError as error:
        raise click.ClickException(str(error)) from None
    echo(f"{log}: {ended} taken back")


@click.command()
@click.argument("log")
@click.option("--all", "every", is_flag=True, help="Those that are over, too.")
@_json
@pass_cli_context
def suppressed(context: CliContext, log: str, every: bool, as_json: bool) -> None:
    """Show for which persons of a LOG rules are suppressed, until when, by whom and why."""
    question = SuppressionsQuestion(log=log, over=every)
    found = list_suppressions(context, terminal_caller(), question).suppressions
    _show(found, time.time(), as_json)


def suppression_line(one: RuleSuppression, now: float) -> str:
    """Return a suppression as a line for people."""
    what = "all rules" if one.rule == EVERY else one.rule
    end = f"until {shown_time(one.until)}"
    if one.taken_back is not None:
        end = f"until {shown_time(one.taken_back)}, taken back by {plain(one.taken_back_by)}"
    elif one.until <= now:
        end = f"over since {shown_time(one.until)}"
    return f"{one.person}: {what} suppressed {end}: {plain(one.why)} ({plain(one.who)})"


def _show(found: Sequence[RuleSuppression], now: float, as_json: bool) -> None:
    for one in found:
        if as_json:
            row: dict[str, Any] = msgspec.structs.asdict(one)
            del row["id"]
            echo_json(row)
        else:
            echo(suppression_line(one, now))
    if not found and not as_json:
        echo("nothing is suppressed")
