"""`oborona eventlog suppress`, `unsuppress`, `suppressed`: rules that are not held against a person
for a while.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import DurationParam, shown_time
from oborona.cli.eventlog.logs import named_hashes, open_log_store, policy_rules, schema_of
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_person
from oborona.daemon.event_logs import check_packages
from oborona.errors import ConfigError
from oborona.toml import did_you_mean

if TYPE_CHECKING:
    from oborona.eventlog.schema import LogSchema
    from oborona.eventlog.suppression.book import RuleSuppression

LONGEST_S = 366 * 86_400.0
MAX_WHY = 500  # characters


def _one_line(_ctx: click.Context, _param: click.Parameter, text: str) -> str:
    """Return a text that stands on one line."""
    if not (text.strip() and text.isprintable() and len(text) <= MAX_WHY):
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
    check_packages()
    from oborona.eventlog.suppression.book import RuleSuppression, SuppressionBook  # noqa: PLC0415 - see `eventlog run`
    from oborona.eventlog.suppression.quiet_rule import EVERY  # noqa: PLC0415

    schema = schema_of(context, log)
    if rule is not None:
        _check_rule(context, schema, rule)
    now = time.time()
    told = [
        RuleSuppression(
            person=one,
            rule=rule or EVERY,
            since=now - since,
            until=now + until,
            who=terminal_person().name,
            why=because,
            asked=now,
        )
        for one in named_hashes(context, log, person)
    ]
    with open_log_store(context) as store:
        book = SuppressionBook(store, log)
        for one in told:
            book.begin(one)
    _show(told, now, as_json)


@click.command()
@click.argument("log")
@click.argument("person", nargs=-1, required=True)
@click.option("--rule", metavar="NAME", help="What was said of this rule alone; default: all.")
@pass_cli_context
def unsuppress(context: CliContext, log: str, person: Sequence[str], rule: str | None) -> None:
    """End what `suppress` began for a PERSON of a LOG: rules are held against them from now on."""
    check_packages()
    from oborona.eventlog.suppression.book import SuppressionBook  # noqa: PLC0415 - see above

    schema_of(context, log)
    now, who = time.time(), terminal_person().name
    with open_log_store(context) as store:
        book = SuppressionBook(store, log)
        ended = sum(
            book.take_back(one, rule, who, now) for one in named_hashes(context, log, person)
        )
    if not ended:
        raise click.ClickException("nothing is suppressed for this person")
    echo(f"{log}: {ended} taken back")


@click.command()
@click.argument("log")
@click.option("--all", "every", is_flag=True, help="Those that are over, too.")
@_json
@pass_cli_context
def suppressed(context: CliContext, log: str, every: bool, as_json: bool) -> None:
    """Show for which persons of a LOG rules are suppressed, until when, by whom and why."""
    check_packages()
    from oborona.eventlog.suppression.book import SuppressionBook  # noqa: PLC0415 - see above

    schema_of(context, log)
    now = time.time()
    with open_log_store(context) as store:
        found = SuppressionBook(store, log).all()
    _show([one for one in found if every or one.is_open(now)], now, as_json)


def _check_rule(context: CliContext, schema: LogSchema, rule: str) -> None:
    """Refuse a rule that can't be suppressed.

    Raises:
        ConfigError: it says nothing of a person, or there is none of the name.
        PolicyError: the policy can't be used.
    """
    from oborona.eventlog.rule_names import (  # noqa: PLC0415
        ABNORMAL,
        DUPLICATE,
        FRAUD_PERSON,
    )

    if rule == DUPLICATE:
        raise ConfigError(f"{DUPLICATE} says nothing of a person, and is not suppressed")
    known = (ABNORMAL, FRAUD_PERSON, *policy_rules(context).of_day(schema.name).columns)
    if rule not in known:
        raise ConfigError(
            f"no rule of {schema.name} is called {rule[:60]!r}{did_you_mean(rule, known)}"
        )


def suppression_line(one: RuleSuppression, now: float) -> str:
    """Return a suppression as a line for people."""
    from oborona.eventlog.suppression.quiet_rule import EVERY  # noqa: PLC0415 - see `suppress`

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
