"""`oborona account explain`: what an account's rating is made of."""

from __future__ import annotations

import click

from oborona.accounts.rating.rating import Penalty
from oborona.cli.account.store import desk_call
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.cli.terminal_person import terminal_caller
from oborona.desk.asks.accounts import NamedAccountQuestion, explain_account
from oborona.types import RuleMode


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def explain(context: CliContext, name: str, as_json: bool) -> None:
    """Show what the rating of an account is made of, by the tests of the policy as it is now.

    NAME is its id or a login of it.
    """
    with desk_call(context):
        told = explain_account(context, terminal_caller(), NamedAccountQuestion(name=name))
    if as_json:
        echo_json(told)
        return
    echo(plain(f"{told.account}  rating {told.rating} of 100"))
    for penalty in told.penalties:
        echo(plain(_line(penalty)))
    if not told.penalties:
        echo("  nothing speaks against it")
    for change in told.changes:
        line = f"  {shown_time(change.at)} {change.before} → {change.after}  {change.say}"
        echo(plain(line))


def _line(penalty: Penalty) -> str:
    taken = f"-{penalty.points}" if penalty.mode is RuleMode.LIVE else "(shadow)"
    until = f" until {shown_time(penalty.until)}" if penalty.until else ""
    return f"  {taken:>8} {penalty.test}{until}: {penalty.say}"
