"""`oborona account explain`: what an account's rating is made of."""

from __future__ import annotations

import time

import click
import msgspec

from oborona.accounts.rating.rating import Penalty
from oborona.accounts.store.ratings import facts_of, rating_changes, rating_of, with_ends
from oborona.cli.account.store import account_named, open_accounts
from oborona.cli.context import CliContext, pass_cli_context
from oborona.cli.duration import shown_time
from oborona.cli.output import echo, echo_json
from oborona.cli.terminal import plain
from oborona.policy.account_tests import ACCOUNT_SCHEMA
from oborona.types import RuleMode


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@pass_cli_context
def explain(context: CliContext, name: str, as_json: bool) -> None:
    """Show what the rating of an account is made of, by the tests of the policy as it is now.

    NAME is its id or a login of it.
    """
    now = time.time()
    tests = context.policy().account_tests
    with open_accounts(context) as store:
        found = account_named(store, name)
        rating = rating_of(store, found, tests, now)
        penalties = with_ends(store, found, tests, rating, now)
        facts = facts_of(store, found, now)
        changes = rating_changes(store, found.id)
    if as_json:
        echo_json(
            {
                "account": found.id,
                "rating": rating.value,
                "stored": found.rating,
                "penalties": msgspec.to_builtins(penalties),
                "facts": {
                    fact.name: getattr(facts, fact.attribute) for fact in ACCOUNT_SCHEMA.facts
                },
                "changes": msgspec.to_builtins(changes),
            }
        )
        return
    echo(plain(f"{found.id}  rating {rating.value} of 100"))
    for penalty in penalties:
        echo(plain(_line(penalty)))
    if not penalties:
        echo("  nothing speaks against it")
    for change in changes:
        line = f"  {shown_time(change.at)} {change.before} → {change.after}  {change.say}"
        echo(plain(line))


def _line(penalty: Penalty) -> str:
    taken = f"-{penalty.points}" if penalty.mode is RuleMode.LIVE else "(shadow)"
    until = f" until {shown_time(penalty.until)}" if penalty.until else ""
    return f"  {taken:>8} {penalty.test}{until}: {penalty.say}"
